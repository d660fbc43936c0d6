#pragma once

#include "python/src/core/object.h"

namespace tenure::python {

/// Adds a class for each error of Tenure to the module. They are subclasses of TenureError and of
/// what Python's users expect: ShapeError is a ValueError, OutOfMemory a MemoryError.
void add_errors(PyObject* module);

/// Sets Python's exception to the C++ exception that is being handled.
void set_error() noexcept;

/// The class of this name.
PyObject* error_class(const char* name);

/// Runs `f`; what it throws becomes Python's exception.
template <class F>
PyObject* guarded(const F& f) noexcept {
  try {
    return f().release();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
template <class F>
int guarded_status(const F& f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    set_error();
    return -1;
  }
}

}  // namespace tenure::python
