#include "tenure/kernels/cpu/elementwise/fused.h"

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/elementwise/fused_range.h"
#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kTilesAhead = 2;

/// Memory that a later tile reads.
struct Ahead {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t share = 0;  ///< that is asked for before each step

  /// Asks for the share of step s, so that it comes while this tile is computed. The hardware does
  /// not: it sees short bursts from many places.
  void fetch(std::size_t s) const {
    const std::size_t to = std::min(bytes, (s + 1) * share);
    for (std::size_t at = s * share; at < to; at += kLine) __builtin_prefetch(begin + at);
  }
};

/// `streamed`: the last step writes past the caches.
void run_tile(const Fused& fused, const void* const* in, void* out, std::size_t n,
              std::span<const Ahead> ahead, bool streamed) {
  const std::size_t n_in = fused.in_types.size();
  const std::size_t last = fused.steps.size() - 1;
  std::array<Tile, kMaxFusedTiles> tiles;
  for (std::size_t s = 0; s <= last; ++s) {
    const FusedStep& step = fused.steps[s];
    for (const Ahead& next : ahead) next.fetch(s);
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
    : fused_(fused), inputs_(inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sources_[i].emplace(inputs[i], shape, fused.in_types[i], gathered_[i], raw_);
    sources_[i]->fill(std::min(kFusedTile, static_cast<std::size_t>(count(shape))));
  }
}

void FusedRange::run(std::int64_t begin, std::int64_t end, void* to, bool stream) {
  constexpr auto kStep = static_cast<std::int64_t>(kFusedTile);
  const std::size_t n_in = inputs_.size();
  const std::size_t out_size = size_of(fused_.steps.back().out_type);
  const bool streamed = stream && fused_.steps.back().body.streamed != nullptr && begins_line(to);
  const bool through_tile = stream && !streamed;
  const std::size_t share = round_up(kFusedTile / fused_.steps.size(), kLine / sizeof(float));
  Tile result;
  std::array<const void*, kMaxFusedInputs> in{};
  std::array<Ahead, kMaxFusedInputs> ahead;
  for (std::size_t i = 0; i < n_in; ++i) sources_[i]->seek(begin);
  auto* place = static_cast<std::byte*>(to);
  for (std::int64_t at = begin; at < end; at += kStep) {
    const auto n = static_cast<std::size_t>(std::min(end - at, kStep));
    const std::int64_t later = at + kTilesAhead * kStep;
    std::size_t streams = 0;
    for (std::size_t i = 0; i < n_in; ++i) {
      in[i] = sources_[i]->piece(at, n);
      if (const void* const next = sources_[i]->after(later);
          next != nullptr && later + kStep <= end) {
        const std::size_t size = size_of(inputs_[i].dtype);
        ahead[streams++] = {static_cast<const std::byte*>(next), kFusedTile * size, share * size};
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
  parallel_for(n, share_of_thread(n, fused.cost), [&](std::int64_t begin, std::int64_t end) {
    const std::size_t offset = static_cast<std::size_t>(begin) * size_of(out.dtype);
    FusedRange(fused, inputs, out.shape).run(begin, end, out.as<std::byte>() + offset, stream);
  });
}

}  // namespace tenure::kernels
