#pragma once

// Note: one body, several kinds of values
//
// An elementwise op is a struct in one of the -inl.h files here; its body is a template in the kind
// of value that it computes with:
//
//   scalar-inl.h        a single number: Number (floats), Int (integers that wrap), Truth (bool)
//   source_expression.h a number that is not there yet: it prints the source of a kernel
//   and what a device brings along, such as a SIMD vector (kernels/cpu/elementwise/value-inl.h)
//
// A kind of value has `Scalar`, `is_float`, a constructor from numbers, operators, comparisons,
// select(condition, a, b), and the words of words.h and of the C library that bodies use. They are
// found by the value's type, so that a body says plainly `x / (abs(x) + V(1))`.
//
// A compiler makes code for one instruction set at a time. A device that has several includes the
// -inl.h files once for each, and defines these three before.

#ifndef TENURE_BODIES_BEGIN
#define TENURE_BODIES_BEGIN \
  namespace tenure::ops {   \
  inline namespace plain {
#define TENURE_BODIES_END \
  }                       \
  }
#define TENURE_BODY inline
#endif
