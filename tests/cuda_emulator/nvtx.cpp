#include <mutex>
#include <string>

// NVTX for the emulated GPU: keeps the names of ranges, as a profiler would.

namespace {

std::mutex mutex;
std::string names;
thread_local int depth = 0;

}  // namespace

extern "C" {

int nvtxRangePushA(const char* name) {
  const std::lock_guard lock(mutex);
  names += name;
  names += '\n';
  return depth++;
}
int nvtxRangePop() { return --depth; }

/// What was pushed so far, and how deep this thread is.
const char* emulated_range_names() { return names.c_str(); }
int emulated_range_depth() { return depth; }
}
