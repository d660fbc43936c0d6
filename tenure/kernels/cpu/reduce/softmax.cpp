#include <cmath>
#include <limits>
#include <string>

#include "tenure/kernels/cpu/reduce/axis.h"
#include "tenure/kernels/cpu/reduce/fold.h"
#include "tenure/kernels/cpu/reduce/reduce.h"
#include "tenure/kernels/cpu/reduce/softmax_map.h"

namespace tenure::kernels {
namespace {

using reduce::AxisBlock;
using reduce::AxisBlocks;
using reduce::ConvertPlane;
using reduce::find_convert;
using reduce::find_fold;
using reduce::find_map;
using reduce::Fold;
using reduce::Map;
using reduce::MapKind;
using reduce::Rule;
using reduce::total;

constexpr std::int64_t kSoftmaxGrain = 1 << 14;
constexpr std::int64_t kTileBytes = 1 << 15;

/// Softmax or its logarithm, computed as T.
template <class T>
class Softmax {
 public:
  Softmax(const View& in, int axis, const View& out, bool log)
      : in_(in), axis_(axis), out_(out), log_(log) {}

  void operator()() const {
    const AxisBlocks blocks(in_, axis_, kColumns, 1);
    const std::int64_t length = blocks.length();
    const bool direct = in_.dtype == dtype_of<T>() && out_.dtype == dtype_of<T>();
    if (blocks.is_inner()) {
      if (direct && blocks.columns_are_contiguous()) {
        blocks.for_each(kSoftmaxGrain, [&](const AxisBlock& block) {
          const auto* src = static_cast<const T*>(block.source(in_, 0));
          auto* dst = static_cast<T*>(block.target(out_, 0));
          apply_to_columns(src, block.in.row, dst, block.out.row, length, block.width);
        });
      } else {
        blocks.for_each(kSoftmaxGrain,
                        [&](const AxisBlock& block) { convert_columns(block, length); });
      }
    } else if (length <= kShort) {
      const AxisBlocks wide(in_, axis_, kColumns, kColumns);
      wide.for_each(kSoftmaxGrain, [&](const AxisBlock& block) { convert_columns(block, length); });
    } else if (direct && blocks.axis_is_contiguous()) {
      blocks.for_each(kSoftmaxGrain, [&](const AxisBlock& block) {
        apply_to_row(static_cast<const T*>(block.source(in_, 0)),
                     static_cast<T*>(block.target(out_, 0)), length);
      });
    } else {
      blocks.for_each(kSoftmaxGrain, [&](const AxisBlock& block) { convert_row(block, length); });
    }
  }

 private:
  static constexpr std::int64_t kTile = kTileBytes / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t kColumns = 240;  ///< rows of a tile do not collide in the cache
  static constexpr std::int64_t kShort = 32;     ///< shorter rows are computed side by side

  /// What is left to do to exp(x - shift), or for the logarithm, to x - shift. A shift that is not
  /// finite makes everything NaN, as inf - inf would.
  T correction(T shift, double sum) const {
    if (!std::isfinite(shift)) return std::numeric_limits<T>::quiet_NaN();
    return static_cast<T>(log_ ? std::log(sum) : 1 / sum);
  }

  /// The state of columns side by side. Their padding is computed with, but never stored.
  class Columns {
   public:
    Columns() {
      std::fill_n(shift(), kColumns, -std::numeric_limits<T>::infinity());
      std::fill_n(high(), kColumns, T{0});
      std::fill_n(low(), kColumns, T{0});
      std::fill_n(factor(), kColumns, T{1});
    }
    T* shift() { return shift_; }
    T* high() { return high_; }
    T* low() { return low_; }
    T* factor() { return factor_; }

   private:
    static constexpr std::int64_t kPadded = kColumns + 64 / static_cast<std::int64_t>(sizeof(T));
    T shift_[kPadded];
    T high_[kPadded];
    T low_[kPadded];
    T factor_[kPadded];
  };

  void correct(Columns& c, std::int64_t width) const {
    for (std::int64_t j = 0; j < width; ++j) {
      c.factor()[j] = correction(c.shift()[j], total(c.high()[j], c.low()[j]));
    }
  }

  void apply_to_row(const T* src, T* dst, std::int64_t count) const {
    const T one = 1;
    T shift = 0;
    T high = 0;
    T low = 0;
    max_.init(&shift, &low, 1);
    max_.run(&shift, &low, nullptr, src, count);
    if (log_) {
      sum_exp_.run(&high, &low, &shift, src, count);
      const T b = correction(shift, total(high, low));
      subtract_.run(dst, src, count, &shift, &b);
      return;
    }
    exp_.run(dst, src, count, &shift, &one);
    sum_.run(&high, &low, nullptr, dst, count);
    const T b = correction(shift, total(high, low));
    scale_.run(dst, dst, count, &shift, &b);
  }

