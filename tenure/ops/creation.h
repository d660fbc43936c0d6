#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "tenure/ops/core/operand.h"

// Tensors from nothing, and from data of the program. Each has storage of its own, but for
// from_memory. They are on the default device (memory/default_device.h), but for from_memory, and
// for what takes the shape of another tensor, which goes to its device. `created()` is the line of
// the call. What fills is in creation/fills.cpp, what copies or borrows in creation/from_data.cpp.

namespace tenure {

/// `value` everywhere; its own element type (integers int64, fractions float32) unless told.
Tensor full(const Shape& shape, const Scalar& value, std::optional<DType> dtype = std::nullopt,
            Site site = Site::current());
Tensor zeros(const Shape& shape, DType dtype = DType::float32, Site site = Site::current());
Tensor ones(const Shape& shape, DType dtype = DType::float32, Site site = Site::current());
/// Room for elements, whose values are undefined until the caller writes them.
Tensor empty(const Shape& shape, DType dtype = DType::float32, Site site = Site::current());

/// In the shape, and unless told in the element type, of `x`, whose data may be disposed.
Tensor full_like(const Tensor& x, const Scalar& value, std::optional<DType> dtype = std::nullopt,
                 Site site = Site::current());
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                  Site site = Site::current());
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                 Site site = Site::current());

/// 0, 1, ... before `stop`: int64 if it is an integer, else float32, unless told.
Tensor arange(const Scalar& stop, std::optional<DType> dtype = std::nullopt,
              Site site = Site::current());
/// start, start + step, ... before stop; int64 if all three are integers, else float32, unless
/// told. Throws ValueError if an integer type does not hold the values.
Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step = 1,
              std::optional<DType> dtype = std::nullopt, Site site = Site::current());
/// n numbers evenly spaced from start to stop, which is the last one unless `endpoint` is false.
Tensor linspace(double start, double stop, std::int64_t n, DType dtype = DType::float32,
                bool endpoint = true, Site site = Site::current());
/// base to the powers of linspace(start, stop, n).
Tensor logspace(double start, double stop, std::int64_t n, double base = 10,
                DType dtype = DType::float32, bool endpoint = true, Site site = Site::current());
/// A matrix of n rows and m columns (n unless told) with ones on the k-th diagonal, else zeros.
Tensor eye(std::int64_t n, std::optional<std::int64_t> m = std::nullopt, std::int64_t k = 0,
           DType dtype = DType::float32, Site site = Site::current());
/// A new last axis of `depth` zeros with a one at each index; negative indices count from the end.
Tensor one_hot(const Operand& indices, std::int64_t depth, DType dtype = DType::float32);

/// Numbers in the source text, nested like the tensor they make. Made implicitly in the call of
/// `tensor`; it refers to lists that end with that call.
class NestedList {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> NestedList(T value)  // NOLINT(google-explicit-constructor)
      : number_(value) {}
  NestedList(std::initializer_list<NestedList> items)  // NOLINT(google-explicit-constructor)
      : items_(items), is_list_(true) {}

  bool is_list() const { return is_list_; }
  const Scalar& number() const { return number_; }
  std::span<const NestedList> items() const { return {items_.begin(), items_.size()}; }

 private:
  std::initializer_list<NestedList> items_;
  Scalar number_;
  bool is_list_ = false;
};

/// `tensor({{1, 2}, {3, 4}})`, `tensor(3.5)`. Integers make int64, fractions float32, true and
/// false bool, an empty list float32, unless told. Lists of unequal lengths throw ShapeError.
Tensor tensor(const NestedList& values, std::optional<DType> dtype = std::nullopt,
              Site site = Site::current());

namespace ops {
/// Copies `n` elements of `dtype`; the shape [-1] stands for [n].
Tensor tensor_from(const void* elements, std::size_t n, DType dtype, const Shape& shape, Site site);
Tensor tensor_from(const std::vector<bool>& elements, const Shape& shape, Site site);
}  // namespace ops

/// A vector, span or array, but not of bool where that has no array.
template <class Range>
concept ArrayOfElements = requires(const Range& range) {
  std::size(range);
  requires Element<std::remove_cvref_t<decltype(*std::data(range))>>;
};

/// A copy of it, in its element type; one axis, or the given shape, which must have as many
/// elements.
template <ArrayOfElements Range>
Tensor tensor(const Range& elements, const Shape& shape = {-1}, Site site = Site::current()) {
  using T = std::remove_cvref_t<decltype(*std::data(elements))>;
  return ops::tensor_from(std::data(elements), std::size(elements), dtype_of<T>(), shape, site);
}
/// A vector of bool has no array. A template, so that `{...}` never means one.
template <std::same_as<std::vector<bool>> Range>
Tensor tensor(const Range& elements, const Shape& shape = {-1}, Site site = Site::current()) {
  return ops::tensor_from(elements, shape, site);
}

/// A tensor in memory of the caller's, which is not copied: `bytes` at `data`, aligned to the
/// element size, in row-major order. `deleter(data)` is called once, when the last holder goes,
/// and may be empty. If this throws, the memory is still the caller's and the deleter is not
/// called. A deleter must not throw: what it throws is dropped, and the memory counts as given
/// back. Ops never overwrite this memory, not even for a moved tensor. Throws ValueError for bytes
/// of bool that are neither 0 nor 1.
Tensor from_memory(void* data, const Shape& shape, DType dtype, std::size_t bytes,
                   std::function<void(void*)> deleter, Site site = Site::current());

}  // namespace tenure
