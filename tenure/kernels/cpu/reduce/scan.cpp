#include "tenure/kernels/cpu/reduce/axis.h"
#include "tenure/kernels/cpu/reduce/reduce.h"

namespace tenure::kernels {
namespace {

using folding::AxisBlock;
using folding::AxisBlocks;
using folding::ConvertPlane;

constexpr std::int64_t kTile = 2048;
constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kRows = 4;
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

/// What one block of columns needs.
template <class T>
struct Pass {
  const AxisBlock& block;
  std::int64_t length;
  ConvertPlane load;
  ConvertPlane store;
  const View& in;
  const View& out;
  T start;
};

/// Columns side by side, a tile of rows at a time: they fill vectors.
template <class Op, class T>
void scan_columns(const Pass<T>& pass) {
  alignas(64) T tile[kTile];
  T carry[kColumns];
  const AxisBlock& block = pass.block;
  const std::int64_t width = block.width;
  const std::int64_t height = kTile / width;
  std::fill_n(carry, width, pass.start);
  for (std::int64_t r = 0; r < pass.length; r += height) {
    const std::int64_t rows = std::min(height, pass.length - r);
    pass.load(block.source(pass.in, r), block.in, tile, {width, 1}, rows, width);
    for (std::int64_t i = 0; i < rows; ++i) {
      T* row = tile + i * width;
      for (std::int64_t j = 0; j < width; ++j) row[j] = carry[j] = Op{}(carry[j], row[j]);
    }
    pass.store(tile, {width, 1}, block.target(pass.out, r), block.out, rows, width);
  }
}

/// Up to kRows columns one after another: each waits for its own sum only.
template <class Op, class T>
void scan_rows(const Pass<T>& pass) {
  alignas(64) T tile[kTile] = {};
  T carry[kRows];
  constexpr std::int64_t kPiece = kTile / kRows;
  const AxisBlock& block = pass.block;
  std::fill_n(carry, kRows, pass.start);
  for (std::int64_t i = 0; i < pass.length; i += kPiece) {
    const std::int64_t n = std::min(kPiece, pass.length - i);
    pass.load(block.source(pass.in, i), {block.in.column, block.in.row}, tile, {kPiece, 1},
              block.width, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t k = 0; k < kRows; ++k) {
        T& x = tile[k * kPiece + j];
        x = carry[k] = Op{}(carry[k], x);
      }
    }
    pass.store(tile, {kPiece, 1}, block.target(pass.out, i), {block.out.column, block.out.row},
               block.width, n);
  }
}

template <class Op, class T>
void scan_as(const View& in, int axis, const View& out, T start) {
  const ConvertPlane load = folding::find_convert(in.dtype, dtype_of<T>());
  const ConvertPlane store = folding::find_convert(dtype_of<T>(), out.dtype);
  const AxisBlocks blocks(in, axis, kColumns, kRows);
  blocks.for_each(kGrain, [&](const AxisBlock& block) {
    const Pass<T> pass{block, blocks.length(), load, store, in, out, start};
    if (blocks.is_inner()) {
      scan_columns<Op>(pass);
    } else {
      scan_rows<Op>(pass);
    }
  });
}

template <class T>
void scan_typed(Scan kind, const View& in, int axis, const View& out) {
  if (kind == Scan::sum) {
    scan_as<Plus, T>(in, axis, out, 0);
  } else {
    scan_as<Times, T>(in, axis, out, 1);
  }
}

}  // namespace

void scan(Scan kind, const View& in, int axis, const View& out) {
  if (is_floating(in.dtype)) {
    scan_typed<double>(kind, in, axis, out);
  } else {
    scan_typed<std::int64_t>(kind, in, axis, out);
  }
}

}  // namespace tenure::kernels
