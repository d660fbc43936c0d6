#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "python/src/core/numbers.h"
#include "tenure/ops/conv_ops.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/recurrent_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

/// The names of an enum's values, in their order. The generated sources have one for each.
template <class E>
struct NamesOf;

/// How a C++ type comes from a Python object: `fits` says whether an overload that takes it is
/// meant, `of` converts, or raises an error that begins with `what`.
template <class T>
struct From;

template <>
struct From<std::int64_t> {
  static bool fits(PyObject* object) noexcept { return is_integer(object); }
  static std::int64_t of(PyObject* object, const char* what) { return integer_of(object, what); }
};
template <>
struct From<int> {
  static bool fits(PyObject* object) noexcept { return is_integer(object); }
  static int of(PyObject* object, const char* what);
};
template <>
struct From<double> {
  static bool fits(PyObject* object) noexcept { return is_number(object); }
  static double of(PyObject* object, const char* what) { return number_of(object, what); }
};
template <>
struct From<bool> {
  static bool fits(PyObject* object) noexcept { return PyBool_Check(object) != 0; }
  static bool of(PyObject* object, const char* what) { return boolean_of(object, what); }
};
template <>
struct From<KeepDims> {
  static bool fits(PyObject* object) noexcept { return From<bool>::fits(object); }
  static KeepDims of(PyObject* object, const char* what) { return boolean_of(object, what); }
};
template <>
struct From<Scalar> {
  static bool fits(PyObject* object) noexcept { return is_number(object); }
  static Scalar of(PyObject* object, const char* what) { return scalar_of(object, what); }
};
template <>
struct From<DType> {
  static bool fits(PyObject* object) noexcept { return is_dtype(object); }
  static DType of(PyObject* object, const char* what) { return dtype_of(object, what); }
};
template <>
struct From<Device> {
  static bool fits(PyObject* object) noexcept { return PyUnicode_Check(object) != 0; }
  static Device of(PyObject* object, const char* what) { return device_of(object, what); }
};
template <>
struct From<std::string> {
  static bool fits(PyObject* object) noexcept { return PyUnicode_Check(object) != 0; }
  static std::string of(PyObject* object, const char* what) { return text_of(object, what); }
};
/// Shapes, axes and the like: a list of ints, or one alone.
template <>
struct From<Dims> {
  static bool fits(PyObject* object) noexcept { return is_integers(object); }
  static Dims of(PyObject* object, const char* what) { return shape_of(object, what); }
};
template <>
struct From<std::vector<std::int64_t>> {
  static bool fits(PyObject* object) noexcept { return is_integers(object); }
  static std::vector<std::int64_t> of(PyObject* object, const char* what) {
    return integers_of(object, what);
  }
};
/// Pairs of ints, or one int for both sides of an axis.
template <>
struct From<std::vector<std::pair<std::int64_t, std::int64_t>>> {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  static bool fits(PyObject* object) noexcept { return is_integers(object); }
  static Pairs of(PyObject* object, const char* what);
};
template <>
struct From<AxisList> {
  static bool fits(PyObject* object) noexcept { return is_integer(object) || is_integers(object); }
  static AxisList of(PyObject* object, const char* what);
};
template <>
struct From<SpatialSizes> {
  static bool fits(PyObject* object) noexcept { return From<AxisList>::fits(object); }
  static SpatialSizes of(PyObject* object, const char* what);
};
template <>
struct From<Padding> {
  static bool fits(PyObject* object) noexcept {
    return From<AxisList>::fits(object) || PyUnicode_Check(object) != 0;
  }
  static Padding of(PyObject* object, const char* what);
};
template <>
struct From<Tensor> {
  static bool fits(PyObject* object) noexcept;
  static Tensor of(PyObject* object, const char* what);
};
template <>
struct From<std::vector<Tensor>> {
  static bool fits(PyObject* object) noexcept { return is_integers(object); }
  static std::vector<Tensor> of(PyObject* object, const char* what);
};
template <>
struct From<LstmState> {
  static bool fits(PyObject* object) noexcept { return is_integers(object); }
  static LstmState of(PyObject* object, const char* what);
};
template <>
struct From<Generator*> {
  static bool fits(PyObject* object) noexcept;
  static Generator* of(PyObject* object, const char* what);
};
template <class T>
struct From<std::optional<T>> {
  static bool fits(PyObject* object) noexcept { return object == Py_None || From<T>::fits(object); }
  static std::optional<T> of(PyObject* object, const char* what) {
    if (object == Py_None) return std::nullopt;
    return From<T>::of(object, what);
  }
};

/// An enum by the name of its value.
template <class E>
requires std::is_enum_v<E>
struct From<E> {
  static bool fits(PyObject* object) noexcept { return PyUnicode_Check(object) != 0; }
  static E of(PyObject* object, const char* what) {
    const std::string name = text_of(object, what);
    std::string known;
    int value = 0;
    for (const std::string_view candidate : NamesOf<E>::names) {
      if (candidate == name) return static_cast<E>(value);
      known += (value++ == 0 ? "'" : ", '") + std::string(candidate) + "'";
    }
    raise(PyExc_ValueError, std::string(what) + " is '" + name + "'; there are " + known);
  }
};

}  // namespace tenure::python
