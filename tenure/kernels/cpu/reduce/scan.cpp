#include <array>
#include <limits>
#include <string>

#include "tenure/kernels/cpu/reduce/axis.h"
#include "tenure/kernels/cpu/reduce/reduce.h"

namespace tenure::kernels {
namespace {

using reduce::AxisBlock;
using reduce::AxisBlocks;
using reduce::ConvertPlane;

constexpr std::int64_t kScanTile = 2048;
constexpr std::int64_t kScanColumns = 256;
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kScanGrain = 1 << 15;

// Note: long columns
//
// Where a few long columns are summed, one of them is shared out: it is cut into stretches, whose
// sums come first; then the running sums of each stretch are added to what came before it. The last
// of these is what the next stretch begins with, so that they never fall where terms are not
// negative. Whether and where a column is cut follows from the shape alone, and so do the bits.
// Running products are not cut: those of a stretch may overflow where the whole does not.
constexpr std::int64_t kLongColumn = 1 << 15;
constexpr std::int64_t kManyColumns = 64;
constexpr std::int64_t kStretches = 64;

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

/// The larger one; a NaN that is there stays.
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
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

constexpr std::int64_t kPiece = kScanTile / kRows;

/// Columns side by side, a tile of rows at a time: they fill vectors.
template <class Op, class T>
void scan_columns(const Pass<T>& pass) {
  alignas(64) T tile[kScanTile];
  T carry[kScanColumns];
  const AxisBlock& block = pass.block;
  const std::int64_t width = block.width;
  const std::int64_t height = kScanTile / width;
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

/// Reads up to kRows columns, a piece of each at a time, and calls `use(tile, first, count)`.
template <class T, class Use>
void for_pieces(const Pass<T>& pass, const Use& use) {
  alignas(64) T tile[kScanTile] = {};
  const AxisBlock& block = pass.block;
  for (std::int64_t i = 0; i < pass.length; i += kPiece) {
    const std::int64_t n = std::min(kPiece, pass.length - i);
    pass.load(block.source(pass.in, i), {block.in.column, block.in.row}, tile, {kPiece, 1},
              block.width, n);
    use(tile, i, n);
  }
}

/// Up to kRows columns one after another: each waits for its own sum only. What they come to is
/// added to `before`.
template <class Op, class T>
void scan_rows(const Pass<T>& pass, const std::array<T, kRows>& before) {
  const AxisBlock& block = pass.block;
  std::array<T, kRows> carry;
  carry.fill(pass.start);
  for_pieces(pass, [&](T* tile, std::int64_t i, std::int64_t n) {
    std::array<T, kRows> running = carry;  // in registers
    for (std::int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kRows; ++k) {
        T& x = tile[k * kPiece + j];
        running[k] = Op{}(running[k], x);
        x = Op{}(before[k], running[k]);
      }
    }
    carry = running;
    pass.store(tile, {kPiece, 1}, block.target(pass.out, i), {block.out.column, block.out.row},
               block.width, n);
  });
}

/// What up to kRows columns come to.
template <class T>
std::array<T, kRows> sum_rows(const Pass<T>& pass) {
  std::array<T, kRows> sums{};
  for_pieces(pass, [&](const T* tile, std::int64_t, std::int64_t n) {
    std::array<T, kRows> running = sums;  // in registers
    for (std::int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kRows; ++k) running[k] = Plus{}(running[k], tile[k * kPiece + j]);
    }
    sums = running;
  });
  return sums;
}

/// One long column, in stretches that lie beside each other like columns.
template <class T>
class LongColumn {
 public:
  explicit LongColumn(const Pass<T>& column)
      : column_(column),
        stretch_(((column.length - 1) / (kStretches * kPiece) + 1) * kPiece),
        whole_(column.length / stretch_),
        rest_(column.length % stretch_) {}

