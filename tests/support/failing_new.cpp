#include "tests/support/failing_new.h"

#include <cstdlib>
#include <new>

namespace {

constinit thread_local std::int64_t left = -1;  // calls until one fails; -1: none does

bool fails_now() noexcept {
  if (left < 0) return false;
  return left-- == 0;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails_now()) return nullptr;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = take(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return take_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return take_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tenure::test {

FailingNew::FailingNew(std::int64_t n) { left = n - 1; }
FailingNew::~FailingNew() { left = -1; }
bool FailingNew::fired() const { return left == -1; }

}  // namespace tenure::test
