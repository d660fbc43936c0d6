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

// Compound assignment: `a = a + b`, in place when a move of `a` would be; other handles and views
// keep the old value. `a` keeps its type and its shape, or DTypeError or ShapeError is thrown and
// nothing has changed. It also stays in the scope that it is in, and kept if it was: a sum that was
// made before a scope lives on when what it was summed up from ends.
Tensor& operator+=(Tensor& a, const Operand& b);
Tensor& operator-=(Tensor& a, const Operand& b);
Tensor& operator*=(Tensor& a, const Operand& b);
Tensor& operator/=(Tensor& a, const Operand& b);
Tensor& operator%=(Tensor& a, const Operand& b);
Tensor& operator&=(Tensor& a, const Operand& b);
Tensor& operator|=(Tensor& a, const Operand& b);
Tensor& operator^=(Tensor& a, const Operand& b);
Tensor& operator<<=(Tensor& a, const Operand& b);
Tensor& operator>>=(Tensor& a, const Operand& b);

}  // namespace tenure
