#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/norm/norm.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/norm.h"

namespace tenure::kernels {
namespace {

using ops::Attributes;
using ops::Kernel;

// Attributes of row norms: how many dimensions, and epsilon.

Normalization rows_of(const char* op, const Shape& x, const Attributes& a, bool rms) {
  const std::int64_t columns = count(ops::normalized_shape(op, x, a));
  return {.rows = columns == 0 ? 0 : count(x) / columns,
          .columns = columns,
          .epsilon = a.number(ops::RowNormAttributes::epsilon),
          .rms = rms};
}

template <bool rms>
struct RowNormSlot {
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(compute_type(k.in[0].dtype), k.in, k.out);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const void* const weight = k.in.size() > 1 ? staging.read(k.in[1]).data : nullptr;
    const void* const bias = k.in.size() > 2 ? staging.read(k.in[2]).data : nullptr;
    const View y = staging.write(k.out[0]);
    normalize_rows(rows_of(k.op, k.in[0].shape, k.attributes, rms), type, x.data, weight, bias,
                   y.data);
    staging.finish(y, k.out[0]);
  }
};

template <bool rms>
struct RowNormGradientSlot {
  static Normalization rows(const Kernel& k) {
    return rows_of(k.op, k.in[1].shape, k.attributes, rms);
  }
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    return staged_bytes(type, k.in, k.out) + normalize_rows_gradient_workspace(rows(k), type);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View dy = staging.read(k.in[0]);
    const View x = staging.read(k.in[1]);
    const void* const weight = k.in.size() > 2 ? staging.read(k.in[2]).data : nullptr;
    const View dx = staging.write(k.out[0]);
    const View dweight = staging.write(k.out[1]);
    const View dbias = rms ? View{} : staging.write(k.out[rms ? 1 : 2]);
    normalize_rows_gradient(rows(k), type, dy.data, x.data, weight, dx.data, dweight.data,
                            dbias.data, staging.rest());
    staging.finish(dx, k.out[0]);
    staging.finish(dweight, k.out[1]);
    if constexpr (!rms) staging.finish(dbias, k.out[2]);
  }
};

// Normalization over all dimensions but the last; attribute: epsilon.

Normalization columns_of(const Shape& x, const Attributes& a) {
  return {.rows = x.back() == 0 ? 0 : count(x) / x.back(),
          .columns = x.back(),
          .epsilon = a.number(ops::BatchNormAttributes::epsilon)};
}

struct ColumnNormSlot {
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    return staged_bytes(type, k.in, k.out) +
           normalize_columns_workspace(columns_of(k.in[0].shape, k.attributes), type);
  }
};

struct BatchNormSlot : ColumnNormSlot {
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View weight = staging.read(k.in[1]);
    const View bias = staging.read(k.in[2]);
    const View y = staging.write(k.out[0]);
    const View mean = staging.write(k.out[1]);
    const View variance = staging.write(k.out[2]);
    normalize_columns(columns_of(k.in[0].shape, k.attributes), type, x.data, weight.data, bias.data,
                      y.data, mean.data, variance.data, staging.rest());
    staging.finish(y, k.out[0]);
    staging.finish(mean, k.out[1]);
    staging.finish(variance, k.out[2]);
  }
};

struct BatchNormGradientSlot : ColumnNormSlot {
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View dy = staging.read(k.in[0]);
    const View x = staging.read(k.in[1]);
    const View weight = staging.read(k.in[2]);
    const View dx = staging.write(k.out[0]);
    const View dweight = staging.write(k.out[1]);
    const View dbias = staging.write(k.out[2]);
    normalize_columns_gradient(columns_of(k.in[0].shape, k.attributes), type, dy.data, x.data,
                               weight.data, dx.data, dweight.data, dbias.data, staging.rest());
    staging.finish(dx, k.out[0]);
    staging.finish(dweight, k.out[1]);
    staging.finish(dbias, k.out[2]);
  }
};

}  // namespace

std::vector<KernelRow> norm_kernels() {
  return {kernel_row<RowNormSlot<false>>("layer_norm"),
          kernel_row<RowNormGradientSlot<false>>("layer_norm_gradient"),
          kernel_row<RowNormSlot<true>>("rms_norm"),
          kernel_row<RowNormGradientSlot<true>>("rms_norm_gradient"),
          kernel_row<BatchNormSlot>("batch_norm"),
          kernel_row<BatchNormGradientSlot>("batch_norm_gradient")};
}

}  // namespace tenure::kernels
