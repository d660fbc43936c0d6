#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "tenure/base/error.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

namespace tenure::ops {

/// Something that only the op itself knows: the bodies of a loop.
class Opaque {
 public:
  Opaque() = default;
  virtual ~Opaque() = default;
  Opaque(const Opaque&) = delete;
  Opaque& operator=(const Opaque&) = delete;

  /// Whether calls with either are one call; then their hashes are equal.
  virtual bool equals(const Opaque& other) const { return this == &other; }
  virtual std::size_t hash() const { return std::hash<const void*>()(this); }
  /// Whether it draws random numbers: to compute it again gives something else.
  virtual bool draws() const { return false; }
};

using Attribute = std::variant<std::monostate, bool, std::int64_t, double, DType, Dims, std::string,
                               std::shared_ptr<const Opaque>>;

/// The arguments of an op call that are not tensors, in the order of the op's signature.
class Attributes {
 public:
  static constexpr int kMax = 6;

  Attributes() = default;
  template <class... Values>
  requires(sizeof...(Values) > 0 &&
           sizeof...(Values) <= kMax) explicit Attributes(const Values&... values)
      : size_(sizeof...(Values)) {
    std::size_t i = 0;
    ((values_[i++] = Attribute(values)), ...);
  }

  /// The same with other values for the last two.
  Attributes with_last(std::int64_t a, std::int64_t b) const {
    Attributes other = *this;
    other.values_[static_cast<std::size_t>(size_ - 2)] = a;
    other.values_[static_cast<std::size_t>(size_ - 1)] = b;
    return other;
  }

  int size() const { return size_; }
  const Attribute& operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }

  template <class T>
  const T& get(int i) const {
    const T* const value = std::get_if<T>(&values_[static_cast<std::size_t>(i)]);
    internal_check(value != nullptr, "an attribute has another type than its op expects");
    return *value;  // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): checked above
  }
  bool flag(int i) const { return get<bool>(i); }
  std::int64_t integer(int i) const { return get<std::int64_t>(i); }
  double number(int i) const { return get<double>(i); }
  DType dtype(int i) const { return get<DType>(i); }
  const Dims& dims(int i) const { return get<Dims>(i); }
  const std::string& text(int i) const { return get<std::string>(i); }
  const std::shared_ptr<const Opaque>& opaque(int i) const {
    return get<std::shared_ptr<const Opaque>>(i);
  }

 private:
  std::array<Attribute, kMax> values_{};
  int size_ = 0;
};

/// Attributes that have no destructor: calls are made until the process has ended.
union LastingAttributes {
  Attributes attributes;
  constexpr LastingAttributes() : attributes() {}
  ~LastingAttributes() {}  // NOLINT(modernize-use-equals-default): that would be deleted
};
extern const LastingAttributes kLastingNoAttributes;
inline constexpr const Attributes& kNoAttributes = kLastingNoAttributes.attributes;

}  // namespace tenure::ops
