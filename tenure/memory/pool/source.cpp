#include "tenure/memory/pool/source.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenure/base/units.h"
#include "tenure/memory/pool/reserve.h"

namespace tenure::mem {
namespace {

/// Transparent huge pages need their own alignment.
constexpr std::size_t kHugePage = 2 * MiB;

/// What the machine has. Some systems promise more than that, and end the process that believes it.
std::size_t memory_of_machine() noexcept {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return std::numeric_limits<std::size_t>::max();
  return (static_cast<std::size_t>(info.totalram) + info.totalswap) * info.mem_unit;
}

class SystemSource final : public Source {
 public:
  void* map(std::size_t bytes) noexcept override {
    if (bytes > memory_of_machine()) return nullptr;
    void* const raw = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(raw);
    const std::size_t skip = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
    if (skip > 0) munmap(begin, skip);
    munmap(begin + skip + bytes, kHugePage - skip);
    madvise(begin + skip, bytes, MADV_HUGEPAGE);
    fill_reserve();
    return begin + skip;
  }
  void unmap(void* begin, std::size_t bytes) noexcept override { munmap(begin, bytes); }
  bool purge(void* begin, std::size_t bytes) noexcept override {
    madvise(begin, bytes, MADV_DONTNEED);
    return true;
  }
  std::size_t granularity() const noexcept override { return 4096; }
  bool is_host() const noexcept override { return true; }
};

}  // namespace

Source& system_source() noexcept {
  // Neither made nor destroyed: storages may outlive all that is static.
  static_assert(std::is_trivially_destructible_v<SystemSource>);
  static constinit SystemSource source;
  return source;
}

}  // namespace tenure::mem
