#include "tenure/memory/fault.h"

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"

namespace tenure {

FaultInjection::FaultInjection(std::int64_t n, Site site) try {
  if (n < 1) throw ValueError("FaultInjection: n counts from 1");
  mem::ThreadContext& context = mem::this_thread();
  if ((context.attention & mem::kAttendFault) != 0) {
    throw ValueError("FaultInjection: this thread already has one");
  }
  context.fail_after = n - 1;
  context.attention |= mem::kAttendFault;
} catch (Error& error) {
  mem::name_call(error, "FaultInjection", site);
  throw;
}

FaultInjection::~FaultInjection() {
  mem::ThreadContext& context = mem::this_thread();
  context.fail_after = -1;
  context.attention &= ~mem::kAttendFault;
}

bool FaultInjection::fired() const { return mem::this_thread().fail_after < 0; }

}  // namespace tenure
