#include <cmath>
#include <limits>

#include "tenure/kernels/cuda/random/random_arguments.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/random/attributes.h"
#include "tenure/ops/random/domain.h"
#include "tenure/ops/random/philox.h"
#include "tenure/tensor/host.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kThreads = 256;
constexpr const char* kFile = "tenure/kernels/cuda/random/random.cu";
const std::vector<Types> kFloats{DType::float16, DType::bfloat16, DType::float32, DType::float64};

const TypedKernel kUniform{kFile, "uniform", "RandomArguments", kThreads, kFloats};
const TypedKernel kNormal{kFile, "normal", "RandomArguments", kThreads, kFloats};
const TypedKernel kBernoulli{
    kFile,
    "bernoulli",
    "RandomArguments",
    kThreads,
    {DType::boolean, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
     DType::float16, DType::bfloat16, DType::float32, DType::float64}};
const TypedKernel kRandint{kFile,
                           "randint",
                           "RandomArguments",
                           kThreads,
                           {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64}};
const TypedKernel kDropout{kFile, "dropout", "DropoutArguments", kThreads, kFloats};

RandomArguments arguments_of(const Kernel& k) {
  const ops::PhiloxStream stream = ops::stream_of(k.attributes);
  RandomArguments arguments{};
  arguments.out = k.out[0].data;
  arguments.n = k.out[0].count();
  arguments.seed = stream.seed;
  arguments.counter = stream.offset;
  return arguments;
}
void launch(const Kernel& k, const TypedKernel& kernel, const RandomArguments& arguments) {
  if (Gpu* const gpu = gpu_of(k); gpu != nullptr && arguments.n > 0) {
    gpu->launch(k.op, kernel, k.out[0].dtype, grid_over((arguments.n + 1) / 2, kThreads),
                arguments);
  }
}

/// The largest number of a type of floats below `value`, which that holds.
double last_below(DType dtype, double value) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  double below = value;
  // Numbers of a type are further apart than those of float64: the next one down, rounded, is the
  // one that is sought or one too high.
  const auto rounded = [&](double x) {
    switch (dtype) {
      case DType::float16:
        return static_cast<double>(static_cast<float>(round_to<Half>(x)));
      case DType::bfloat16:
        return static_cast<double>(static_cast<float>(round_to<BFloat16>(x)));
      case DType::float32:
        return static_cast<double>(static_cast<float>(x));
      default:
        return x;
    }
  };
  // Steps grow until they reach another number.
  for (double step = std::nextafter(value, kLowest); !(below < value);) {
    below = rounded(step);
    const double distance = value - step;
    step = value - 2 * distance;
  }
  return below;
}

struct UniformSlot {
  static void run(const Kernel& k) {
    const double low = k.attributes.number(ops::UniformAttributes::low);
    const double high = k.attributes.number(ops::UniformAttributes::high);
    ops::check_uniform(k.out[0].dtype, low, high);
    RandomArguments arguments = arguments_of(k);
    arguments.first = low;
    arguments.second = high - low;
    arguments.last = low == high ? low : last_below(k.out[0].dtype, high);
    launch(k, kUniform, arguments);
  }
};

struct NormalSlot {
  static void run(const Kernel& k) {
    RandomArguments arguments = arguments_of(k);
    arguments.first = k.attributes.number(ops::NormalAttributes::mean);
    arguments.second = k.attributes.number(ops::NormalAttributes::deviation);
    ops::check_normal(k.out[0].dtype, arguments.second);
    launch(k, kNormal, arguments);
  }
};

struct BernoulliSlot {
  static void run(const Kernel& k) {
    const double p = k.attributes.number(ops::BernoulliAttributes::probability);
    ops::check_bernoulli(p);
    RandomArguments arguments = arguments_of(k);
    arguments.width = static_cast<std::uint64_t>(std::llround(p * 0x1p32));
    launch(k, kBernoulli, arguments);
  }
};

struct RandintSlot {
  static void run(const Kernel& k) {
    const std::int64_t low = k.attributes.integer(ops::RandintAttributes::low);
    const std::int64_t high = k.attributes.integer(ops::RandintAttributes::high);
    ops::check_randint(k.out[0].dtype, low, high);
    RandomArguments arguments = arguments_of(k);
    arguments.low = static_cast<std::uint64_t>(low);
    arguments.width = static_cast<std::uint64_t>(high) - arguments.low;
    launch(k, kRandint, arguments);
  }
};

/// Each step needs the last one: the host does it, and nothing waits.
struct PermutationSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const std::size_t bytes = static_cast<std::size_t>(k.out[0].count()) * size_of(k.out[0].dtype);
    const HostMemory room(bytes);
    View out = k.out[0];
    out.data = room.data();
    ops::kernel_of(*ops::find_op(k.op), cpu)
        .run({.op = k.op, .in = {}, .out = {&out, 1}, .attributes = k.attributes});
    gpu->write(k.out[0].data, room.data(), bytes);
  }
};

/// The seed and the first counter, which the call was given as its last attributes.
struct RandomKeySlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const std::int64_t key[] = {k.attributes.integer(ops::RandomKeyAttributes::key),
                                k.attributes.integer(ops::RandomKeyAttributes::counter)};
    gpu->write(k.out[0].data, key, sizeof key);
  }
};

struct DropoutSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const double p = k.attributes.number(ops::DropoutAttributes::probability);
    const double limit = std::round(std::ldexp(p, 32));
    const bool all = limit >= 0x1p32;
    const DropoutArguments arguments{.x = flat_view(k.in[0]),
                                     .key = flat_view(k.in[1]),
                                     .out = k.out[0].data,
                                     .n = k.out[0].count(),
                                     .threshold = all ? 0 : static_cast<std::uint32_t>(limit),
                                     .scale = all ? 0.0 : 1 / (1 - p)};
    gpu->launch(k.op, kDropout, k.in[0].dtype, grid_over((arguments.n + 3) / 4, kThreads),
                arguments);
  }
};

}  // namespace

Family random_family() {
  return {{row<UniformSlot>("uniform"), row<NormalSlot>("normal"), row<BernoulliSlot>("bernoulli"),
           row<RandintSlot>("randint"), row<PermutationSlot>("permutation"),
           row<RandomKeySlot>("random_key"), row<DropoutSlot>("dropout")},
          {&kUniform, &kNormal, &kBernoulli, &kRandint, &kDropout}};
}

}  // namespace tenure::kernels::cuda
