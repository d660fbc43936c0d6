#include "tenure/kernels/cpu/elementwise/fused.h"

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/elementwise/fused_range.h"
#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

/// What the next tile reads of an input that lies in memory as it is read.
struct Ahead {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  std::ptrdiff_t share = 0;  ///< bytes that are asked for before each step

  /// Asks for the next share, so that it comes while this tile is computed. The hardware does not:
  /// it sees short bursts from many places.
  void fetch() {
    const std::byte* const to = begin + std::min(share, end - begin);
    for (; begin < to; begin += kLine) __builtin_prefetch(begin);
  }
};

/// `streamed`: the last step writes past the caches.
void run_tile(const Fused& fused, const void* const* in, void* out, std::size_t n,
              std::span<Ahead> ahead, bool streamed) {
  const std::size_t n_in = fused.in_types.size();
  const std::size_t last = fused.steps.size() - 1;
  std::array<Tile, kMaxFusedTiles> tiles;
  for (std::size_t s = 0; s <= last; ++s) {
    const FusedStep& step = fused.steps[s];
    for (Ahead& next : ahead) next.fetch();
    std::array<const void*, kMaxArity> from;
    for (std::size_t k = 0; k < static_cast<std::size_t>(step.arity); ++k) {
      const auto source = static_cast<std::size_t>(step.in[k]);
      from[k] = source < n_in ? in[source]
                              : tiles[static_cast<std::size_t>(fused.tiles[source - n_in])].bytes;
    }
    void* const to = s == last ? out : tiles[static_cast<std::size_t>(fused.tiles[s])].bytes;
    if (step.body == nullptr) {
      cast_elements(fused.types[static_cast<std::size_t>(step.in[0])], from[0], step.out_type, to,
                    n);
    } else {
      const Body::Loop loop = streamed && s == last ? step.body.streamed : step.body.loop;
      loop(from.data(), to, n);
    }
  }
}

}  // namespace

FusedRange::FusedRange(const Fused& fused, std::span<const View> inputs, const Shape& shape)
    : fused_(fused),
      inputs_(inputs),
      tile_(inputs.size() <= kFewInputs ? kLargeFusedTile : kFusedTile) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sources_[i].emplace(inputs[i], shape, fused.in_types[i], gathered_[i], raw_);
    sources_[i]->fill(std::min(tile_, static_cast<std::size_t>(count(shape))));
  }
}

void FusedRange::run(std::int64_t begin, std::int64_t end, void* to, bool stream) {
  const auto step = static_cast<std::int64_t>(tile_);
  const std::size_t n_in = inputs_.size();
  const std::size_t out_size = size_of(fused_.steps.back().out_type);
  const bool streamed = stream && fused_.steps.back().body.streamed != nullptr && begins_line(to);
  const bool through_tile = stream && !streamed;
  const std::size_t share = round_up(tile_ / fused_.steps.size(), kLine / sizeof(float));
  Tile result;
  std::array<const void*, kMaxFusedInputs> in{};
  std::array<Ahead, kMaxFusedInputs> ahead;
  for (std::size_t i = 0; i < n_in; ++i) sources_[i]->seek(begin);
  auto* place = static_cast<std::byte*>(to);
  for (std::int64_t at = begin; at < end; at += step) {
    const auto n = static_cast<std::size_t>(std::min(end - at, step));
    const std::int64_t next_at = at + step;
    std::size_t streams = 0;
    for (std::size_t i = 0; i < n_in; ++i) {
      in[i] = sources_[i]->piece(at, n);
      if (const void* const next = sources_[i]->after(next_at);
          next != nullptr && next_at + step <= end) {
        const std::size_t size = size_of(inputs_[i].dtype);
        const auto* const from = static_cast<const std::byte*>(next);
        ahead[streams++] = {from, from + tile_ * size, static_cast<std::ptrdiff_t>(share * size)};
      }
    }
    run_tile(fused_, in.data(), through_tile ? result.bytes : place, n, {ahead.data(), streams},
             streamed);
    if (through_tile) stream_copy(result.bytes, place, n * out_size);
    place += n * out_size;
  }
  if (stream) stream_fence();
}

void run_fused_tile(const Fused& fused, const void* const* in, void* out, std::size_t n) {
  run_tile(fused, in, out, n, {}, false);
}

bool prepare(Fused& fused) {
  const std::size_t n_in = fused.in_types.size();
  if (n_in > kMaxFusedInputs) return false;
  std::vector<std::size_t> last_read(fused.steps.size());
  fused.types = fused.in_types;
  for (std::size_t s = 0; s < fused.steps.size(); ++s) {
    last_read[s] = s;
    for (int k = 0; k < fused.steps[s].arity; ++k) {
      const auto from = static_cast<std::size_t>(fused.steps[s].in[static_cast<std::size_t>(k)]);
      if (from >= n_in) last_read[from - n_in] = s;
    }
    fused.types.push_back(fused.steps[s].out_type);
  }
  std::vector<int> free;
  fused.tiles.assign(fused.steps.size(), 0);
  fused.tile_count = 0;
  for (std::size_t s = 0; s < fused.steps.size(); ++s) {
    const FusedStep& step = fused.steps[s];
    // A body may write to what it reads, if the elements are of one size.
    const auto release = [&](bool before) {
      for (std::size_t p = 0; p < s; ++p) {
        const bool in_place =
            step.body != nullptr && size_of(fused.steps[p].out_type) == size_of(step.out_type);
        if (last_read[p] == s && in_place == before) free.push_back(fused.tiles[p]);
      }
    };
    release(true);
    if (free.empty()) free.push_back(fused.tile_count++);
    fused.tiles[s] = free.back();
    free.pop_back();
    release(false);
  }
  return fused.tile_count <= kMaxFusedTiles;
}

void run_fused(const Fused& fused, std::span<const View> inputs, const View& out) {
  const std::int64_t n = out.count();
  if (n == 0) return;
  const bool stream = should_stream(inputs, out);
  parallel_for(
      n, share_of_thread(n, fused.cost),
      [&](std::int64_t begin, std::int64_t end) {
        const std::size_t offset = static_cast<std::size_t>(begin) * size_of(out.dtype);
        FusedRange(fused, inputs, out.shape).run(begin, end, out.as<std::byte>() + offset, stream);
      },
      fused.cost);
}

}  // namespace tenure::kernels