  void apply_to_columns(const T* src, std::int64_t src_stride, T* dst, std::int64_t dst_stride,
                        std::int64_t length, std::int64_t width) const {
    Columns c;
    max_.rows(c.shift(), c.low(), nullptr, src, src_stride, length, width);
    if (log_) {
      sum_exp_.rows(c.high(), c.low(), c.shift(), src, src_stride, length, width);
      correct(c, width);
      subtract_.plane(dst, dst_stride, src, src_stride, length, width, c.shift(), c.factor());
      return;
    }
    exp_.plane(dst, dst_stride, src, src_stride, length, width, c.shift(), c.factor());
    sum_.rows(c.high(), c.low(), nullptr, dst, dst_stride, length, width);
    correct(c, width);
    scale_.plane(dst, dst_stride, dst, dst_stride, length, width, c.shift(), c.factor());
  }

  /// A row of another type or with gaps: at once if a tile holds it, else piece by piece, three
  /// times.
  void convert_row(const AxisBlock& block, std::int64_t length) const {
    alignas(64) T tile[kTile];
    const auto load = [&](std::int64_t i, std::int64_t n) {
      load_(block.source(in_, i), {0, block.in.row}, tile, {0, 1}, 1, n);
    };
    const auto store = [&](std::int64_t i, std::int64_t n) {
      store_(tile, {0, 1}, block.target(out_, i), {0, block.out.row}, 1, n);
    };
    if (length <= kTile) {
      load(0, length);
      apply_to_row(tile, tile, length);
      store(0, length);
      return;
    }
    T shift = 0;
    T high = 0;
    T low = 0;
    max_.init(&shift, &low, 1);
    const auto for_each_piece = [&](const auto& f) {
      for (std::int64_t i = 0; i < length; i += kTile) {
        const std::int64_t n = std::min(kTile, length - i);
        load(i, n);
        f(i, n);
      }
    };
    for_each_piece([&](std::int64_t, std::int64_t n) { max_.run(&shift, &low, nullptr, tile, n); });
    for_each_piece(
        [&](std::int64_t, std::int64_t n) { sum_exp_.run(&high, &low, &shift, tile, n); });
    const T b = correction(shift, total(high, low));
    for_each_piece([&](std::int64_t i, std::int64_t n) {
      (log_ ? subtract_ : exp_).run(tile, tile, n, &shift, &b);
      store(i, n);
    });
  }

  /// As convert_row, for columns side by side.
  void convert_columns(const AxisBlock& block, std::int64_t length) const {
    alignas(64) T tile[kTile];
    const std::int64_t width = block.width;
    const std::int64_t height = kTile / width;
    const auto load = [&](std::int64_t r, std::int64_t rows) {
      load_(block.source(in_, r), block.in, tile, {width, 1}, rows, width);
    };
    const auto store = [&](std::int64_t r, std::int64_t rows) {
      store_(tile, {width, 1}, block.target(out_, r), block.out, rows, width);
    };
    if (length <= height) {
      load(0, length);
      apply_to_columns(tile, width, tile, width, length, width);
      store(0, length);
      return;
    }
    Columns c;
    const auto for_each_piece = [&](const auto& f) {
      for (std::int64_t r = 0; r < length; r += height) {
        const std::int64_t rows = std::min(height, length - r);
        load(r, rows);
        f(r, rows);
      }
    };
    for_each_piece([&](std::int64_t, std::int64_t rows) {
      max_.rows(c.shift(), c.low(), nullptr, tile, width, rows, width);
    });
    for_each_piece([&](std::int64_t, std::int64_t rows) {
      sum_exp_.rows(c.high(), c.low(), c.shift(), tile, width, rows, width);
    });
    correct(c, width);
    for_each_piece([&](std::int64_t r, std::int64_t rows) {
      (log_ ? subtract_ : exp_).plane(tile, width, tile, width, rows, width, c.shift(), c.factor());
      store(r, rows);
    });
  }

  const View& in_;
  int axis_;
  const View& out_;
  bool log_;
  ConvertPlane load_ = find_convert(in_.dtype, dtype_of<T>());
  ConvertPlane store_ = find_convert(dtype_of<T>(), out_.dtype);
  const Fold& max_ = find_fold(Rule::max, dtype_of<T>());
  const Fold& sum_ = find_fold(Rule::sum, dtype_of<T>());
  const Fold& sum_exp_ = find_fold(Rule::sum_exp, dtype_of<T>());
  const Map& exp_ = find_map(MapKind::exp, dtype_of<T>());
  const Map& scale_ = find_map(MapKind::scale, dtype_of<T>());
  const Map& subtract_ = find_map(MapKind::subtract, dtype_of<T>());
};

void apply(const char* op, const View& in, int axis, const View& out, bool log) {
  if (!is_floating(in.dtype)) {
    throw DTypeError(op, "takes floats, not " + std::string(name_of(in.dtype)));
  }
  if (in.dtype == DType::float64) {
    Softmax<double>(in, axis, out, log)();
  } else {
    Softmax<float>(in, axis, out, log)();
  }
}

}  // namespace

void softmax(const View& in, int axis, const View& out) { apply("softmax", in, axis, out, false); }

void log_softmax(const View& in, int axis, const View& out) {
  apply("log_softmax", in, axis, out, true);
}

}  // namespace tenure::kernels