  void sum() {
    for_blocks([&](const Pass<T>& pass, std::int64_t first) {
      const std::array<T, kRows> sums = sum_rows(pass);
      std::copy_n(sums.begin(), pass.block.width, before_.begin() + first + 1);
    });
    for (std::int64_t i = 1; i < whole_; ++i) before_[i + 1] = Plus{}(before_[i], before_[i + 1]);
    for_blocks([&](const Pass<T>& pass, std::int64_t first) {
      std::array<T, kRows> before{};
      std::copy_n(before_.begin() + first, pass.block.width, before.begin());
      scan_rows<Plus>(pass, before);
    });
  }

 private:
  /// Calls `body(pass, first stretch)` for kRows stretches at a time, and for what is left.
  template <class Body>
  void for_blocks(const Body& body) const {
    const std::int64_t blocks = (whole_ - 1) / kRows + 1;
    const std::int64_t grain = (kScanGrain - 1) / (kRows * stretch_) + 1;
    parallel_for(blocks + (rest_ > 0 ? 1 : 0), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const bool is_rest = i == blocks;
        const std::int64_t first = is_rest ? whole_ : i * kRows;
        const std::int64_t start = first * stretch_;
        const AxisBlock& c = column_.block;
        const AxisBlock block{.width = is_rest ? 1 : std::min(kRows, whole_ - first),
                              .in_offset = c.in_offset + start * c.in.row,
                              .out_offset = c.out_offset + start * c.out.row,
                              .in = {c.in.row, stretch_ * c.in.row},
                              .out = {c.out.row, stretch_ * c.out.row}};
        body(Pass<T>{block, is_rest ? rest_ : stretch_, column_.load, column_.store, column_.in,
                     column_.out, column_.start},
             first);
      }
    });
  }

  const Pass<T>& column_;
  std::int64_t stretch_;
  std::int64_t whole_;
  std::int64_t rest_;
  std::array<T, kStretches + 2> before_{};  ///< what comes before each stretch
};

template <class Op, class T>
void scan_as(const View& in, int axis, const View& out, T start) {
  const ConvertPlane load = reduce::find_convert(in.dtype, dtype_of<T>());
  const ConvertPlane store = reduce::find_convert(dtype_of<T>(), out.dtype);
  const AxisBlocks blocks(in, axis, kScanColumns, kRows);
  if constexpr (std::is_same_v<Op, Plus>) {
    if (blocks.length() >= kLongColumn && in.count() / blocks.length() < kManyColumns) {
      constexpr std::int64_t kOneByOne = std::numeric_limits<std::int64_t>::max();
      const AxisBlocks columns(in, axis, 1, 1);
      columns.for_each(kOneByOne, [&](const AxisBlock& block) {
        LongColumn<T>({block, blocks.length(), load, store, in, out, start}).sum();
      });
      return;
    }
  }
  blocks.for_each(kScanGrain, [&](const AxisBlock& block) {
    const Pass<T> pass{block, blocks.length(), load, store, in, out, start};
    if (blocks.is_inner()) {
      scan_columns<Op>(pass);
    } else {
      std::array<T, kRows> before;
      before.fill(start);
      scan_rows<Op>(pass, before);
    }
  });
}

template <class T>
void scan_typed(Scan kind, const View& in, int axis, const View& out) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
    case Scan::sum:
      return scan_as<Plus, T>(in, axis, out, 0);
    case Scan::prod:
      return scan_as<Times, T>(in, axis, out, 1);
    case Scan::max:
      return scan_as<Larger, T>(in, axis, out,
                                Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    case Scan::min:
      return scan_as<Smaller, T>(in, axis, out,
                                 Limits::has_infinity ? Limits::infinity() : Limits::max());
  }
}

}  // namespace

void scan(Scan kind, const View& in, int axis, const View& out) {
  const bool grows = kind == Scan::sum || kind == Scan::prod;
  if (grows && !is_floating(in.dtype) && out.dtype != DType::int64) {
    throw DTypeError(
        "scan", "sums and products of integers are int64, not " + std::string(name_of(out.dtype)));
  }
  if (is_floating(in.dtype)) {
    scan_typed<double>(kind, in, axis, out);
  } else {
    scan_typed<std::int64_t>(kind, in, axis, out);
  }
}

}  // namespace tenure::kernels
