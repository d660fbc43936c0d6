#pragma once

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"

namespace tenure::test {

/// While it lives, no loop joins the kernel of an op: the device cannot.
class WithoutFusing {
 public:
  explicit WithoutFusing(const char* op, Device device = default_device())
      : record_(*ops::find_op(op)),
        device_(device),
        slot_(ops::kernel_of(record_, device)),
        plain_(slot_) {
    plain_.fusing = nullptr;
    record_.kernels.set(device_, plain_);
  }
  ~WithoutFusing() { record_.kernels.set(device_, slot_); }
  WithoutFusing(const WithoutFusing&) = delete;
  WithoutFusing& operator=(const WithoutFusing&) = delete;

 private:
  const ops::OpRecord& record_;
  const Device device_;
  const ops::KernelSlot& slot_;
  ops::KernelSlot plain_;
};

}  // namespace tenure::test
