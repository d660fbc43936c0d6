#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <utility>

#include "python/src/core/bind.h"

namespace tenure::python {

/// Text that goes to a callable of Python's when it is flushed. An Exception that it raises is
/// lost, as a stream has no other way: who tells of progress must not end the work. Ctrl-C and what
/// else is none is kept for the training: see signals.h.
class PythonBuffer : public std::streambuf {
 public:
  explicit PythonBuffer(py::function write) : write_(std::move(write)) {}

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize n) override;
  int sync() override;

  py::function write_;
  std::string text_;
};

/// A stream of C++'s into one.
class PythonStream {
 public:
  explicit PythonStream(py::function write) : buffer_(std::move(write)), out_(&buffer_) {}
  std::ostream& out() { return out_; }

 private:
  PythonBuffer buffer_;
  std::ostream out_;
};

/// Makes it known to Python.
void add_stream(Module& module);

}  // namespace tenure::python
