#include "tenure/graph/run/observed_run.h"

#include <atomic>

namespace tenure::graph {

std::uint64_t next_executable() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tenure::graph
