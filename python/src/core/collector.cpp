#include "python/src/core/collector.h"

#include <unordered_map>

namespace tenure::python {
namespace {

/// By object of C++'s: what it holds of Python's.
std::unordered_map<const void*, PyObject*>& shown() {
  static auto* const all = new std::unordered_map<const void*, PyObject*>;
  return *all;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  if (instance->has_patients) {
    const auto& patients = py::detail::get_internals().patients;
    if (const auto found = patients.find(self); found != patients.end()) {
      for (PyObject* const patient : found->second) Py_VISIT(patient);
    }
  }
  // nullptr before __init__() and while it ends
  const void* const object = instance->get_value_and_holder().value_ptr();
  if (const auto found = shown().find(object); found != shown().end()) Py_VISIT(found->second);
  return 0;
}

void end(PyObject* self) {
  PyObject_GC_UnTrack(self);  // pybind11 2.10 does not
  reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base)->tp_dealloc(self);
}

}  // namespace

py::custom_type_setup seen_by_collector() {
  return py::custom_type_setup([](PyHeapTypeObject* type) {
    type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type->ht_type.tp_traverse = traverse;
    type->ht_type.tp_dealloc = end;
  });
}

void show_to_collector(const void* object, PyObject* held) { shown()[object] = held; }
void hide_from_collector(const void* object) noexcept { shown().erase(object); }

}  // namespace tenure::python
