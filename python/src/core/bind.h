#pragma once

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "python/src/core/sites.h"
#include "python/src/ops/convert.h"
#include "python/src/tensor/object.h"

// pybind11 serves what is not called for every op: scopes, tapes, graphs, layers. Tensors, element
// types and shapes go through it as everywhere else.

namespace tenure::python {

namespace py = pybind11;

/// What it adds its classes to.
using Module = py::module_;

/// What an object of one of this module's classes has behind it; raises a TypeError that says that
/// `what` must be `kind`.
template <class T>
T& object_of(const py::handle& object, const char* what, const char* kind) {
  if (!py::isinstance<T>(object)) {
    raise(PyExc_TypeError,
          std::string(what) + " must be " + kind + ", not " + type_name(object.ptr()));
  }
  return object.cast<T&>();
}

// Each adds the classes and functions of its file.
void add_generator(Module& module);
void add_memory(Module& module);
void add_lifetimes(Module& module);
void add_variable(Module& module);
void add_tape(Module& module);
void add_function(Module& module);
void add_graph(Module& module);
void add_custom_op(Module& module);
void add_nn(Module& module);

}  // namespace tenure::python

namespace pybind11::detail {

template <>
struct type_caster<tenure::Tensor> {
  PYBIND11_TYPE_CASTER(tenure::Tensor, const_name("Tensor"));

  bool load(handle source, bool /*convert*/) {
    if (!source || source.is_none()) return false;
    try {
      value = tenure::python::From<tenure::Tensor>::of(source.ptr(), "the tensor");
    } catch (const tenure::python::PythonError& error) {
      error.restore();
      if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw error_already_set();
      PyErr_Clear();  // refusals.h names the argument
      return false;
    }
    return true;
  }
  static handle cast(const tenure::Tensor& tensor, return_value_policy /*policy*/,
                     handle /*parent*/) {
    return tenure::python::wrap(tensor).release();
  }
};

template <>
struct type_caster<tenure::DType> {
  PYBIND11_TYPE_CASTER(tenure::DType, const_name("DType"));

  bool load(handle source, bool /*convert*/) {
    if (!source || !tenure::python::is_dtype(source.ptr())) return false;
    try {
      value = tenure::python::dtype_of(source.ptr(), "dtype");
    } catch (const tenure::python::PythonError& error) {
      error.restore();
      throw error_already_set();
    }
    return true;
  }
  static handle cast(tenure::DType dtype, return_value_policy /*policy*/, handle /*parent*/) {
    return tenure::python::wrap(dtype).release();
  }
};

template <>
struct type_caster<tenure::Dims> {
  PYBIND11_TYPE_CASTER(tenure::Dims, const_name("tuple[int, ...]"));

  bool load(handle source, bool /*convert*/) {
    using tenure::python::is_integer;
    using tenure::python::is_integers;
    if (!source || !(is_integer(source.ptr()) || is_integers(source.ptr()))) return false;
    try {
      value = tenure::python::shape_of(source.ptr(), "shape");
    } catch (const tenure::python::PythonError& error) {
      error.restore();
      throw error_already_set();
    }
    return true;
  }
  static handle cast(const tenure::Dims& dims, return_value_policy /*policy*/, handle /*parent*/) {
    return tenure::python::tuple_of(dims.begin(), dims.size()).release();
  }
};

}  // namespace pybind11::detail
