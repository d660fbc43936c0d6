#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "python/src/core/object.h"
#include "tenure/ops/core/operand.h"

namespace tenure::python {

// What Python passes for numbers, element types, sizes and devices. Each raises TypeError or
// ValueError that begins with `what`, the argument's name.

/// An int, or what has __index__; not a bool.
bool is_integer(PyObject* object) noexcept;
std::int64_t integer_of(PyObject* object, const char* what);
/// An int, a float, or what has __float__ and is no sequence.
bool is_number(PyObject* object) noexcept;
double number_of(PyObject* object, const char* what);
bool boolean_of(PyObject* object, const char* what);
/// A bool, an int or a float, Python's or NumPy's. Nothing for any other object.
std::optional<Scalar> scalar_of(PyObject* object);
Scalar scalar_of(PyObject* object, const char* what);

/// A list or tuple of ints.
bool is_integers(PyObject* object) noexcept;
std::vector<std::int64_t> integers_of(PyObject* object, const char* what);
/// The same in a tensor's place: at most eight.
Dims dims_of(PyObject* object, const char* what);
/// One int stands for itself alone.
Dims shape_of(PyObject* object, const char* what);
Ref tuple_of(const std::int64_t* values, int n);

/// A DType, its name, a dtype of NumPy, or bool, int or float of Python.
bool is_dtype(PyObject* object) noexcept;
DType dtype_of(PyObject* object, const char* what);
Ref wrap(DType dtype);
void add_dtypes(PyObject* module);

/// "cpu", "cuda:1"
Device device_of(PyObject* object, const char* what);

/// A number of bytes, or a text: "64 MiB", "1.5 GiB", "4096".
std::size_t bytes_of(PyObject* object, const char* what);

}  // namespace tenure::python
