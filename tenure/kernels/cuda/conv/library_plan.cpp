#include "tenure/kernels/cuda/conv/library_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/conv/operation-inl.h"
#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {

class LibraryPlan {
 public:
  Descriptor configuration;
  Descriptor plan;
};

namespace {

using Axis = ops::Convolution::Axis;

/// Whether padding is the same on both sides. The library's ways for float32 and float64 have been
/// seen to give wrong gradients by weights where it is not.
bool is_even(const Axis& axis) {
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t room = axis.in + 2 * axis.padding - reach;
  return room >= 0 && room / axis.stride + 1 == axis.out;
}

/// Whether an engine adds in one order and rounds nothing on the way, and needs no compiler. One
/// that promises to keep every NaN is slower than our own kernels.
bool is_welcome(const Descriptor& engine, DType type) {
  constexpr auto kNumerical = CUDNN_ATTR_ENGINE_NUMERICAL_NOTE;
  if (engine.has_note(
          kNumerical, CUDNN_TYPE_NUMERICAL_NOTE,
          {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
           CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_FFT,
           CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP})) {
    return false;
  }
  // Tensor cores round float32 to fewer bits, without a note that says so.
  if (type == DType::float32 && !cuda_tf32() &&
      engine.has_note(kNumerical, CUDNN_TYPE_NUMERICAL_NOTE, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE})) {
    return false;
  }
  return !engine.has_note(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                          {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION});
}

/// All that a plan depends on.
using Key = std::array<std::int64_t, 26>;

Key key_of(const LibraryConv& conv, std::size_t workspace) {
  const ops::Convolution& c = conv.sizes;
  Key key{static_cast<std::int64_t>(conv.part),
          static_cast<std::int64_t>(conv.type),
          static_cast<std::int64_t>(workspace),
          c.batch,
          c.in_channels,
          c.out_channels,
          c.groups,
          cuda_tf32() ? 1 : 0};
  std::size_t at = 8;
  for (const Axis& axis : c.axes) {
    for (const std::int64_t number :
         {axis.in, axis.out, axis.kernel, axis.stride, axis.padding, axis.dilation}) {
      key[at++] = number;
    }
  }
  return key;
}

class LibraryConvs {
 public:
  explicit LibraryConvs(Gpu& gpu) : gpu_(gpu) {
    gpu_.enter();
    require_cudnn(gpu_.device(), cudnn().functions.cudnnCreate(&handle_), "begin");
  }

  std::shared_ptr<const LibraryPlan> plan(const LibraryConv& conv, std::size_t workspace) {
    const std::lock_guard lock(mutex_);
    const Key key = key_of(conv, workspace);
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    if (plans_.size() >= kMostPlans) plans_.clear();
    gpu_.enter();
    return plans_.emplace(key, find(conv, workspace)).first->second;
  }

