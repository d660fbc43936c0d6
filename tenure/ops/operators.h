#pragma once

#include "tenure/ops/elementwise.h"

namespace tenure {

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b); }
inline Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator<<(const Operand& a, const Operand& b) { return left_shift(a, b); }
inline Tensor operator>>(const Operand& a, const Operand& b) { return right_shift(a, b); }
inline Tensor operator==(const Operand& a, const Operand& b) { return equal(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return less(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return greater(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }
inline Tensor operator-(const Operand& x) { return neg(x); }
inline Tensor operator~(const Operand& x) { return bitwise_not(x); }
inline Tensor operator!(const Operand& x) { return logical_not(x); }

/// `a = a + b`, in place when this handle is the data's only holder. Other handles and views keep
/// the old value.
inline Tensor& operator+=(Tensor& a, const Operand& b) {
  return a = add(Operand(std::move(a), b.site()), b);
}
inline Tensor& operator-=(Tensor& a, const Operand& b) {
  return a = sub(Operand(std::move(a), b.site()), b);
}
inline Tensor& operator*=(Tensor& a, const Operand& b) {
  return a = mul(Operand(std::move(a), b.site()), b);
}
inline Tensor& operator/=(Tensor& a, const Operand& b) {
  return a = div(Operand(std::move(a), b.site()), b);
}

}  // namespace tenure
