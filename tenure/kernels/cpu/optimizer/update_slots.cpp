#include <array>

#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/optimizer/update.h"
#include "tenure/kernels/cpu/table.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

/// A number from a tensor without dimensions.
double number_of(const View& view) {
  return visit_dtype(view.dtype,
                     [&]<class T>(TypeTag<T>) { return static_cast<double>(*view.as<const T>()); });
}

/// Updates are of contiguous tensors; others are copied, each in its own type.
std::size_t copy_bytes(const View& view) {
  if (view.contiguous()) return 0;
  return round_up(static_cast<std::size_t>(view.count()) * size_of(view.dtype), 64);
}

template <UpdateRule::Kind kind, auto rule_of>
struct UpdateSlot {
  static constexpr std::size_t kGradient = ops::tensors_of(kind);
  static constexpr std::size_t kRate = kGradient + 1;
  static constexpr std::size_t kStep = kGradient + 2;

  static std::size_t workspace(const Kernel& k) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i <= kGradient; ++i) bytes += copy_bytes(k.in[i]);
    return bytes;
  }
  static void run(const Kernel& k) {
    UpdateRule rule = rule_of(k.attributes);
    rule.rate = number_of(k.in[kRate]);
    if constexpr (kind == UpdateRule::Kind::adam) rule.step = number_of(k.in[kStep]);
    std::array<View, kGradient + 1> in;
    std::byte* room = k.workspace.data();
    for (std::size_t i = 0; i <= kGradient; ++i) {
      in[i] = k.in[i];
      if (in[i].contiguous()) continue;
      in[i] = copy_dense(k.in[i], k.in[i].dtype, room);
      room += copy_bytes(k.in[i]);
    }
    update(rule, in, k.out);
  }
};

}  // namespace

std::vector<KernelRow> update_kernels() {
  using Kind = UpdateRule::Kind;
  return {kernel_row<UpdateSlot<Kind::sgd, ops::sgd_rule>>("sgd_update"),
          kernel_row<UpdateSlot<Kind::momentum, ops::momentum_rule>>("sgd_momentum_update"),
          kernel_row<UpdateSlot<Kind::adam, ops::adam_rule>>("adam_update"),
          kernel_row<UpdateSlot<Kind::rmsprop, ops::rmsprop_rule>>("rmsprop_update"),
          kernel_row<UpdateSlot<Kind::adagrad, ops::adagrad_rule>>("adagrad_update"),
          kernel_row<UpdateSlot<Kind::lion, ops::lion_rule>>("lion_update")};
}

}  // namespace tenure::kernels
