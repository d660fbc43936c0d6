#include <string>

#include "tenure/kernels/cpu/reduce/axis.h"
#include "tenure/kernels/cpu/reduce/reduce.h"

namespace tenure::kernels {
namespace {

using folding::AxisBlock;
using folding::AxisBlocks;
using folding::ConvertPlane;

constexpr std::int64_t kTile = 4096;
constexpr std::int64_t kGrain = 1 << 15;

struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {  // Wraps around.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

struct Times {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};

/// Scans the columns of a block together, a tile of rows at a time: the columns hide each other's
/// latency and fill vectors.
template <class Op, class T>
void scan_block(const AxisBlocks& blocks, const AxisBlock& block, ConvertPlane load,
                ConvertPlane store, const View& in, const View& out, T start) {
  alignas(64) T tile[kTile];
  T carry[folding::kBlock];
  const std::int64_t width = block.width;
  const std::int64_t height = kTile / width;
  std::fill_n(carry, width, start);
  for (std::int64_t r = 0; r < blocks.length(); r += height) {
    const std::int64_t rows = std::min(height, blocks.length() - r);
    load(block.source(in, r), block.in, tile, {width, 1}, rows, width);
    for (std::int64_t i = 0; i < rows; ++i) {
      T* row = tile + i * width;
      for (std::int64_t j = 0; j < width; ++j) row[j] = carry[j] = Op{}(carry[j], row[j]);
    }
    store(tile, {width, 1}, block.target(out, r), block.out, rows, width);
  }
}

template <class T>
void scan_as(Scan kind, const View& in, int axis, const View& out) {
  const ConvertPlane load = folding::find_convert(in.dtype, dtype_of<T>());
  const ConvertPlane store = folding::find_convert(dtype_of<T>(), out.dtype);
  // Wide rows are read along memory; across rows, a tile takes enough of each to use cache lines.
  const AxisBlocks blocks(in, axis, /*inner_width=*/256, /*outer_width=*/32);
  blocks.for_each(kGrain, [&](const AxisBlock& block) {
    if (kind == Scan::sum) {
      scan_block<Plus>(blocks, block, load, store, in, out, T{0});
    } else {
      scan_block<Times>(blocks, block, load, store, in, out, T{1});
    }
  });
}

}  // namespace

void scan(Scan kind, const View& in, int axis, const View& out) {
  if (is_floating(in.dtype)) {
    scan_as<double>(kind, in, axis, out);
  } else {
    scan_as<std::int64_t>(kind, in, axis, out);
  }
}

}  // namespace tenure::kernels
