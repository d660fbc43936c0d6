#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/tensor/tensor.h"

namespace tenure {

/// A number in the source text. It has no element type of its own: next to a tensor it takes the
/// tensor's, unless that cannot hold its kind (2.5 with integers gives float32).
struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, floating };
  Kind kind = Kind::integer;
  bool is_beyond_int64 = false;  ///< an integer that only `floating` holds, rounded
  std::int64_t integer = 0;      ///< of booleans and integers
  double floating = 0;

  template <class T>
  requires std::is_arithmetic_v<T> Scalar(
      T value)  // NOLINT(google-explicit-constructor): numbers are scalars
      : kind(std::is_same_v<T, bool>       ? Kind::boolean
             : std::is_floating_point_v<T> ? Kind::floating
                                           : Kind::integer),
        integer(std::is_floating_point_v<T> ? 0 : static_cast<std::int64_t>(value)),
        floating(static_cast<double>(value)) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
      is_beyond_int64 = integer < 0;
    }
  }
  Scalar() = default;

  /// The element type it has where no tensor decides.
  DType dtype() const {
    constexpr DType types[] = {DType::boolean, DType::int64, DType::float32};
    return types[static_cast<int>(kind)];
  }
};

/// A variable: what holds a tensor that may be another one later.
template <class T>
concept HoldsValue = requires(const T& holder, Site site) {
  typename T::KeepsItsTensors;
  { holder.value(site) } -> std::same_as<Tensor>;
};

/// What ops take: a tensor or a number, and where the call stands in the source. Made implicitly at
/// the call; never stored. `relu(x)` only reads x. `relu(std::move(x))` uses x up when it succeeds,
/// and computes in its memory if nobody else holds it; when it throws, x is as before.
class Operand {
 public:
  Operand(const Tensor& tensor, Site site = Site::current())  // NOLINT
      : tensor_(const_cast<Tensor*>(&tensor)), site_(site) {}
  Operand(Tensor&& tensor, Site site = Site::current())  // NOLINT
      : tensor_(&tensor), site_(site), may_consume_(true) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T value, Site site = Site::current())  // NOLINT
      : site_(site), scalar_(value) {}
  /// A number that stood in the source text before.
  explicit Operand(const Scalar& number, Site site = Site::current())
      : site_(site), scalar_(number) {}
  /// Of a variable, what it holds now. That is in `room`, which lives until the end of the
  /// expression that the operand is made in, as the operand does.
  template <HoldsValue T>
  Operand(const T& variable, Site site = Site::current(), Tensor&& room = Tensor())  // NOLINT
      : tensor_(&room), site_(site) {
    room = variable.value(site);
  }

  bool is_scalar() const { return tensor_ == nullptr; }
  const Scalar& scalar() const { return scalar_; }
  const Tensor& tensor() const { return *tensor_; }
  Site site() const { return site_; }
  /// The tensor was moved into the call.
  bool may_consume() const { return may_consume_; }
  /// Ends a moved tensor's life with the call that it was moved into.
  void consume() const {
    if (may_consume_) *tensor_ = Tensor();
  }

 private:
  Tensor* tensor_ = nullptr;  // never written through unless it was moved
  Site site_;
  Scalar scalar_;
  bool may_consume_ = false;
};

/// Several operands: `{a, b, std::move(c)}` or a vector of tensors.
class OperandList {
 public:
  OperandList(std::initializer_list<Operand> operands, Site site = Site::current())  // NOLINT
      : operands_(operands), site_(site) {}
  OperandList(const std::vector<Tensor>& tensors, Site site = Site::current())  // NOLINT
      : site_(site) {
    operands_.reserve(tensors.size());
    for (const Tensor& tensor : tensors) operands_.emplace_back(tensor, site);
  }
  OperandList(std::vector<Tensor>&& tensors, Site site = Site::current())  // NOLINT
      : site_(site) {
    operands_.reserve(tensors.size());
    for (Tensor& tensor : tensors) operands_.emplace_back(std::move(tensor), site);
  }
  const std::vector<Operand>& operands() const { return operands_; }
  /// Of the list itself; each operand has its own.
  Site site() const { return site_; }

 private:
  std::vector<Operand> operands_;
  Site site_;
};

}  // namespace tenure
