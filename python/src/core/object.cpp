#include "python/src/core/object.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "python/src/core/library_call.h"
#include "tenure/base/error.h"

namespace tenure::python {
namespace {

// Note: objects that the library lets go
//
// A tensor may lie in memory of a Python object: an array, a DLPack capsule. The library lets it go
// on whatever thread drops the last holder, and nobody may wait for the interpreter's lock there:
// a thread that has it may be waiting for the library. So the object goes on a list, and the
// interpreter is asked to come by; who drops a tensor for Python empties the list right after that.
// The list has no lock, so that a child of fork finds none that a thread of its parent had.
struct Released {
  PyObject* object;
  Released* next;
};
std::atomic<Released*> released = nullptr;

int release_all(void* /*unused*/) {
  Released* node = released.exchange(nullptr);
  while (node != nullptr) {
    Py_DECREF(node->object);
    delete std::exchange(node, node->next);
  }
  return 0;
}

// Note: the end of the interpreter
//
// A thread that asks for the interpreter's lock when that ends is ended by it, in the middle of
// C++: the process would abort. So before the interpreter ends, those go on who have asked, and
// whoever asks later stays there until the process ends. A thread of the library is told by an
// error, as somebody may wait for it, and the end waits until none of those is in Python. The
// thread that ends the interpreter goes on.
std::atomic<bool> is_ending = false;
std::atomic<int> busy = 0;  // threads that ask for the lock, and those of the library in Python
std::atomic<unsigned long> ending_thread = 0;
thread_local bool is_in_library_call = false;

bool comes_too_late() noexcept { return is_ending && PyThread_get_thread_ident() != ending_thread; }

}  // namespace

void begin_asking() noexcept {
  ++busy;
  if (is_in_library_call || !comes_too_late()) return;
  --busy;
  while (true) pause();
}
void end_asking() noexcept { --busy; }

LibraryCall::LibraryCall()
    : counts_(!is_in_library_call && PyGILState_GetThisThreadState() == nullptr) {
  if (!counts_) return;
  ++busy;
  if (comes_too_late()) {
    --busy;
    throw ValueError("Python has ended, and its function cannot be called");
  }
  is_in_library_call = true;
}
LibraryCall::~LibraryCall() {
  if (!counts_) return;
  is_in_library_call = false;
  --busy;
}

void let_threads_end() noexcept {
  ending_thread = PyThread_get_thread_ident();
  is_ending = true;
  PyThreadState* const state = PyEval_SaveThread();
  while (busy > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

void prepare_for_forks() {
  // A child has none of those threads.
  pthread_atfork(nullptr, nullptr, [] { busy = 0; });
}

void release_later(PyObject* object) noexcept {
  if (Py_IsInitialized() == 0) return;
  auto* const node = new (std::nothrow) Released{object, released.load()};
  if (node == nullptr) return;  // it stays
  while (!released.compare_exchange_weak(node->next, node)) {
  }
  // Python's queue may be full: then release_waiting() finds it.
  if (node->next == nullptr) Py_AddPendingCall(release_all, nullptr);
}

void release_waiting() noexcept {
  if (released.load(std::memory_order_relaxed) != nullptr) release_all(nullptr);
}

struct PythonError::State {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;

  State() noexcept { PyErr_Fetch(&type, &value, &traceback); }
  ~State() {
    if (comes_too_late()) return;
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
  // What Python's users call its own classes has no path; tp_name has it of what is built in.
  const std::string_view name = Py_TYPE(object)->tp_name;
  return std::string(name.starts_with("tenure.") ? name.substr(name.rfind('.') + 1) : name);
}

}  // namespace tenure::python
