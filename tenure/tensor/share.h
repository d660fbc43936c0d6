#pragma once

#include "tenure/tensor/tensor.h"

namespace tenure {

/// A tensor of its own on the data of `tensor`: another holder, of kind `kind`. Throws
/// EmptyTensorError, DisposedError or OutOfMemory in the name of `op`, which has static storage
/// duration.
Tensor share(const Tensor& tensor, const char* op, Site site, HolderKind kind);

}  // namespace tenure
