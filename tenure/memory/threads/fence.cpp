#include "tenure/memory/threads/fence.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "tenure/base/environment.h"
#endif

namespace tenure::mem {

bool has_asymmetric_fence() noexcept {
#if defined(__linux__)
  enum : int { kUnknown, kNo, kYes };
  static constinit std::atomic<int> answer{kUnknown};  // threads that ask at once get the same
  int known = answer.load(std::memory_order_acquire);
  if (known == kUnknown) {
    const bool registered =
        environment("TENURE_NO_MEMBARRIER") == nullptr &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    known = registered ? kYes : kNo;
    answer.store(known, std::memory_order_release);
  }
  return known == kYes;
#else
  return false;
#endif
}

void heavy_fence() noexcept {
#if defined(__linux__)
  if (has_asymmetric_fence()) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

}  // namespace tenure::mem
