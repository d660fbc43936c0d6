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
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const Operand& operand = operands[i];
    if (operand.is_scalar()) {
      ++numbers;
      continue;
    }
    TensorBody& body = operand.tensor().body(name, operand.site());
    pins_[i].take(body, name, operand.site());
    device.add(body);
    write_view(i);
  }
  device_ = device.get();
  if (numbers != 0) add_numbers(name, operands);
}

void Inputs::write_view(std::size_t i) {
  const TensorBody& body = *pins_[i].body();
  new (&views_[i]) ops::View{
      .dtype = body.dtype, .shape = body.shape, .strides = body.strides, .data = pins_[i].data()};
}

void Inputs::add_numbers(const char* name, std::span<const Operand> operands) {
  for (std::size_t i = 0; i < size_; ++i) {
    const Operand& operand = operands[i];
    if (!operand.is_scalar()) continue;
    made_.push_back(ops::scalar_tensor(operand.scalar(), device_, name, operand.site()));
    pins_[i].take(made_.back().body(name), name, operand.site());
    write_view(i);
  }
}

bool Inputs::can_reuse(std::size_t i, const Operand& operand, DType dtype,
                       const Shape& shape) const {
  return operand.may_consume() && is_reusable(body(i), *storage(i), dtype, shape);
}

bool is_reusable(const TensorBody& body, mem::Storage& storage, DType dtype, const Shape& shape) {
  return size_of(body.dtype) == size_of(dtype) && body.shape == shape &&
         can_take_over(body, storage, static_cast<std::size_t>(count(shape)) * size_of(dtype));
}

}  // namespace tenure::eager
