#include "tests/support/heap_watch.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own functions, under the names that it keeps for replacements like these.
extern "C" {
void* __libc_malloc(std::size_t bytes);                           // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes);        // NOLINT
void* __libc_realloc(void* block, std::size_t bytes);             // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);  // NOLINT
void __libc_free(void* block);                                    // NOLINT
}

namespace tenure::testing_support {
namespace {

std::atomic<bool> is_counting{false};
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> most_bytes{0};

void count(std::int64_t bytes) {
  const std::int64_t now = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t most = most_bytes.load(std::memory_order_relaxed);
  while (now > most && !most_bytes.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

void* counted(void* block) {
  if (block != nullptr && is_counting.load(std::memory_order_relaxed)) {
    count(static_cast<std::int64_t>(malloc_usable_size(block)));
  }
  return block;
}

void uncount(void* block) {
  if (block == nullptr || !is_counting.load(std::memory_order_relaxed)) return;
  live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(block)),
                       std::memory_order_relaxed);
}

}  // namespace

HeapWatch::HeapWatch() {
  live_bytes = 0;
  most_bytes = 0;
  is_counting = true;
}
HeapWatch::~HeapWatch() { is_counting = false; }
std::int64_t HeapWatch::peak() const { return most_bytes; }
void HeapWatch::reset_peak() { most_bytes = live_bytes.load(); }

}  // namespace tenure::testing_support

extern "C" {

void* malloc(std::size_t bytes) { return tenure::testing_support::counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) {
  return tenure::testing_support::counted(__libc_calloc(count, bytes));
}
void* realloc(void* block, std::size_t bytes) {
  tenure::testing_support::uncount(block);
  void* const moved = __libc_realloc(block, bytes);
  if (moved == nullptr && bytes != 0) {
    tenure::testing_support::counted(block);
    return nullptr;
  }
  return tenure::testing_support::counted(moved);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return tenure::testing_support::counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
void free(void* block) {
  tenure::testing_support::uncount(block);
  __libc_free(block);
}

// glibc's malloc() maps by a name of its own, so that nothing counts twice.
void* mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  void* const mapped =
      reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, access, flags, file, offset));
  if (mapped != MAP_FAILED && tenure::testing_support::is_counting) {
    tenure::testing_support::count(static_cast<std::int64_t>(bytes));
  }
  return mapped;
}
int munmap(void* at, std::size_t bytes) noexcept {
  const auto result = static_cast<int>(syscall(SYS_munmap, at, bytes));
  if (result == 0 && tenure::testing_support::is_counting) {
    tenure::testing_support::live_bytes -= static_cast<std::int64_t>(bytes);
  }
  return result;
}
}
