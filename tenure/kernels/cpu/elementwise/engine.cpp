#include "tenure/kernels/cpu/elementwise/engine.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/tile_reader.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::size_t kWidest = 8;  // bytes of the largest element
constexpr std::size_t kLine = 64;   // bytes that memory moves at a time

// Left uninitialized: a tile is written before it is read.
struct alignas(64) Tile {
  std::byte bytes[kTile * kWidest];
};

/// One input as the body wants it: piece after piece, in the body's type.
class Source {
 public:
  /// `tile` is where converted or gathered pieces go, `raw` where they wait for conversion.
  Source(const View& view, const Shape& shape, DType wanted, Tile& tile, Tile& raw)
      : reader_(view, shape), from_(view.dtype), to_(wanted), tile_(tile), raw_(raw) {}

  /// Goes to element `index`; pieces are at most `longest` long.
  void begin(std::int64_t index, std::size_t longest) {
    if (reader_.layout() == TileReader::Layout::repeated) {
      cast_elements(from_, reader_.at(0), to_, tile_.bytes, 1);
      repeat_first(longest);
    } else if (reader_.layout() == TileReader::Layout::strided) {
      reader_.seek(index);
    }
  }

  /// How long a piece may be: one that is not brought into a tile has no limit.
  std::int64_t longest() const {
    if (reader_.layout() == TileReader::Layout::repeated) return sizeof(Tile) / size_of(to_);
    const bool in_tile = reader_.layout() == TileReader::Layout::strided || from_ != to_;
    return in_tile ? std::int64_t{kTile} : std::numeric_limits<std::int64_t>::max();
  }

  const void* piece(std::int64_t index, std::size_t n) {
    if (reader_.layout() == TileReader::Layout::repeated) return tile_.bytes;
    const bool converts = from_ != to_;
    const void* piece = nullptr;
    if (reader_.layout() == TileReader::Layout::contiguous) {
      piece = reader_.at(index);
    } else {
      piece = converts ? raw_.bytes : tile_.bytes;
      reader_.read(converts ? raw_.bytes : tile_.bytes, n);
    }
    if (!converts) return piece;
    cast_elements(from_, piece, to_, tile_.bytes, n);
    return tile_.bytes;
  }

 private:
  void repeat_first(std::size_t n) {
    const View one{.dtype = to_, .data = tile_.bytes};
    TileReader(one, Shape{}).read(tile_.bytes, n);
  }

  TileReader reader_;
  DType from_;
  DType to_;
  Tile& tile_;
  Tile& raw_;
};

void run_range(const Elementwise& op, std::span<const View> inputs, const View& out,
               std::int64_t begin, std::int64_t end, bool stream) {
  const std::size_t arity = inputs.size();
  const bool convert_out = op.out_type != out.dtype;
  const std::size_t out_size = size_of(out.dtype);
  const bool can_stream =
      op.body.streamed != nullptr && reinterpret_cast<std::uintptr_t>(out.data) % kLine == 0;
  const bool direct = !convert_out && (!stream || can_stream);
  const Body::Loop loop = direct && stream ? op.body.streamed : op.body.loop;

  std::array<Tile, 2 * kMaxArity> tiles;
  std::array<std::optional<Source>, kMaxArity> sources;
  std::int64_t step = direct ? end - begin : std::min<std::int64_t>(end - begin, kTile);
  for (std::size_t i = 0; i < arity; ++i) {
    sources[i].emplace(inputs[i], out.shape, op.in_types[i], tiles[2 * i], tiles[2 * i + 1]);
    step = std::min(step, sources[i]->longest());
  }
  for (std::size_t i = 0; i < arity; ++i) sources[i]->begin(begin, static_cast<std::size_t>(step));
  Tile result;
  Tile converted;
  for (std::int64_t at = begin; at < end; at += step) {
    const auto n = static_cast<std::size_t>(std::min(end - at, step));
    std::array<const void*, kMaxArity> in{};
    for (std::size_t i = 0; i < arity; ++i) in[i] = sources[i]->piece(at, n);
    std::byte* const place = out.as<std::byte>() + static_cast<std::size_t>(at) * out_size;
    loop(in.data(), direct ? place : result.bytes, n);
    if (direct) continue;
    const std::byte* from = result.bytes;
    if (convert_out) {
      std::byte* const to = stream ? converted.bytes : place;
      cast_elements(op.out_type, from, out.dtype, to, n);
      from = to;
    }
    if (stream) stream_copy(from, place, n * out_size);
  }
  if (stream) stream_fence();
}

}  // namespace

void run_elementwise(const Elementwise& op, std::span<const View> inputs, const View& out) {
  const std::int64_t n = out.count();
  if (n == 0) return;
  const auto bytes = static_cast<std::size_t>(n) * size_of(out.dtype);
  bool in_place = false;
  for (const View& view : inputs) in_place |= view.data == out.data;
  const bool stream = bytes >= kStreamFrom && !in_place;
  // As many threads as have enough to do, and the same for each.
  const auto threads = static_cast<std::int64_t>(
      std::clamp<double>(static_cast<double>(n) * op.cost / kWorkPerThread, 1, num_threads()));
  const auto share = round_up(static_cast<std::size_t>((n - 1) / threads + 1), kTile);
  parallel_for(n, static_cast<std::int64_t>(share), [&](std::int64_t begin, std::int64_t end) {
    run_range(op, inputs, out, begin, end, stream);
  });
}

}  // namespace tenure::kernels
