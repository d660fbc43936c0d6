#include "tenure/ops/shape/meet.h"

#include "tenure/ops/core/recorder.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

bool is_everywhere(const TensorBody& body) noexcept {
  return body.device() == cpu && body.shape.size() == 0 && body.symbol() == nullptr;
}

class Meeting {
 public:
  void add(const TensorBody* body) {
    if (body == nullptr) return;
    if (is_everywhere(*body)) {
      has_numbers_ = true;
    } else if (!place_) {
      place_ = body->device();
    } else if (*place_ != body->device()) {
      is_apart_ = true;
    }
  }
  std::optional<Device> place() const {
    return has_numbers_ && !is_apart_ && place_ && *place_ != cpu ? place_ : std::nullopt;
  }

 private:
  std::optional<Device> place_;
  bool has_numbers_ = false;
  bool is_apart_ = false;
};

}  // namespace

std::optional<Device> meeting_place(std::span<const Operand> operands) {
  Meeting meeting;
  for (const Operand& operand : operands) {
    if (!operand.is_scalar()) meeting.add(operand.tensor().body_or_null());
  }
  return meeting.place();
}

std::optional<Device> meeting_place(std::span<const Tensor> tensors) {
  Meeting meeting;
  for (const Tensor& tensor : tensors) meeting.add(tensor.body_or_null());
  return meeting.place();
}

Tensor brought_to(const Tensor& tensor, Device device, Site site) {
  const TensorBody* const body = tensor.body_or_null();
  if (body == nullptr || !is_everywhere(*body)) return tensor;
  const TraceScope now(nullptr);
  return copy_to(Operand(tensor, site), device);
}

}  // namespace tenure::ops
