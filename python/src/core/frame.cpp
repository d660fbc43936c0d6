#include <Python.h>

// Only of versions that this was proven on. On all others nothing is ever taken for a temporary: a
// count of one is no proof by itself, and 3.14 lets a stack refer to an object that a variable
// holds without counting that, so that an operand with a name may have a count of one.
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#define TENURE_KNOWS_FRAMES 1
#define Py_BUILD_CORE 1
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#include <frameobject.h>
#endif

#include "python/src/core/frame.h"

namespace tenure::python {

std::size_t instructions_of(PyCodeObject* code) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return static_cast<std::size_t>(Py_SIZE(code));
#else
  return static_cast<std::size_t>(PyBytes_GET_SIZE(code->co_code)) / 2;
#endif
}

#ifdef TENURE_KNOWS_FRAMES

struct FrameData : _PyInterpreterFrame {};

namespace {

FrameData* complete(_PyInterpreterFrame* frame) noexcept {
  while (frame != nullptr && _PyFrame_IsIncomplete(frame)) frame = frame->previous;
  return static_cast<FrameData*>(frame);
}

}  // namespace

Frame Frame::running() noexcept {
  Frame frame;
#if PY_VERSION_HEX >= 0x030D0000
  frame.data_ = complete(PyThreadState_GET()->current_frame);
#else
  frame.data_ = complete(PyThreadState_GET()->cframe->current_frame);
#endif
  return frame;
}
Frame Frame::outer() const noexcept {
  Frame frame;
  frame.data_ = complete(data_->previous);
  return frame;
}
PyCodeObject* Frame::code() const noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return _PyFrame_GetCode(data_);
#else
  return data_->f_code;
#endif
}
std::size_t Frame::instruction() const noexcept {
  return static_cast<std::size_t>(_PyInterpreterFrame_LASTI(data_));
}
PyObject* const* Frame::stack() const noexcept { return _PyFrame_Stackbase(data_); }

#elif PY_VERSION_HEX < 0x030B0000

struct FrameData : _frame {};

Frame Frame::running() noexcept {
  Frame frame;
  frame.data_ = static_cast<FrameData*>(PyEval_GetFrame());
  return frame;
}
Frame Frame::outer() const noexcept {
  Frame frame;
  frame.data_ = static_cast<FrameData*>(data_->f_back);
  return frame;
}
PyCodeObject* Frame::code() const noexcept { return data_->f_code; }
std::size_t Frame::instruction() const noexcept {
#if PY_VERSION_HEX >= 0x030A0000
  return static_cast<std::size_t>(data_->f_lasti);
#else
  return static_cast<std::size_t>(data_->f_lasti) / 2;
#endif
}
PyObject* const* Frame::stack() const noexcept { return data_->f_valuestack; }

#else

namespace {

/// A PyFrameObject, borrowed from who has called it or from the thread.
FrameData* borrowed(PyFrameObject* frame) noexcept { return reinterpret_cast<FrameData*>(frame); }

}  // namespace

Frame Frame::running() noexcept {
  Frame frame;
  frame.data_ = borrowed(PyEval_GetFrame());
  return frame;
}
Frame Frame::outer() const noexcept {
  Frame frame;
  PyFrameObject* const back = PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(data_));
  frame.data_ = borrowed(back);
  Py_XDECREF(back);  // the running frame keeps it
  return frame;
}
PyCodeObject* Frame::code() const noexcept {
  PyCodeObject* const code = PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(data_));
  Py_DECREF(code);  // its frame keeps it
  return code;
}
std::size_t Frame::instruction() const noexcept {
  return static_cast<std::size_t>(PyFrame_GetLasti(reinterpret_cast<PyFrameObject*>(data_))) / 2;
}
PyObject* const* Frame::stack() const noexcept { return nullptr; }

#endif

bool Frame::has_on_stack(PyObject* const* place) const noexcept {
  if (data_ == nullptr) return false;
  PyObject* const* const begin = stack();
  return begin != nullptr && place >= begin && place < begin + code()->co_stacksize;
}

}  // namespace tenure::python
