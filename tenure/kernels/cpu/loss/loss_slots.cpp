#include "tenure/kernels/cpu/loss/classes.h"
#include "tenure/kernels/cpu/loss/cross_entropy.h"
#include "tenure/kernels/cpu/loss/pointwise.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"

namespace tenure::kernels {
namespace {

using ops::Attributes;
using ops::Kernel;
using ops::reduction_of;

CrossEntropy cross_entropy_of(const Attributes& a) {
  const tenure::Reduction reduction = reduction_of(a);
  return {.label_smoothing = a.number(ops::CrossEntropyAttributes::label_smoothing),
          .ignore_index = a.integer(ops::CrossEntropyAttributes::ignore_index),
          .reduces = reduction != tenure::Reduction::none,
          .averages = reduction == tenure::Reduction::mean};
}

struct CrossEntropySlot {
  static void run(const Kernel& k) {
    cross_entropy(k.op, cross_entropy_of(k.attributes), k.in[0], k.in[1], k.out[0]);
  }
};

struct CrossEntropyGradientSlot {
  static void run(const Kernel& k) {
    cross_entropy_gradient(k.op, cross_entropy_of(k.attributes), k.in[0], k.in[1], k.in[2],
                           k.out[0]);
  }
};

struct ClassValuesSlot {
  static void run(const Kernel& k) {
    class_values(k.op, k.attributes.integer(ops::ClassValuesAttributes::ignore_index), k.in[0],
                 k.in[1], k.out[0]);
  }
};

template <PointwiseLoss kind>
struct PointwiseSlot {
  static void run(const Kernel& k) {
    const tenure::Reduction reduction = reduction_of(k.attributes);
    pointwise_loss(kind, ops::parameter_of(k.attributes), k.in[0], k.in[1],
                   reduction != tenure::Reduction::none, ops::scale_of(reduction, k.in[0].count()),
                   k.out[0]);
  }
};

template <PointwiseLoss kind>
struct PointwiseGradientSlot {
  static void run(const Kernel& k) {
    pointwise_loss_gradient(kind, ops::parameter_of(k.attributes), k.in[0], k.in[1], k.in[2],
                            ops::scale_of(reduction_of(k.attributes), k.in[0].count()), k.out[0]);
  }
};

}  // namespace

std::vector<KernelRow> loss_kernels() {
  return {kernel_row<CrossEntropySlot>("cross_entropy"),
          kernel_row<CrossEntropyGradientSlot>("cross_entropy_gradient"),
          kernel_row<ClassValuesSlot>("class_values"),
          kernel_row<PointwiseSlot<PointwiseLoss::squared>>("mse_loss"),
          kernel_row<PointwiseSlot<PointwiseLoss::absolute>>("l1_loss"),
          kernel_row<PointwiseSlot<PointwiseLoss::huber>>("huber_loss"),
          kernel_row<PointwiseSlot<PointwiseLoss::binary_cross_entropy>>(
              "binary_cross_entropy_with_logits"),
          kernel_row<PointwiseSlot<PointwiseLoss::probability>>("binary_cross_entropy"),
          kernel_row<PointwiseSlot<PointwiseLoss::divergence>>("kl_divergence"),
          kernel_row<PointwiseGradientSlot<PointwiseLoss::squared>>("mse_loss_gradient"),
          kernel_row<PointwiseGradientSlot<PointwiseLoss::absolute>>("l1_loss_gradient"),
          kernel_row<PointwiseGradientSlot<PointwiseLoss::huber>>("huber_loss_gradient"),
          kernel_row<PointwiseGradientSlot<PointwiseLoss::binary_cross_entropy>>(
              "binary_cross_entropy_with_logits_gradient"),
          kernel_row<PointwiseGradientSlot<PointwiseLoss::probability>>(
              "binary_cross_entropy_gradient"),
          kernel_row<PointwiseGradientSlot<PointwiseLoss::divergence>>("kl_divergence_gradient")};
}

}  // namespace tenure::kernels
