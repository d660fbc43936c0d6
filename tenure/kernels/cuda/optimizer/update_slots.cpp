#include <cmath>
#include <string>
#include <vector>

#include "tenure/kernels/cuda/optimizer/update_arguments.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/updates-inl.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kThreads = 256;

std::vector<Types> update_types() {
  return {DType::float16, DType::bfloat16, DType::float32, DType::float64};
}

/// The kernel of update.cu that has the op's name.
template <class Op>
const TypedKernel& update_kernel() {
  static const TypedKernel made{"tenure/kernels/cuda/optimizer/update.cu", Op::name,
                                "UpdateArguments", kThreads, update_types()};
  return made;
}
/// The one for several parameters.
template <class Op>
const TypedKernel& updates_kernel() {
  static const std::string name = std::string(Op::name) + 's';
  static const TypedKernel made{"tenure/kernels/cuda/optimizer/update.cu", name.c_str(),
                                "SeveralUpdates", kThreads, update_types()};
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

  static void run(const Kernel& k) { run_together({&k, 1}); }

  /// Of those that are packed and share what they are updated by, many go in one launch.
  static void run_together(std::span<const Kernel> kernels) {
    SeveralUpdates several{};
    const Kernel* first = nullptr;  // of those in `several`
    const auto launch_several = [&] {
      if (first == nullptr) return;
      const std::uint32_t blocks = several.part[several.parts - 1].end;
      gpu_of(*first)->launch(first->op, updates_kernel<Op>(), first->in[0].dtype,
                             {.blocks = blocks, .threads = kThreads}, several);
      several.parts = 0;
      first = nullptr;
    };
    for (const Kernel& k : kernels) {
      if (gpu_of(k) == nullptr || k.out[0].count() == 0) continue;
      const UpdateArguments one = arguments_of(k);
      const Grid grid = grid_for(k, one);
      if (one.is_packed == 0 || kernels.size() == 1) {
        gpu_of(k)->launch(k.op, update_kernel<Op>(), k.in[0].dtype, grid, one);
        continue;
      }
      const bool fits = first != nullptr && several.parts < SeveralUpdates::kMost &&
                        first->in[0].dtype == k.in[0].dtype && several.numbers == one.numbers;
      if (!fits) launch_several();
      if (first == nullptr) {
        first = &k;
        several.numbers = one.numbers;
      }
      const std::uint32_t begin = several.parts == 0 ? 0 : several.part[several.parts - 1].end;
      several.part[several.parts++] = {.at = one.at, .n = one.n, .end = begin + grid.blocks};
    }
    launch_several();
  }

 private:
  static UpdateArguments arguments_of(const Kernel& k) {
    UpdateArguments arguments{};
    for (std::size_t i = 0; i <= kGradient; ++i) {
      const FlatView view = flat_view(k.in[i]);
      arguments.at.in[i] = view.data;
      arguments.walks[i] = view.walk;
    }
    for (std::size_t i = 0; i < kGradient; ++i) arguments.at.out[i] = k.out[i].data;
    UpdateNumbers& numbers = arguments.numbers;
    numbers.rate = k.in[kRate].data;
    numbers.rate_type = static_cast<std::int32_t>(k.in[kRate].dtype);
    if constexpr (Op::counts_steps) {
      numbers.step = k.in[kRate + 1].data;
      numbers.step_type = static_cast<std::int32_t>(k.in[kRate + 1].dtype);
    }
    numbers.options = options_for_device(ops::options_of<Op>(k.attributes));
    numbers.log_beta1 = parts_of_log(numbers.options.beta1);
    numbers.log_beta2 = parts_of_log(numbers.options.beta2);
    arguments.gradient_type = static_cast<std::int32_t>(k.in[kGradient].dtype);
    arguments.is_packed = is_packed(k, arguments) ? 1 : 0;
    arguments.n = k.out[0].count();
    return arguments;
  }
  static Grid grid_for(const Kernel& k, const UpdateArguments& arguments) {
    const std::int64_t at_once =
        arguments.is_packed != 0 ? strip_size(size_of(ops::widened_type(k.in[0].dtype))) : 1;
    return grid_over((arguments.n + at_once - 1) / at_once, kThreads);
  }
  static bool is_packed(const Kernel& k, const UpdateArguments& arguments) {
    bool packed = k.in[kGradient].dtype == k.in[0].dtype;
    for (std::size_t i = 0; i <= kGradient; ++i) {
      packed = packed && is_aligned(arguments.at.in[i]) && is_side_by_side(arguments.walks[i]);
    }
    for (std::size_t i = 0; i < kGradient; ++i) packed = packed && is_aligned(arguments.at.out[i]);
    return packed;
  }
};

template <class... Ops>
Family family_of(ops::List<Ops...>) {
  return {{row<UpdateSlot<Ops>>(Ops::name)...},
          {&update_kernel<Ops>()..., &updates_kernel<Ops>()...}};
}

}  // namespace

Family update_family() { return family_of(ops::Updates()); }

}  // namespace tenure::kernels::cuda
