#pragma once

#include <cstddef>

#include "python/src/core/object.h"

namespace tenure::python {

struct FrameData;

/// A frame of the interpreter, without making an object of it where its layout is known (CPython
/// 3.9 to 3.13). The one part of this package that looks behind Python's interface.
class Frame {
 public:
  static Frame running() noexcept;
  Frame outer() const noexcept;
  explicit operator bool() const noexcept { return data_ != nullptr; }

  PyCodeObject* code() const noexcept;
  /// The number of the one that it has come to.
  std::size_t instruction() const noexcept;
  /// The values that it computes with; nullptr where frames are not known.
  PyObject* const* stack() const noexcept;
  bool has_on_stack(PyObject* const* place) const noexcept;

 private:
  FrameData* data_ = nullptr;
};

/// How many instructions a code object has, those that only hold data among them.
std::size_t instructions_of(PyCodeObject* code) noexcept;

}  // namespace tenure::python
