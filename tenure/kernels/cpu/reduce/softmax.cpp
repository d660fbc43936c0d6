#include <cmath>
#include <limits>
#include <string>

#include "tenure/kernels/cpu/reduce/axis.h"
#include "tenure/kernels/cpu/reduce/fold.h"
#include "tenure/kernels/cpu/reduce/reduce.h"
#include "tenure/kernels/cpu/reduce/softmax_map.h"

namespace tenure::kernels {
namespace {

using folding::AxisBlock;
using folding::AxisBlocks;
using folding::BlockArray;
using folding::ConvertPlane;
using folding::find_convert;
using folding::find_fold;
using folding::find_map;
using folding::Fold;
using folding::Map;
using folding::MapKind;
using folding::Partials;
using folding::Rule;
using folding::total;

constexpr std::int64_t kGrain = 1 << 14;
constexpr std::int64_t kTileBytes = 1 << 15;

/// Softmax or its logarithm, computed as T.
template <class T>
class Softmax {
 public:
  Softmax(const View& in, int axis, const View& out, bool log)
      : in_(in), axis_(axis), out_(out), log_(log) {}

  void operator()() const {
    const bool direct = in_.dtype == dtype_of<T>() && out_.dtype == dtype_of<T>();
    const AxisBlocks rows(in_, axis_, kColumns, 1);
    if (direct && !rows.is_inner() && rows.axis_is_contiguous()) {
      rows.for_each(kGrain, [&](const AxisBlock& block) {
        apply_to_row(static_cast<const T*>(block.source(in_, 0)),
                     static_cast<T*>(block.target(out_, 0)), rows.length());
      });
    } else if (direct && rows.is_inner() && rows.columns_are_contiguous()) {
      rows.for_each(kGrain, [&](const AxisBlock& block) { apply_to_columns(block, rows.length()); });
    } else if (rows.length() <= kTile) {
      const std::int64_t width = kTile / std::max<std::int64_t>(rows.length(), 1);
      const AxisBlocks blocks(in_, axis_, width, width);
      blocks.for_each(kGrain, [&](const AxisBlock& block) { apply_to_tile(block, rows.length()); });
    } else {
      const AxisBlocks columns(in_, axis_, 1, 1);
      columns.for_each(kGrain, [&](const AxisBlock& block) {
        apply_in_chunks(block, rows.length());
      });
    }
  }

 private:
  static constexpr std::int64_t kTile = kTileBytes / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t kColumns = 256;

  /// What is left to do to exp(x - shift), or for the logarithm, to x - shift. A shift that is not
  /// finite makes everything NaN, as inf - inf would.
  T correction(T shift, double sum) const {
    if (!std::isfinite(shift)) return std::numeric_limits<T>::quiet_NaN();
    return static_cast<T>(log_ ? std::log(sum) : 1 / sum);
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

  void apply_to_columns(const AxisBlock& block, std::int64_t length) const {
    const auto* src = static_cast<const T*>(block.source(in_, 0));
    auto* dst = static_cast<T*>(block.target(out_, 0));
    const std::int64_t width = block.width;
    Partials partials;
    BlockArray shifts;
    BlockArray factors;
    T* high = partials.high.as<T>();
    T* low = partials.low.as<T>();
    T* shift = shifts.as<T>();
    T* factor = factors.as<T>();
    std::fill_n(high, kColumns, T{0});  // The padding is computed with, but never stored.
    std::fill_n(factor, kColumns, T{1});

    max_.init(shift, low, kColumns);
    max_.rows(shift, low, nullptr, src, block.in.row, length, width);
    std::fill_n(low, kColumns, T{0});
    if (log_) {
      sum_exp_.rows(high, low, shift, src, block.in.row, length, width);
    } else {
      exp_.plane(dst, block.out.row, src, block.in.row, length, width, shift, factor);
      sum_.rows(high, low, nullptr, dst, block.out.row, length, width);
    }
    for (std::int64_t j = 0; j < width; ++j) {
      factor[j] = correction(shift[j], total(high[j], low[j]));
    }
    if (log_) {
      subtract_.plane(dst, block.out.row, src, block.in.row, length, width, shift, factor);
    } else {
      scale_.plane(dst, block.out.row, dst, block.out.row, length, width, shift, factor);
    }
  }

  /// Whole columns by way of a tile in which they lie one after another.
  void apply_to_tile(const AxisBlock& block, std::int64_t length) const {
    alignas(64) T tile[kTile];
    load_(block.source(in_, 0), {block.in.column, block.in.row}, tile, {length, 1}, block.width,
          length);
    for (std::int64_t j = 0; j < block.width; ++j) {
      apply_to_row(tile + j * length, tile + j * length, length);
    }
    store_(tile, {length, 1}, block.target(out_, 0), {block.out.column, block.out.row}, block.width,
           length);
  }

  /// A column too long for a tile: three passes, each converting again.
  void apply_in_chunks(const AxisBlock& block, std::int64_t length) const {
    alignas(64) T tile[kTile];
    T shift = 0;
    T high = 0;
    T low = 0;
    const auto for_each_chunk = [&](const auto& f) {
      for (std::int64_t i = 0; i < length; i += kTile) {
        const std::int64_t n = std::min(kTile, length - i);
        load_(block.source(in_, i), {0, block.in.row}, tile, {0, 1}, 1, n);
        f(i, n);
      }
    };
    max_.init(&shift, &low, 1);
    for_each_chunk([&](std::int64_t, std::int64_t n) { max_.run(&shift, &low, nullptr, tile, n); });
    for_each_chunk(
        [&](std::int64_t, std::int64_t n) { sum_exp_.run(&high, &low, &shift, tile, n); });
    const T b = correction(shift, total(high, low));
    for_each_chunk([&](std::int64_t i, std::int64_t n) {
      (log_ ? subtract_ : exp_).run(tile, tile, n, &shift, &b);
      store_(tile, {0, 1}, block.target(out_, i), {0, block.out.row}, 1, n);
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
