#include "tenure/kernels/cuda/conv/library_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/conv/descriptor-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {

class LibraryPlan {
 public:
  Descriptor configuration;
  Descriptor plan;
};

namespace {

using Axis = ops::Convolution::Axis;
using Numbers = std::vector<std::int64_t>;

/// Names of operands.
constexpr std::int64_t kImages = 1;
constexpr std::int64_t kWeights = 2;
constexpr std::int64_t kResults = 3;
constexpr std::int64_t kAligned = 16;

std::optional<cudnnDataType_t> library_type(DType type) {
  switch (type) {
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::float32:
      return CUDNN_DATA_FLOAT;
    case DType::float64:
      return CUDNN_DATA_DOUBLE;
    default:
      return std::nullopt;
  }
}

/// Padding behind the last element with which there are `out` results. That before the first one,
/// if it is one: the library knows more ways for what is the same on both sides.
std::optional<std::int64_t> padding_behind(const Axis& axis) {
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  const auto gives_out = [&](std::int64_t behind) {
    const std::int64_t room = axis.in + axis.padding + behind - reach;
    return room >= 0 && room / axis.stride + 1 == axis.out;
  };
  const std::int64_t needed = (axis.out - 1) * axis.stride + reach - axis.in - axis.padding;
  for (const std::int64_t behind : {axis.padding, std::max<std::int64_t>(needed, 0)}) {
    if (gives_out(behind)) return behind;
  }
  return std::nullopt;
}

/// A member of each spatial axis; the first one is left out where it does nothing.
Numbers of_axes(const ops::Convolution& c, std::int64_t Axis::*member) {
  const Axis& z = c.axes[0];
  const bool is_flat = z.in == 1 && z.out == 1 && z.kernel == 1 && z.padding == 0;
  Numbers numbers;
  for (std::size_t d = is_flat ? 1 : 0; d < 3; ++d) numbers.push_back(c.axes[d].*member);
  return numbers;
}

/// The library names dimensions in the order of channels first, however they lie.
Descriptor tensor(Device device, cudnnDataType_t type, std::int64_t name, std::int64_t first,
                  std::int64_t channels, const Numbers& spatial) {
  Numbers sizes{first, channels};
  sizes.insert(sizes.end(), spatial.begin(), spatial.end());
  Numbers strides(sizes.size());
  strides[1] = 1;
  std::int64_t step = channels;
  for (std::size_t d = sizes.size() - 1; d > 1; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  strides[0] = step;
  Descriptor made(device, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAligned);
  return made;
}

Descriptor geometry(Device device, const LibraryConv& conv) {
  const ops::Convolution& c = conv.sizes;
  const Numbers before = of_axes(c, &Axis::padding);
  Numbers behind;
  for (std::size_t d = 3 - before.size(); d < 3; ++d) {
    behind.push_back(padding_behind(c.axes[d]).value());
  }
  Descriptor made(device, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           conv.type == DType::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           static_cast<std::int64_t>(before.size()));
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, of_axes(c, &Axis::dilation));
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, of_axes(c, &Axis::stride));
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before);
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, behind);
  return made;
}

/// What the three operations call their attributes.
struct Words {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t images, weights, results, geometry, alpha, beta;
};
constexpr Words kForward{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr Words kImagesGradient{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
constexpr Words kWeightsGradient{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

const Words& words_of(ConvPart part) {
  switch (part) {
    case ConvPart::results:
      return kForward;
    case ConvPart::images_gradient:
      return kImagesGradient;
    case ConvPart::weights_gradient:
      break;
  }
  return kWeightsGradient;
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
  if (type == DType::float32 &&
      engine.has_note(kNumerical, CUDNN_TYPE_NUMERICAL_NOTE, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE})) {
    return false;
  }
  return !engine.has_note(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                          {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION});
}

/// All that a plan depends on.
using Key = std::array<std::int64_t, 25>;

Key key_of(const LibraryConv& conv, std::size_t workspace) {
  const ops::Convolution& c = conv.sizes;
  Key key{static_cast<std::int64_t>(conv.part),
          static_cast<std::int64_t>(conv.type),
          static_cast<std::int64_t>(workspace),
          c.batch,
          c.in_channels,
          c.out_channels,
          c.groups};
  std::size_t at = 7;
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
    require_cudnn(gpu_.device(), cudnn().functions.cudnnSetStream(handle_, gpu_.stream()),
                  "use the GPU's queue");
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

  void run(const LibraryPlan& plan, std::array<void*, 3> operands, void* workspace) {
    constexpr std::array kNames{kImages, kWeights, kResults};
    gpu_.enter();
    Descriptor pack(gpu_.device(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.put(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, operands.size(),
             operands.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kNames);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    static_cast<void>(pack.finish());
    const std::lock_guard lock(mutex_);
    require_cudnn(gpu_.device(),
                  cudnn().functions.cudnnBackendExecute(handle_, plan.plan.handle(), pack.handle()),
                  "compute a convolution");
  }

 private:
  std::shared_ptr<const LibraryPlan> find(const LibraryConv& conv, std::size_t workspace) const {
    const Device device = gpu_.device();
    const ops::Convolution& c = conv.sizes;
    const cudnnDataType_t type = *library_type(conv.type);
    Descriptor images =
        tensor(device, type, kImages, c.batch, c.in_channels, of_axes(c, &Axis::in));
    Descriptor weights = tensor(device, type, kWeights, c.out_channels, c.in_channels / c.groups,
                                of_axes(c, &Axis::kernel));
    Descriptor results =
        tensor(device, type, kResults, c.batch, c.out_channels, of_axes(c, &Axis::out));
    Descriptor shape = geometry(device, conv);
    if (!images.finish() || !weights.finish() || !results.finish() || !shape.finish()) {
      return nullptr;
    }
    const Words& words = words_of(conv.part);
    Descriptor operation(device, words.operation);
    operation.set(words.images, images);
    operation.set(words.weights, weights);
    operation.set(words.results, results);
    operation.set(words.geometry, shape);
    const bool is_wide = conv.type == DType::float64;
    const auto scale = [&](cudnnBackendAttributeName_t name, double value) {
      if (is_wide) return operation.set(name, CUDNN_TYPE_DOUBLE, value);
      operation.set(name, CUDNN_TYPE_FLOAT, static_cast<float>(value));
    };
    scale(words.alpha, 1);
    scale(words.beta, 0);
    if (!operation.finish()) return nullptr;
    Descriptor graph(device, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    if (!graph.finish()) return nullptr;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      if (auto plan = best(graph, mode, conv.type, workspace)) return plan;
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
  return library_type(conv.type) && least > 0 && most <= kMost && padding_behind(c.axes[0]) &&
         padding_behind(c.axes[1]) && padding_behind(c.axes[2]) && cudnn().library.is_usable();
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

void cudnn_run(Gpu& gpu, const LibraryPlan& plan, void* images, void* weights, void* results,
               std::span<std::byte> workspace) {
  convs_on(gpu).run(plan, {images, weights, results}, workspace.data());
}

}  // namespace tenure::kernels::cuda
