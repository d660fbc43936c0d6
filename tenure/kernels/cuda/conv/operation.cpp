#include <cstdint>
#include <vector>

#include "tenure/kernels/cuda/conv/operation-inl.h"

namespace tenure::kernels::cuda {
namespace {

using Axis = ops::Convolution::Axis;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kAligned = 16;

cudnnDataType_t library_type(DType type) {
  switch (type) {
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::float32:
      return CUDNN_DATA_FLOAT;
    default:
      return CUDNN_DATA_DOUBLE;
  }
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
  const Numbers padding = of_axes(c, &Axis::padding);
  Descriptor made(device, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           conv.type == DType::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           static_cast<std::int64_t>(padding.size()));
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, of_axes(c, &Axis::dilation));
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, of_axes(c, &Axis::stride));
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
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

}  // namespace

std::optional<ConvOperation> conv_operation(Device device, cudnnHandle_t handle,
                                            const LibraryConv& conv) {
  const ops::Convolution& c = conv.sizes;
  const cudnnDataType_t type = library_type(conv.type);
  const Words& words = words_of(conv.part);
  ConvOperation made{
      .images = tensor(device, type, kConvImages, c.batch, c.in_channels, of_axes(c, &Axis::in)),
      .weights = tensor(device, type, kConvWeights, c.out_channels, c.in_channels / c.groups,
                        of_axes(c, &Axis::kernel)),
      .results =
          tensor(device, type, kConvResults, c.batch, c.out_channels, of_axes(c, &Axis::out)),
      .geometry = geometry(device, conv),
      .operation = Descriptor(device, words.operation),
      .graph = Descriptor(device, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)};
  if (!made.images.finish() || !made.weights.finish() || !made.results.finish() ||
      !made.geometry.finish()) {
    return std::nullopt;
  }
  made.operation.set(words.images, made.images);
  made.operation.set(words.weights, made.weights);
  made.operation.set(words.results, made.results);
  made.operation.set(words.geometry, made.geometry);
  const auto scale = [&](cudnnBackendAttributeName_t name, double value) {
    if (conv.type == DType::float64) return made.operation.set(name, CUDNN_TYPE_DOUBLE, value);
    made.operation.set(name, CUDNN_TYPE_FLOAT, static_cast<float>(value));
  };
  scale(words.alpha, 1);
  scale(words.beta, 0);
  if (!made.operation.finish()) return std::nullopt;
  made.graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  made.graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, made.operation);
  if (!made.graph.finish()) return std::nullopt;
  return made;
}

}  // namespace tenure::kernels::cuda
