#pragma once

#include <cstddef>
#include <exception>

namespace tenure::io {

/// Memory for a C library out of Tenure's pool, so that the ledger and budgets see it: in the
/// category workspace. Blocks must be freed before it ends.
class LibraryMemory {
 public:
  LibraryMemory() = default;
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  /// nullptr where a budget or the system refuses; the refusal is kept.
  void* allocate(std::size_t bytes) noexcept;
  static void free(void* memory) noexcept;
  /// Throws the OutOfMemory that the library was told of as a nullptr, if there is one.
  void rethrow_refusal() const {
    if (refusal_ != nullptr) std::rethrow_exception(refusal_);
  }

 private:
  std::exception_ptr refusal_;
};

}  // namespace tenure::io
