#include "python/src/core/numbers.h"

#include <array>
#include <charconv>
#include <cmath>

#include "python/src/core/sites.h"
#include "tenure/base/units.h"
#include "tenure/kernels/cuda/cuda.h"
#include "tenure/memory/kinds.h"

namespace tenure::python {
namespace {

[[noreturn]] void refuse(PyObject* object, const char* what, const char* wanted) {
  raise(PyExc_TypeError, std::string(what) + " must be " + wanted + ", not " + type_name(object));
}

}  // namespace

bool is_integer(PyObject* object) noexcept {
  return PyLong_CheckExact(object) != 0 ||
         (PyBool_Check(object) == 0 && PyIndex_Check(object) != 0);
}

std::int64_t integer_of(PyObject* object, const char* what) {
  if (!is_integer(object)) refuse(object, what, "an int");
  const Ref number = Ref::take(PyNumber_Index(object));
  if (!number && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();  // a tensor of several elements
    refuse(object, what, "an int");
  }
  if (!number) throw PythonError();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) raise(PyExc_OverflowError, std::string(what) + " does not fit in 64 bits");
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

bool is_number(PyObject* object) noexcept {
  if (PyFloat_Check(object) != 0 || PyLong_Check(object) != 0) return true;
  const PyNumberMethods* const number = Py_TYPE(object)->tp_as_number;
  return number != nullptr && number->nb_float != nullptr && PySequence_Check(object) == 0;
}

double number_of(PyObject* object, const char* what) {
  if (!is_number(object)) refuse(object, what, "a number");
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

bool boolean_of(PyObject* object, const char* what) {
  if (object == Py_True) return true;
  if (object == Py_False) return false;
  // numpy.bool_ is none of Python's.
  if (std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool")) {
    return PyObject_IsTrue(object) == 1;
  }
  refuse(object, what, "True or False");
}

std::optional<Scalar> scalar_of(PyObject* object) {
  if (PyFloat_CheckExact(object) != 0) return Scalar(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object) != 0) return Scalar(object == Py_True);
  // Tensors of other libraries are numbers to Python, also where they have many elements.
  if (PyLong_Check(object) == 0 && PyObject_HasAttrString(object, "__dlpack__") != 0)
    return std::nullopt;
  const bool is_numpy_bool = std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool");
  if (is_numpy_bool) return Scalar(PyObject_IsTrue(object) == 1);
  if (PyLong_Check(object) != 0 || (PyIndex_Check(object) != 0 && PySequence_Check(object) == 0)) {
    const Ref number = checked(PyNumber_Index(object));
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow == 0) return Scalar(static_cast<std::int64_t>(value));
    const unsigned long long large = PyLong_AsUnsignedLongLong(number.get());
    if (PyErr_Occurred() == nullptr) return Scalar(static_cast<std::uint64_t>(large));
    PyErr_Clear();
    raise(PyExc_OverflowError, "an int of more than 64 bits is no element of any type");
  }
  if (PyFloat_Check(object) != 0 || is_number(object)) {
    return Scalar(number_of(object, "a number"));
  }
  return std::nullopt;
}

Scalar scalar_of(PyObject* object, const char* what) {
  if (const std::optional<Scalar> scalar = scalar_of(object)) return *scalar;
  refuse(object, what, "a number");
}

bool is_integers(PyObject* object) noexcept {
  return PyList_Check(object) != 0 || PyTuple_Check(object) != 0;
}

std::vector<std::int64_t> integers_of(PyObject* object, const char* what) {
  if (!is_integers(object)) refuse(object, what, "a list or tuple of ints");
  const Ref items = checked(PySequence_Fast(object, ""));
  std::vector<std::int64_t> values;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    values.push_back(integer_of(PySequence_Fast_GET_ITEM(items.get(), i), what));
  }
  return values;
}

Dims dims_of(PyObject* object, const char* what) {
  const std::vector<std::int64_t> values = integers_of(object, what);
  return Dims(std::span(values));
}

Dims shape_of(PyObject* object, const char* what) {
  if (is_integer(object)) return Dims{integer_of(object, what)};
  return dims_of(object, what);
}

Ref tuple_of(const std::int64_t* values, int n) {
  Ref tuple = checked(PyTuple_New(n));
  for (int i = 0; i < n; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, checked(PyLong_FromLongLong(values[i])).release());
  }
  return tuple;
}

Device device_of(PyObject* object, const char* what) {
  return device_named(text_of(object, what), caller());
}

std::size_t bytes_of(PyObject* object, const char* what) {
  if (is_integer(object)) {
    const std::int64_t value = integer_of(object, what);
    if (value < 0) raise(PyExc_ValueError, std::string(what) + " must not be negative");
    return static_cast<std::size_t>(value);
  }
  if (PyUnicode_Check(object) == 0) refuse(object, what, "an int or a text such as \"64 MiB\"");
  const std::string given = text_of(object, what);
  double value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  std::string unit(end, given.data() + given.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                 : unit.find_first_not_of(' '));
  constexpr std::pair<std::string_view, double> units[] = {
      {"", 1},         {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"TiB", 0x1p40}, {"kB", 1e3}, {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9}};
  for (const auto& [name, factor] : units) {
    const double bytes = value * factor;
    if (error == std::errc() && unit == name && bytes >= 0 && bytes < 0x1p63) {
      return static_cast<std::size_t>(std::llround(bytes));
    }
  }
  raise(PyExc_ValueError, std::string(what) + ": '" + given + "' is no size; \"64 MiB\" is");
}

}  // namespace tenure::python
