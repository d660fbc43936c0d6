#pragma once

#include "tenure/tensor/tensor.h"

namespace tenure {

/// What somebody who is given a pointer to elements may do with them.
enum class HandedOut { to_read, to_write };

/// The first element of `tensor`, for somebody who goes on to use it when the call is over: a span,
/// an array of NumPy's, a capsule of DLPack's. A Pin alone holds for the call; what a budget that
/// evicts may give up stays where it is from here on. If it may be written to, whatever is computed
/// from it is first computed for good, and the write is noted: from then on nothing is computed
/// again from what may change. Throws DisposedError and OutOfMemory in the name of `call`, which
/// has static storage duration, and then has handed out nothing.
void* hand_out(TensorBody& tensor, HandedOut use, const char* call, Site site);

}  // namespace tenure
