#include "tenure/kernels/cuda/attention/attention_arguments.h"
#include "tenure/kernels/cuda/attention/tiled_attention.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/attention.h"
#include "tenure/ops/nn/attributes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

// As the kernels have them.
constexpr std::uint32_t kAttentionThreads = 256;
constexpr std::int64_t kRowsOfBlock = 32;
constexpr std::int64_t kColumnsOfBlock = 64;
constexpr std::size_t kFacts = 3;

TypedKernel attention_kernel(const char* function) {
  return {"tenure/kernels/cuda/attention/attention.cu",
          function,
          "AttentionArguments",
          kAttentionThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
const TypedKernel kAttend = attention_kernel("attend");
const TypedKernel kFactsOf = attention_kernel("attention_facts");
const TypedKernel kQueryGradient = attention_kernel("attention_query_gradient");
const TypedKernel kKeyGradient = attention_kernel("attention_key_gradient");
const TypedKernel kValueGradient = attention_kernel("attention_value_gradient");

AttentionMatrix attention_matrix(const View& view) {
  const int rank = view.shape.size();
  return {.data = view.data,
          .row = rank < 2 ? 0 : view.strides[rank - 2],
          .column = view.strides[rank - 1]};
}

AttentionArguments attention_arguments(const Kernel& k, const View* gradient, const View* mask) {
  const View& q = k.in[0];
  const int rank = q.shape.size();
  AttentionArguments a{};
  a.q = attention_matrix(q);
  a.k = attention_matrix(k.in[1]);
  a.v = attention_matrix(k.in[2]);
  a.n = q.shape[rank - 2];
  a.m = k.in[1].shape[rank - 2];
  a.d = q.shape.back();
  a.e = k.in[2].shape.back();
  a.causal = k.attributes.flag(ops::AttentionAttributes::causal) ? 1 : 0;
  a.scale = ops::scale_of(k.attributes, a.d);
  const Strides nothing = Strides::filled(rank, 0);
  const Strides* of_gradient = &nothing;
  if (gradient != nullptr) {
    a.gradient = attention_matrix(*gradient);
    of_gradient = &gradient->strides;
  }
  Strides of_mask = nothing;
  if (mask != nullptr) {
    Shape scores = q.shape;
    scores[rank - 1] = a.m;
    of_mask = broadcast_strides(mask->shape, mask->strides, scores);
    a.mask = {.data = mask->data, .row = of_mask[rank - 2], .column = of_mask[rank - 1]};
    a.mask_kind = mask->dtype == DType::boolean ? 1 : 2;
  }
  a.heads = no_loops(5);
  add_loops(a.heads, q.shape, 0, rank - 2,
            {&q.strides, &k.in[1].strides, &k.in[2].strides, of_gradient, &of_mask});
  return a;
}

Grid blocks_over(const AttentionArguments& a, std::int64_t rows, std::int64_t columns) {
  const std::int64_t blocks = (rows + kRowsOfBlock - 1) / kRowsOfBlock *
                              ((columns + kColumnsOfBlock - 1) / kColumnsOfBlock) * a.heads.count;
  return grid_over(blocks * kAttentionThreads, kAttentionThreads);
}

struct AttentionSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    AttentionArguments a = attention_arguments(k, nullptr, ops::mask_behind(k, 3));
    a.out = k.out[0].data;
    if (attend_by_tiles(*gpu, k, a)) return;
    gpu->launch(k.op, kAttend, k.in[0].dtype, blocks_over(a, a.n, a.e), a);
  }
};

struct AttentionGradientSlot {
  static std::size_t workspace(const Kernel& k) {
    Shape queries = k.in[0].shape;
    queries.erase(queries.size() - 1);
    return static_cast<std::size_t>(tenure::count(queries)) * kFacts *
           size_of(ops::compute_type(k.in[0].dtype));
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    AttentionArguments a = attention_arguments(k, &k.in[3], ops::mask_behind(k, 4));
    a.facts = k.workspace.data();
    if (attention_gradient_by_tiles(*gpu, k, a)) return;
    const DType type = k.in[0].dtype;
    if (a.n > 0 && a.heads.count > 0) {
      gpu->launch(k.op, kFactsOf, type, blocks_over(a, a.n, 1), a);
    }
    const auto launch = [&](const TypedKernel& kernel, const View& out, std::int64_t rows,
                            std::int64_t columns) {
      if (out.count() == 0) return;
      a.out = out.data;
      gpu->launch(k.op, kernel, type, blocks_over(a, rows, columns), a);
    };
    launch(kQueryGradient, k.out[0], a.n, a.d);
    launch(kKeyGradient, k.out[1], a.m, a.d);
    launch(kValueGradient, k.out[2], a.m, a.e);
  }
};

}  // namespace

Family attention_family() {
  Family family{{row<AttentionSlot>("attention"), row<AttentionGradientSlot>("attention_gradient")},
                {&kAttend, &kFactsOf, &kQueryGradient, &kKeyGradient, &kValueGradient}};
  for (const TypedKernel* const kernel : kernels_of_tiles()) family.kernels.push_back(kernel);
  return family;
}

}  // namespace tenure::kernels::cuda
