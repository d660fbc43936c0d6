#include "tenure/io/library_memory.h"

#include "tenure/memory/holders/storage.h"
#include "tenure/memory/scope.h"

namespace tenure::io {
namespace {

/// In front of each block: the storage it lies in.
constexpr std::size_t kFront = mem::kAlignment;
static_assert(kFront >= sizeof(mem::Storage*));

}  // namespace

void* LibraryMemory::allocate(std::size_t bytes) noexcept {
  try {
    mem::ThreadContext& context = mem::this_thread();
    const mem::CategoryGuard category(context, Category::workspace);
    mem::Storage* const storage = mem::Storage::allocate(context, cpu, kFront + bytes);
    *static_cast<mem::Storage**>(storage->data()) = storage;
    return static_cast<std::byte*>(storage->data()) + kFront;
  } catch (...) {
    refusal_ = std::current_exception();
    return nullptr;
  }
}

void LibraryMemory::free(void* memory) noexcept {
  if (memory == nullptr) return;
  (*reinterpret_cast<mem::Storage**>(static_cast<std::byte*>(memory) - kFront))->release();
}

}  // namespace tenure::io
