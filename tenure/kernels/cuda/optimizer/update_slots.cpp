#include <cmath>

#include "tenure/kernels/cuda/optimizer/update_arguments.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
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

/// Of 0, what is as good: all its powers are 0, and multiplied by any number of steps it is finite.
PartsOfLog parts_of_log(double x) {
  if (!(x > 0)) return {.high = -1e4, .low = 0};
  const long double log = std::log(static_cast<long double>(x));
  const auto high = static_cast<double>(log);
  return {.high = high, .low = static_cast<double>(log - high)};
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
    arguments.is_packed = is_packed(k, arguments) ? 1 : 0;
    arguments.n = k.out[0].count();
    arguments.options = options_for_device(ops::options_of<Op>(k.attributes));
    arguments.log_beta1 = parts_of_log(arguments.options.beta1);
    arguments.log_beta2 = parts_of_log(arguments.options.beta2);
    const std::int64_t at_once =
        arguments.is_packed != 0 ? strip_size(size_of(ops::widened_type(k.in[0].dtype))) : 1;
    gpu->launch(k.op, update_kernel<Op>(), k.in[0].dtype,
                grid_over((arguments.n + at_once - 1) / at_once, kThreads), arguments);
  }

 private:
  static bool is_packed(const Kernel& k, const UpdateArguments& arguments) {
    bool packed = k.in[kGradient].dtype == k.in[0].dtype;
    for (std::size_t i = 0; i <= kGradient; ++i) {
      packed = packed && is_aligned(arguments.in[i].data) && is_side_by_side(arguments.in[i].walk);
    }
    for (std::size_t i = 0; i < kGradient; ++i) packed = packed && is_aligned(arguments.out[i]);
    return packed;
  }
};

template <class... Ops>
Family family_of(ops::List<Ops...>) {
  return {{row<UpdateSlot<Ops>>(Ops::name)...}, {&update_kernel<Ops>()...}};
}

}  // namespace

Family update_family() { return family_of(ops::Updates()); }

}  // namespace tenure::kernels::cuda
