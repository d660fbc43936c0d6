#include "tenure/tensor/share.h"

#include "tenure/memory/threads/call.h"

namespace tenure {

Tensor share(const Tensor& tensor, const char* op, Site site, HolderKind kind) {
  TensorBody& body = tensor.body(op, site);
  return mem::in_call(op, site, [&] {
    const Pin pin(body, op, site);
    pin.storage()->retain();
    return make_tensor(mem::this_thread(), pin.storage(), body.dtype, body.shape, body.strides,
                       body.offset, op, site, kind);
  });
}

}  // namespace tenure
