#include "tenure/kernels/cpu/elementwise/engine.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/tile_reader.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::size_t kWidest = 8;  // bytes of the largest element

struct alignas(64) TileBuffer {
  std::byte bytes[kTile * kWidest];
};

/// One input as the body wants it: piece after piece, in the body's type.
class Source {
 public:
  Source(const View& view, const Shape& shape, DType wanted)
      : reader_(view, shape), from_(view.dtype), to_(wanted) {}

  bool is_direct() const {
    return reader_.layout() == TileReader::Layout::contiguous && from_ == to_;
  }
  const void* direct(std::int64_t index) const { return reader_.at(index); }

  void begin(std::int64_t index, std::size_t longest) {
    if (reader_.layout() == TileReader::Layout::repeated) {
      convert(reader_.at(0), 1);
      repeat(longest);
    } else if (reader_.layout() == TileReader::Layout::strided) {
      reader_.seek(index);
    }
  }

  const void* piece(std::int64_t index, std::size_t n) {
    switch (reader_.layout()) {
      case TileReader::Layout::repeated:
        return tile_.bytes;
      case TileReader::Layout::contiguous:
        if (from_ == to_) return reader_.at(index);
        convert(reader_.at(index), n);
        return tile_.bytes;
      case TileReader::Layout::strided:
        break;
    }
    if (from_ == to_) {
      reader_.read(tile_.bytes, n);
    } else {
      reader_.read(raw_.bytes, n);
      convert(raw_.bytes, n);
    }
    return tile_.bytes;
  }

 private:
  void convert(const void* in, std::size_t n) { cast_elements(from_, in, to_, tile_.bytes, n); }

  void repeat(std::size_t n) {
    const View one{.dtype = to_, .shape = {}, .strides = {}, .data = tile_.bytes};
    TileReader(one, Shape{static_cast<std::int64_t>(n)}).read(tile_.bytes, n);
  }

  TileReader reader_;
  DType from_;
  DType to_;
  TileBuffer tile_;
  TileBuffer raw_;
};

void run_range(const Elementwise& op, std::span<const View> inputs, const View& out,
               std::int64_t begin, std::int64_t end, bool stream) {
  const std::size_t arity = inputs.size();
  std::array<std::optional<Source>, kMaxArity> sources;
  const std::size_t longest = std::min<std::size_t>(static_cast<std::size_t>(end - begin), kTile);
  for (std::size_t i = 0; i < arity; ++i) {
    sources[i].emplace(inputs[i], out.shape, op.in_types[i]);
    sources[i]->begin(begin, longest);
  }
  const bool convert_out = op.out_type != out.dtype;
  auto* const target = out.as<std::byte>();
  const std::size_t out_size = size_of(out.dtype);
  TileBuffer result;
  TileBuffer converted;
  for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(kTile)) {
    const std::size_t n = std::min<std::size_t>(static_cast<std::size_t>(end - at), kTile);
    std::array<const void*, kMaxArity> in{};
    for (std::size_t i = 0; i < arity; ++i) in[i] = sources[i]->piece(at, n);
    std::byte* const place = target + static_cast<std::size_t>(at) * out_size;
    if (!stream && !convert_out) {
      op.body(in.data(), place, n);
      continue;
    }
    op.body(in.data(), result.bytes, n);
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
  const auto grain =
      static_cast<std::int64_t>(std::max<double>(kTile, kWorkPerThread / std::max(op.cost, 0.1)));
  const std::int64_t tiles = (grain + static_cast<std::int64_t>(kTile) - 1) / kTile;
  parallel_for(n, tiles * static_cast<std::int64_t>(kTile),
               [&](std::int64_t begin, std::int64_t end) {
                 run_range(op, inputs, out, begin, end, stream);
               });
}

}  // namespace tenure::kernels
