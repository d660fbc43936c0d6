#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenure/base/site.h"

namespace tenure {

/// Tensors have at most this many dimensions: shapes and strides live inside the tensor's own
/// block, so no shape ever allocates.
inline constexpr int kMaxRank = 8;

/// Up to kMaxRank integers, in place: a shape, strides (counted in elements), or a list of axes.
class Dims {
 public:
  // Neither defaulted nor constexpr: both let compilers clear all places first, and a shape is made
  // for every tensor.
  Dims() {}  // NOLINT(modernize-use-equals-default)
  /// Throws ShapeError past kMaxRank, in the name of the line that lists them.
  Dims(std::initializer_list<std::int64_t> values, Site site = Site::current())
      : Dims(values.begin(), values.size(), site) {}
  Dims(const std::vector<std::int64_t>& values, Site site = Site::current())
      : Dims(values.data(), values.size(), site) {}
  /// One dimension: `ones(3)`.
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) Dims(T value)  // NOLINT(google-explicit-constructor)
      : rank_(1) {
    values_[0] = static_cast<std::int64_t>(value);
  }
  /// For a call of which the error says more.
  explicit Dims(std::span<const std::int64_t> values)
      : Dims(values.data(), values.size(), Site()) {}
  static Dims filled(int rank, std::int64_t value);

  int size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  // By a span, which a build with library assertions holds to its size.
  std::int64_t operator[](int i) const {
    return std::span(values_.data(), rank_)[static_cast<std::size_t>(i)];
  }
  std::int64_t& operator[](int i) {
    return std::span(values_.data(), rank_)[static_cast<std::size_t>(i)];
  }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + rank_; }
  std::int64_t back() const { return (*this)[rank_ - 1]; }

  /// Throws ShapeError past kMaxRank.
  void push_back(std::int64_t value) {
    if (rank_ == kMaxRank) [[unlikely]]
      throw_too_long();
    values_[rank_++] = value;
  }
  void insert(int at, std::int64_t value);
  void erase(int at);
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  Dims(const std::int64_t* values, std::size_t n, Site site);
  [[noreturn]] static void throw_too_long();

  // Undefined past rank_.
  std::array<std::int64_t, kMaxRank> values_;
  std::uint8_t rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;
using Axes = Dims;

/// The axes that a call names: `{0, 2}`, or one as a plain number. None stands for all where the
/// call says so.
class AxisList {
 public:
  AxisList() = default;
  AxisList(std::initializer_list<std::int64_t> axes, Site site = Site::current())  // NOLINT
      : axes_(axes, site) {}
  AxisList(const Axes& axes) : axes_(axes) {}                                   // NOLINT
  AxisList(const std::vector<std::int64_t>& axes, Site site = Site::current())  // NOLINT
      : axes_(axes, site) {}
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) AxisList(T axis)  // NOLINT(google-explicit-constructor)
      : axes_{static_cast<std::int64_t>(axis)} {}
  const Axes& get() const { return axes_; }

 private:
  Axes axes_;
};

/// "[2, 3]"
std::string to_string(const Dims& dims);
std::ostream& operator<<(std::ostream& out, const Dims& dims);

/// Number of elements of a shape that passed check_shape.
inline std::int64_t count(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

std::int64_t check_large_shape(const Shape& shape, std::size_t element_size, std::string_view op);
/// Throws ShapeError if a dimension is negative or the elements of `size` bytes each do not fit
/// in 63 bits, zeros left out. Returns the number of elements.
inline std::int64_t check_shape(const Shape& shape, std::size_t element_size, std::string_view op) {
  // Up to four dimensions below 2^14, negative ones not among them, cannot overflow.
  std::uint64_t bits = 0;
  for (const std::int64_t d : shape) bits |= static_cast<std::uint64_t>(d);
  if (bits < 1u << 14 && shape.size() <= 4) [[likely]]
    return count(shape);
  return check_large_shape(shape, element_size, op);
}

/// Strides of a row-major tensor without gaps.
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    if (shape[i] > 1) step *= shape[i];
  }
  return strides;
}
bool is_contiguous(const Shape& shape, const Strides& strides);

/// The shape that two shapes meet in under NumPy's broadcasting rule. Throws ShapeError.
Shape broadcast(const Shape& a, const Shape& b, std::string_view op);
/// Strides that read a tensor of `shape` as if it had shape `to`, to which it broadcasts.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to);

/// `axis` in [0, rank), counting from the end if negative. Throws IndexError.
int normalize_axis(std::int64_t axis, int rank, std::string_view op);
/// Every axis normalized, sorted, and checked for duplicates; all axes if `axes` is empty.
Axes normalize_axes(const Axes& axes, int rank, std::string_view op);

}  // namespace tenure