  void run(const char* op, const LibraryPlan& plan, std::array<void*, 3> operands,
           void* workspace) {
    constexpr std::array kNames{kConvImages, kConvWeights, kConvResults};
    gpu_.enter();
    Descriptor pack(gpu_.device(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.put(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, operands.size(),
             operands.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kNames);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    static_cast<void>(pack.finish());
    const std::lock_guard lock(mutex_);
    if (CUstream_st* const stream = gpu_.stream(); stream != stream_) {
      require_cudnn(gpu_.device(), cudnn().functions.cudnnSetStream(handle_, stream),
                    "use the GPU's queue");
      stream_ = stream;
    }
    gpu_.queue(op, [&] {
      require_cudnn(
          gpu_.device(),
          cudnn().functions.cudnnBackendExecute(handle_, plan.plan.handle(), pack.handle()),
          "compute a convolution");
    });
  }

 private:
  std::shared_ptr<const LibraryPlan> find(const LibraryConv& conv, std::size_t workspace) const {
    const std::optional<ConvOperation> told = conv_operation(gpu_.device(), handle_, conv);
    if (!told) return nullptr;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      if (auto plan = best(told->graph, mode, conv.type, workspace)) return plan;
    }
    return nullptr;
  }

  /// The first of those that the library expects to be fast.
  std::shared_ptr<const LibraryPlan> best(const Descriptor& graph, cudnnBackendHeurMode_t mode,
                                          DType type, std::size_t workspace) const {
    const Device device = gpu_.device();
    Descriptor search(device, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    search.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    search.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (!search.finish()) return nullptr;
    for (Descriptor& configuration :
         search.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) {
      const Descriptor engine =
          configuration.part(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      if (!is_welcome(engine, type)) continue;
      Descriptor plan(device, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (!plan.finish()) continue;
      if (plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) >
          static_cast<std::int64_t>(workspace)) {
        continue;
      }
      return std::make_shared<const LibraryPlan>(
          LibraryPlan{std::move(configuration), std::move(plan)});
    }
    return nullptr;
  }

  static constexpr std::size_t kMostPlans = 1024;

  Gpu& gpu_;
  cudnnHandle_t handle_ = nullptr;  // it stays
  CUstream_st* stream_ = nullptr;   ///< where the handle's work goes
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const LibraryPlan>> plans_;
};

/// One for each GPU that is in use, for the process.
LibraryConvs& convs_on(Gpu& gpu) {
  static std::mutex mutex;
  static auto* const made = new std::map<Gpu*, std::unique_ptr<LibraryConvs>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<LibraryConvs>& one = (*made)[&gpu];
  if (one == nullptr) one = std::make_unique<LibraryConvs>(gpu);
  return *one;
}

}  // namespace

bool cudnn_takes(const LibraryConv& conv) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const ops::Convolution& c = conv.sizes;
  const auto [least, most] =
      std::minmax({c.inputs() * c.in_channels, c.outputs() * c.out_channels, c.weights()});
  return is_floating(conv.type) && least > 0 && most <= kMost &&
         std::all_of(c.axes.begin(), c.axes.end(), is_even) && cudnn().library.is_usable();
}

std::size_t cudnn_workspace(const LibraryConv& conv) {
  const ops::Convolution& c = conv.sizes;
  const auto size = static_cast<std::int64_t>(size_of(conv.type));
  const bool is_narrow = is_narrow_float(conv.type);
  // Copies in other layouts: of all operands where there are no tensor cores, else of those whose
  // channels are padded to as many as tensor cores take at once.
  const auto copy = [&](std::int64_t places, std::int64_t channels) {
    constexpr std::int64_t kAtOnce = 8;
    const auto padded = static_cast<std::int64_t>(
        round_up(static_cast<std::size_t>(channels), static_cast<std::size_t>(kAtOnce)));
    if (is_narrow) return padded == channels ? 0 : places * padded * size;
    return conv.part == ConvPart::results ? 0 : places * channels * size;
  };
  const std::int64_t copies = copy(c.inputs(), c.in_channels) + copy(c.outputs(), c.out_channels);
  // Several parts of each sum, up to what the library asks for on a large GPU.
  constexpr std::int64_t kParts = 132;
  constexpr std::int64_t kMostSums = 16 * MiB;
  const std::int64_t parts = conv.part == ConvPart::weights_gradient ? kParts : 2;
  const std::int64_t sums = std::min(parts * 4 * c.weights(), kMostSums);
  return static_cast<std::size_t>(copies + sums + 4 * c.weights() * size);
}

std::shared_ptr<const LibraryPlan> cudnn_plan(Gpu& gpu, const LibraryConv& conv,
                                              std::size_t workspace) {
  return convs_on(gpu).plan(conv, workspace);
}

void cudnn_run(Gpu& gpu, const char* op, const LibraryPlan& plan, void* images, void* weights,
               void* results, std::span<std::byte> workspace) {
  convs_on(gpu).run(op, plan, {images, weights, results}, workspace.data());
}

}  // namespace tenure::kernels::cuda
