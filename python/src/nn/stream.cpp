#include "python/src/nn/stream.h"

#include "python/src/nn/signals.h"

namespace tenure::python {

PythonBuffer::int_type PythonBuffer::overflow(int_type c) {
  if (c != traits_type::eof()) text_ += static_cast<char>(c);
  return traits_type::not_eof(c);
}

std::streamsize PythonBuffer::xsputn(const char* text, std::streamsize n) {
  text_.append(text, static_cast<std::size_t>(n));
  return n;
}

int PythonBuffer::sync() {
  const WithLock lock;
  const Ref words = Ref::take(PyUnicode_DecodeUTF8(text_.data(), std::ssize(text_), "replace"));
  text_.clear();
  const Ref done = words ? Ref::take(PyObject_CallOneArg(write_.ptr(), words.get())) : Ref();
  if (!done && PyErr_ExceptionMatches(PyExc_Exception) == 0) keep_raised();
  if (!done) PyErr_Clear();
  return 0;
}

void add_stream(Module& module) {
  py::class_<PythonStream>(module, "_Stream").def(py::init<py::function>(), py::arg("write"));
}

}  // namespace tenure::python
