#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#if PY_VERSION_HEX < 0x030A0000  // CPython 3.9
inline PyObject* Py_NewRef(PyObject* object) {
  Py_INCREF(object);
  return object;
}
inline PyObject* Py_XNewRef(PyObject* object) {
  Py_XINCREF(object);
  return object;
}
inline int PyModule_AddObjectRef(PyObject* module, const char* name, PyObject* object) {
  Py_XINCREF(object);
  const int status = PyModule_AddObject(module, name, object);
  if (status < 0) Py_XDECREF(object);
  return status;
}
#endif

namespace tenure::python {

/// A reference to a Python object that this owns, or none.
class Ref {
 public:
  Ref() noexcept = default;
  Ref(const Ref& other) noexcept : object_(Py_XNewRef(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  /// Takes over a reference.
  static Ref take(PyObject* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  /// Adds one.
  static Ref to(PyObject* object) noexcept { return take(Py_XNewRef(object)); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// A Python exception on its way through C++: type, value and traceback survive. Made by a thread
/// that holds the interpreter's lock; it may be copied and end anywhere.
class PythonError : public std::exception {
 public:
  /// Takes the exception that is set.
  PythonError();
  /// Sets it again.
  void restore() const noexcept;
  const char* what() const noexcept override { return "an exception of Python's"; }

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Throws PythonError of a new exception.
[[noreturn]] void raise(PyObject* type, const std::string& text);

/// The object, or what Python has set is thrown.
inline Ref checked(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return Ref::take(object);
}
inline void check(int status) {
  if (status < 0) throw PythonError();
}

/// A type whose objects are Objects; all else is for the caller to fill in.
template <class Object>
PyTypeObject plain_type(const char* name) {
  PyTypeObject type{};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = name;
  type.tp_basicsize = sizeof(Object);
  return type;
}

Ref text(const std::string& value);
/// Of a str; raises TypeError that says what `what` must be.
std::string text_of(PyObject* object, const char* what);
/// "str", "numpy.ndarray": for messages.
std::string type_name(PyObject* object);

// Around asking for the interpreter's lock: a thread that does so while the interpreter ends stays
// there. In object.cpp is a Note.
void begin_asking() noexcept;
void end_asking() noexcept;
/// For atexit: from here on the interpreter may end, whatever other threads do.
void let_threads_end() noexcept;
/// Once, when the module is made.
void prepare_for_forks();

/// While it lives, this thread does not hold the interpreter's lock.
class WithoutLock {
 public:
  WithoutLock() noexcept : state_(PyEval_SaveThread()) {}
  ~WithoutLock() {
    begin_asking();
    PyEval_RestoreThread(state_);
    end_asking();
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

/// While it lives, this thread holds it.
class WithLock {
 public:
  WithLock() noexcept {
    begin_asking();
    state_ = PyGILState_Ensure();
    end_asking();
  }
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Gives up a reference from anywhere, also from threads without the lock and from within the
/// ledger: it goes with the next release_waiting(), or when the interpreter next comes to a safe
/// point, and stays if that has ended.
void release_later(PyObject* object) noexcept;
/// Lets go what waits; for who has the interpreter's lock and is done with the library.
void release_waiting() noexcept;

}  // namespace tenure::python
