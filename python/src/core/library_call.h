#pragma once

namespace tenure::python {

/// While it lives, a thread of the library may be in Python, and the interpreter does not end: for
/// functions that such threads call, before WithLock. Throws ValueError if it has ended. On threads
/// of Python's it does nothing. In object.cpp is a Note.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

 private:
  bool counts_;
};

}  // namespace tenure::python
