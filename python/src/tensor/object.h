#pragma once

#include <new>
#include <span>
#include <utility>

#include "python/src/core/object.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

/// What Python sees of a tensor: a handle in a Python object. The object ends when Python's last
/// reference goes, and the handle with it.
struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* weak_references;
};

extern PyTypeObject tensor_type;

inline bool is_tensor(PyObject* object) noexcept { return Py_TYPE(object) == &tensor_type; }
inline Tensor& tensor_of(PyObject* object) noexcept {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}
/// Raises TypeError that says what `what` must be.
Tensor& tensor_of(PyObject* object, const char* what);

/// None for an empty handle.
inline Ref wrap(Tensor tensor) {
  if (!tensor.defined()) return Ref::to(Py_None);
  auto* const object = PyObject_New(TensorObject, &tensor_type);
  if (object == nullptr) throw PythonError();
  new (&object->tensor) Tensor(std::move(tensor));
  object->weak_references = nullptr;
  return Ref::take(reinterpret_cast<PyObject*>(object));
}

/// A list of them. In type.cpp.
Ref wrap_all(std::span<const Tensor> tensors);

/// Whether it may be computed in: nobody else can ask for it, not even by a weak reference.
inline bool has_weak_references(PyObject* object) noexcept {
  return reinterpret_cast<TensorObject*>(object)->weak_references != nullptr;
}

/// Adds the type to the module. In type.cpp.
void add_tensor_type(PyObject* module);

/// For the slots of the type, which operators.cpp and indexing.cpp fill.
extern PyNumberMethods tensor_operators;
extern PyMappingMethods tensor_indexing;
extern PySequenceMethods tensor_sequence;
PyObject* compare_tensors(PyObject* a, PyObject* b, int comparison);
/// An iterator over the first axis.
PyObject* iterate_tensor(PyObject* self);

}  // namespace tenure::python
