#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tenure/ops/operand.h"
#include "tenure/ops/record.h"

namespace tenure::eager {

/// The tensors of one call, pinned: their data stays while the call runs.
class Inputs {
 public:
  /// Throws EmptyTensorError or DisposedError in the name of `op`. Numbers become tensors.
  Inputs(const ops::OpRecord& op, std::span<const Operand> operands);

  std::size_t size() const { return size_; }
  std::span<const kernels::View> views() const { return {views_data(), size_}; }
  TensorBody& body(std::size_t i) const { return *entries()[i].body; }
  mem::Storage* storage(std::size_t i) const { return entries()[i].pin->storage(); }
  /// Whether an output of this shape and type may be computed in the memory of input i.
  bool can_reuse(std::size_t i, const Operand& operand, DType dtype, const Shape& shape) const;

 private:
  struct Entry {
    TensorBody* body = nullptr;
    Tensor made;  // from a number
    std::optional<Pin> pin;
  };
  static constexpr std::size_t kInline = 4;

  Entry* entries() { return many_.empty() ? few_.data() : many_.data(); }
  const Entry* entries() const { return many_.empty() ? few_.data() : many_.data(); }
  const kernels::View* views_data() const {
    return many_.empty() ? few_views_.data() : many_views_.data();
  }

  std::size_t size_;
  std::array<Entry, kInline> few_;
  std::array<kernels::View, kInline> few_views_;
  std::vector<Entry> many_;
  std::vector<kernels::View> many_views_;
};

/// True when the moved tensor's memory can be computed in: nobody else holds it, and an output of
/// this type and shape has its layout.
bool is_reusable(const TensorBody& body, const mem::Storage& storage, DType dtype,
                 const Shape& shape);

}  // namespace tenure::eager
