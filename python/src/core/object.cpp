#include "python/src/core/object.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tenure::python {
namespace {

// Note: objects that the library lets go
//
// A tensor may lie in memory of a Python object: an array, a DLPack capsule. The library lets it go
// on whatever thread drops the last holder, and nobody may wait for the interpreter's lock there:
// a thread that has it may be waiting for the library. So the object goes on a list, and the
// interpreter is asked to come by; who drops a tensor for Python empties the list right after that.
// The list's own lock is held for a push or a swap, by threads that wait for nothing meanwhile.
struct Released {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> is_asked = false;  // something is on it
};
Released& released() {
  static auto* const list = new Released;  // outlives what static objects let go
  return *list;
}

int release_all(void* /*unused*/) {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(released().mutex);
    objects.swap(released().objects);
    released().is_asked.store(false);
  }
  for (PyObject* const object : objects) Py_DECREF(object);
  return 0;
}

}  // namespace

void release_later(PyObject* object) noexcept {
  if (Py_IsInitialized() == 0) return;
  bool ask = false;
  {
    const std::lock_guard lock(released().mutex);
    released().objects.push_back(object);
    ask = !released().is_asked.exchange(true);
  }
  // Python's queue may be full: then release_waiting() finds it.
  if (ask) Py_AddPendingCall(release_all, nullptr);
}

void release_waiting() noexcept {
  if (released().is_asked.load(std::memory_order_relaxed)) release_all(nullptr);
}

struct PythonError::State {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;

  State() noexcept { PyErr_Fetch(&type, &value, &traceback); }
  ~State() {
    const WithLock lock;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

PythonError::PythonError() : state_(std::make_shared<const State>()) {}

void PythonError::restore() const noexcept {
  PyErr_Restore(Py_XNewRef(state_->type), Py_XNewRef(state_->value), Py_XNewRef(state_->traceback));
}

void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw PythonError();
}

Ref text(const std::string& value) {
  return checked(
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

std::string text_of(PyObject* object, const char* what) {
  if (PyUnicode_Check(object) == 0) {
    raise(PyExc_TypeError, std::string(what) + " must be a str, not " + type_name(object));
  }
  Py_ssize_t size = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(object, &size);
  if (characters == nullptr) throw PythonError();
  return {characters, static_cast<std::size_t>(size)};
}

std::string type_name(PyObject* object) {
  if (object == Py_None) return "None";
  return Py_TYPE(object)->tp_name;
}

}  // namespace tenure::python
