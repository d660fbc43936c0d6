#pragma once

#include <memory>

#include "python/src/core/bind.h"

namespace tenure::python {

/// For the definition of a class: Python's collector sees what its objects keep alive, the patients
/// of py::keep_alive and what visible() was told of. Who else is in a cycle breaks it: objects of
/// Python's classes, functions, cells.
py::custom_type_setup seen_by_collector();

void show_to_collector(const void* object, PyObject* held);
void hide_from_collector(const void* object) noexcept;

/// `made`, which has one reference to `held` that only the object in Python is for.
template <class T>
std::shared_ptr<T> visible(std::shared_ptr<T> made, const py::object& held) {
  show_to_collector(made.get(), held.ptr());
  T* const object = made.get();
  return {object, [made = std::move(made)](T* ending) mutable {
            hide_from_collector(ending);
            made.reset();
          }};
}

}  // namespace tenure::python
