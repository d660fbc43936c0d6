#include "tenure/ops/core/call_context.h"

namespace tenure::ops {

constinit thread_local CallContext context_of_thread;

}  // namespace tenure::ops
