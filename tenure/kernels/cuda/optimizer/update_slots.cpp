#include "tenure/kernels/cuda/optimizer/update_arguments.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/nn/updates-inl.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kThreads = 256;

/// The kernel of update.cu that has the op's name.
template <class Op>
const TypedKernel& update_kernel() {
  static const TypedKernel made{"tenure/kernels/cuda/optimizer/update.cu",
                                Op::name,
                                "UpdateArguments",
                                kThreads,
                                {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
  return made;
}

/// Those that `given` has.
template <class Options>
UpdateOptions options_for_device(const Options& given) {
  UpdateOptions made{};
  if constexpr (requires { given.momentum; }) made.momentum = given.momentum;
  if constexpr (requires { given.dampening; }) made.dampening = given.dampening;
  if constexpr (requires { given.weight_decay; }) made.weight_decay = given.weight_decay;
  if constexpr (requires { given.beta1; }) made.beta1 = given.beta1;
  if constexpr (requires { given.beta2; }) made.beta2 = given.beta2;
  if constexpr (requires { given.alpha; }) made.alpha = given.alpha;
  if constexpr (requires { given.epsilon; }) made.epsilon = given.epsilon;
  if constexpr (requires { given.nesterov; }) made.nesterov = given.nesterov ? 1 : 0;
  if constexpr (requires { given.decoupled; }) made.decoupled = given.decoupled ? 1 : 0;
  return made;
}

template <class Op>
struct UpdateSlot {
  static constexpr std::size_t kGradient = Op::tensors;
  static constexpr std::size_t kRate = kGradient + 1;
  static_assert(Op::tensors <= kMostUpdated);

  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    UpdateArguments arguments{};
    for (std::size_t i = 0; i <= kGradient; ++i) arguments.in[i] = flat_view(k.in[i]);
    for (std::size_t i = 0; i < kGradient; ++i) arguments.out[i] = k.out[i].data;
    arguments.rate = k.in[kRate].data;
    arguments.rate_type = static_cast<std::int32_t>(k.in[kRate].dtype);
    if constexpr (Op::counts_steps) {
      arguments.step = k.in[kRate + 1].data;
      arguments.step_type = static_cast<std::int32_t>(k.in[kRate + 1].dtype);
    }
    arguments.gradient_type = static_cast<std::int32_t>(k.in[kGradient].dtype);
    arguments.own_gradient = k.in[kGradient].dtype == k.in[0].dtype ? 1 : 0;
    arguments.n = k.out[0].count();
    arguments.options = options_for_device(ops::options_of<Op>(k.attributes));
    gpu->launch(k.op, update_kernel<Op>(), k.in[0].dtype, grid_over(arguments.n, kThreads),
                arguments);
  }
};

template <class... Ops>
Family family_of(ops::List<Ops...>) {
  return {{row<UpdateSlot<Ops>>(Ops::name)...}, {&update_kernel<Ops>()...}};
}

}  // namespace

Family update_family() { return family_of(ops::Updates()); }

}  // namespace tenure::kernels::cuda
