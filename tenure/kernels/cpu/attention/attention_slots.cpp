#include "tenure/kernels/cpu/attention/attention.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/nn/attention.h"
#include "tenure/ops/nn/attributes.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

Attention attention_of(const Kernel& k, std::size_t inputs_before_mask) {
  return {.scale = ops::scale_of(k.attributes, k.in[0].shape.back()),
          .causal = k.attributes.flag(ops::AttentionAttributes::causal),
          .mask = ops::mask_behind(k, inputs_before_mask)};
}

struct AttentionSlot {
  static std::size_t workspace(const Kernel& k) {
    return attention_workspace(attention_of(k, 3), k.in[0], k.in[1], k.in[2], k.out[0]);
  }
  static void run(const Kernel& k) {
    attention(attention_of(k, 3), k.in[0], k.in[1], k.in[2], k.out[0], k.workspace);
  }
};

struct AttentionGradientSlot {
  static AttentionGradients outputs_of(const Kernel& k) { return {k.out[0], k.out[1], k.out[2]}; }
  static std::size_t workspace(const Kernel& k) {
    return attention_gradient_workspace(attention_of(k, 4), k.in[0], k.in[1], k.in[2], k.in[3],
                                        outputs_of(k));
  }
  static void run(const Kernel& k) {
    attention_gradient(attention_of(k, 4), k.in[0], k.in[1], k.in[2], k.in[3], outputs_of(k),
                       k.workspace);
  }
};

}  // namespace

std::vector<KernelRow> attention_kernels() {
  return {kernel_row<AttentionSlot>("attention"),
          kernel_row<AttentionGradientSlot>("attention_gradient")};
}

}  // namespace tenure::kernels
