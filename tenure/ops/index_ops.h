#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/index/modes.h"

// Choosing elements by place, and putting them elsewhere. Tensors of indices are int32 or int64,
// negative indices count from the end, and one outside its axis throws IndexError before anything
// is written. Defined in index/index.cpp (lists of indices), index/select.cpp (by tensors) and
// index/arrange.cpp (pad to triu).

namespace tenure {

/// start, start + step, ... before stop; NumPy's rules for what is left out, negative or too large.
struct Slice {
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> stop{};
  std::int64_t step = 1;
};
inline constexpr Slice All{};
/// A new axis of size 1.
inline constexpr struct NewAxisTag {
} NewAxis;
/// All axes that the other indices leave.
inline constexpr struct EllipsisTag {
} Ellipsis;

/// One place in `index(x, {...})`: a number, a slice, a new axis, the ellipsis, a tensor of
/// indices, or a mask, which stands for as many axes as it has.
class Index {
 public:
  using Value = std::variant<std::int64_t, Slice, NewAxisTag, EllipsisTag, Tensor>;

  template <std::integral T>
  requires(!std::is_same_v<T, bool>) Index(T value)  // NOLINT(google-explicit-constructor)
      : value_(std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value)
                                                  : std::numeric_limits<std::int64_t>::max()) {}
  Index(const Slice& slice) : value_(slice) {}         // NOLINT(google-explicit-constructor)
  Index(NewAxisTag tag) : value_(tag) {}               // NOLINT(google-explicit-constructor)
  Index(EllipsisTag tag) : value_(tag) {}              // NOLINT(google-explicit-constructor)
  Index(Tensor tensor) : value_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)

  const Value& value() const { return value_; }

 private:
  Value value_;
};

/// Made implicitly at the call, from `{...}` or a vector; never stored.
class IndexList {
 public:
  IndexList(std::initializer_list<Index> items)  // NOLINT(google-explicit-constructor)
      : items_(items.begin(), items.size()) {}
  IndexList(const std::vector<Index>& items) : items_(items) {}  // NOLINT
  std::span<const Index> items() const { return items_; }

 private:
  std::span<const Index> items_;
};

/// NumPy's x[...]: a view if there are only numbers, slices, new axes and an ellipsis, else a copy.
/// Tensors of indices broadcast against each other; the axes that they make stand where they stood,
/// or in front if other indices stand between them. A mask counts as its nonzero places.
Tensor index(const Operand& x, const IndexList& indices);
/// x with `values`, which broadcast to the shape of index(x, indices), in these places; if a place
/// occurs twice, its last value stays. Computes in place in a moved x.
Tensor index_update(const Operand& x, const IndexList& indices, const Operand& values);
/// x with `values` added to these places, as often as a place occurs. In place in a moved x.
Tensor index_add(const Operand& x, const IndexList& indices, const Operand& values);

/// The elements at `indices` along an axis, which gives way to the axes of `indices`.
Tensor take(const Operand& x, const Operand& indices, int axis = 0);
/// result[.., i, ..] = x[.., indices[.., i, ..], ..]: one element for each index. `indices` has the
/// rank of x and is nowhere longer but along the axis.
Tensor gather(const Operand& x, int axis, const Operand& indices);
/// The reverse of gather: x with updates[.., i, ..], or a number, combined in row-major order with
/// the element at indices[.., i, ..]. Computes in place in a moved x.
Tensor scatter(const Operand& x, int axis, const Operand& indices, const Operand& updates,
               ScatterMode mode = ScatterMode::assign);

/// The elements of x where a mask of its shape holds, in row-major order.
Tensor mask_select(const Operand& x, const Operand& mask);
/// The places of all elements that are not zero, one row each, in row-major order; int64.
Tensor nonzero(const Operand& x);

/// With (before, after) new elements along each axis; negative numbers cut elements off. `value` is
/// what a constant border has.
Tensor pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
           PadMode mode = PadMode::constant, const Scalar& value = 0);
/// x as a whole `times` along each axis; the shorter of shape and times is filled up with ones.
Tensor tile(const Operand& x, const Dims& times);
/// Every element `times` in a row along an axis.
Tensor repeat(const Operand& x, std::int64_t times, int axis);
/// Moved by `shift` along an axis; what leaves at one end enters at the other.
Tensor roll(const Operand& x, std::int64_t shift, int axis);
Tensor roll(const Operand& x, const Dims& shifts, const Axes& axes);
/// Matrices in the last two axes with zeros above the k-th diagonal. In place in a moved x.
Tensor tril(const Operand& x, std::int64_t k = 0);
/// Matrices in the last two axes with zeros below the k-th diagonal. In place in a moved x.
Tensor triu(const Operand& x, std::int64_t k = 0);

}  // namespace tenure
