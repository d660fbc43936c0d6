#include "tenure/memory/pool/reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

namespace tenure::mem {
namespace {

constexpr std::size_t kBytes = std::size_t{512} << 10;

/// Address space that nobody touches, so that it costs no memory but counts in limits of both.
constinit std::atomic<void*> reserve{nullptr};

}  // namespace

void fill_reserve() noexcept {
  if (reserve.load(std::memory_order_relaxed) != nullptr) return;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  void* expected = nullptr;
  if (!reserve.compare_exchange_strong(expected, memory)) munmap(memory, kBytes);
}

void spend_reserve() noexcept {
  if (void* const memory = reserve.exchange(nullptr)) munmap(memory, kBytes);
}

}  // namespace tenure::mem
