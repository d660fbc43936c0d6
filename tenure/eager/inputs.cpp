#include "tenure/eager/inputs.h"

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/scalar_tensor.h"

namespace tenure::eager {

Inputs::Inputs(const ops::OpRecord& op, std::span<const Operand> operands)
    : size_(operands.size()) {
  if (size_ > kFew) {
    many_pins_ = std::make_unique<Pin[]>(size_);
    many_views_ = std::make_unique<ops::View[]>(size_);
    pins_ = many_pins_.get();
    views_ = many_views_.get();
  }
  const char* const name = ops::called_name(op);
  CallDevice device(name);
  for (std::size_t i = 0; i < size_; ++i) {
    const Operand& operand = operands[i];
    if (operand.is_scalar()) {
      made_.push_back(ops::scalar_tensor(operand.scalar(), name, operand.site()));
    }
    const Tensor& tensor = operand.is_scalar() ? made_.back() : operand.tensor();
    TensorBody& body = tensor.body(name, operand.site());
    pins_[i].take(body, name, operand.site());
    if (!operand.is_scalar()) device.add(body);
    new (&views_[i]) ops::View{
        .dtype = body.dtype, .shape = body.shape, .strides = body.strides, .data = pins_[i].data()};
  }
  device_ = device.get();
}

bool Inputs::can_reuse(std::size_t i, const Operand& operand, DType dtype,
                       const Shape& shape) const {
  return operand.may_consume() && is_reusable(body(i), *storage(i), dtype, shape);
}

bool is_reusable(const TensorBody& body, const mem::Storage& storage, DType dtype,
                 const Shape& shape) {
  return size_of(body.dtype) == size_of(dtype) && body.shape == shape &&
         can_take_over(body, storage, static_cast<std::size_t>(count(shape)) * size_of(dtype));
}

}  // namespace tenure::eager
