#pragma once

#include "tenure/kernels/cuda/conv/conv_arguments.h"
#include "tenure/kernels/cuda/products/tile.cuh"

// Convolutions as products of matrices that are never there: their elements are looked up where the
// images and weights lie. Each sum has an order of its own, which does not depend on the batch.

namespace tenure::kernels::cuda {

/// A position of an image, or a place of a kernel.
struct Spot {
  std::int64_t at[3];
};

inline Spot spot_of(std::int64_t i, const std::int64_t (&size)[3]) {
  Spot spot;
  spot.at[2] = i % size[2];
  i /= size[2];
  spot.at[1] = i % size[1];
  spot.at[0] = i / size[1];
  return spot;
}

/// The position of the image that a place of the kernel meets at a result; false: in the padding.
inline bool meets(const ConvArguments& a, const Spot& result, const Spot& tap, Spot& image) {
  bool is_inside = true;
  for (int d = 0; d < 3; ++d) {
    image.at[d] = result.at[d] * a.stride[d] - a.padding[d] + tap.at[d] * a.dilation[d];
    is_inside = is_inside && image.at[d] >= 0 && image.at[d] < a.in[d];
  }
  return is_inside;
}

/// The result in which a place of the kernel met a position of the image; false: there is none.
inline bool met_by(const ConvArguments& a, const Spot& image, const Spot& tap, Spot& result) {
  bool is_inside = true;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t from = image.at[d] + a.padding[d] - tap.at[d] * a.dilation[d];
    result.at[d] = from / a.stride[d];
    is_inside =
        is_inside && from >= 0 && result.at[d] * a.stride[d] == from && result.at[d] < a.out[d];
  }
  return is_inside;
}

template <class T>
inline T* element_at(const ConvOperand& operand, std::int64_t image, const Spot& spot,
                     std::int64_t channel) {
  const std::int64_t(&s)[5] = operand.strides;
  return static_cast<T*>(operand.data) + image * s[0] + spot.at[0] * s[1] + spot.at[1] * s[2] +
         spot.at[2] * s[3] + channel * s[4];
}
template <class T>
inline T* weight_at(const ConvOperand& weights, const Spot& tap, std::int64_t in,
                    std::int64_t out) {
  const std::int64_t(&s)[5] = weights.strides;
  return static_cast<T*>(weights.data) + tap.at[0] * s[0] + tap.at[1] * s[1] + tap.at[2] * s[2] +
         in * s[3] + out * s[4];
}

inline std::int64_t volume(const std::int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }

/// Calls `f(group, row, column)` for the tiles that this block computes.
template <class F>
inline void for_each_tile(std::int64_t groups, std::int64_t rows, std::int64_t columns,
                          const F& f) {
  const std::int64_t across = (columns + kTile - 1) / kTile;
  const std::int64_t down = (rows + kTile - 1) / kTile;
  for (std::int64_t i = blockIdx.x; i < across * down * groups; i += gridDim.x) {
    f(i / (across * down), i / across % down * kTile, i % across * kTile);
  }
}

template <class T>
inline void convolve(const ConvArguments& a) {
  using Sum = Compute<T>;
  const std::int64_t results = volume(a.out);
  const std::int64_t rows = a.batch * results;
  const std::int64_t depth = volume(a.kernel) * a.in_channels;
  for_each_tile(
      a.groups, rows, a.out_channels,
      [&](std::int64_t group, std::int64_t row, std::int64_t column) {
        multiply_tile<Sum>(
            row, column, rows, a.out_channels, 0, depth, true, false,
            [](std::int64_t, std::int64_t) { return Sum(0); },
            [&](std::int64_t i, std::int64_t k) {
              Spot image;
              const Spot result = spot_of(i % results, a.out);
              const Spot tap = spot_of(k / a.in_channels, a.kernel);
              if (!meets(a, result, tap, image)) return Sum(0);
              const std::int64_t channel = group * a.in_channels + k % a.in_channels;
              return static_cast<Sum>(*element_at<const T>(a.x, i / results, image, channel));
            },
            [&](std::int64_t k, std::int64_t j) {
              const Spot tap = spot_of(k / a.in_channels, a.kernel);
              return static_cast<Sum>(*weight_at<const T>(a.weights, tap, k % a.in_channels,
                                                          group * a.out_channels + j));
            },
            [&](std::int64_t i, std::int64_t j, Sum sum) {
              const std::int64_t channel = group * a.out_channels + j;
              if (a.bias != nullptr) {
                sum += static_cast<Sum>(static_cast<const T*>(a.bias)[channel * a.bias_step]);
              }
              if (a.relu != 0 && sum < 0) sum = 0;
              *element_at<T>(a.y, i / results, spot_of(i % results, a.out), channel) =
                  static_cast<T>(sum);
            });
      });
}

/// What a library leaves to do: results are contiguous.
template <class T>
inline void add_bias(const ConvArguments& a) {
  using Sum = Compute<T>;
  const auto channels = static_cast<std::uint64_t>(a.groups * a.out_channels);
  const std::uint64_t n = static_cast<std::uint64_t>(a.batch * volume(a.out)) * channels;
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    T& result = static_cast<T*>(a.y.data)[i];
    Sum sum = static_cast<Sum>(result);
    if (a.bias != nullptr) {
      const auto channel = static_cast<std::int64_t>(i % channels);
      sum += static_cast<Sum>(static_cast<const T*>(a.bias)[channel * a.bias_step]);
    }
    if (a.relu != 0 && sum < 0) sum = 0;
    result = static_cast<T>(sum);
  }
}

template <class T>
inline void convolve_input_gradient(const ConvArguments& a) {
  using Sum = Compute<T>;
  const std::int64_t positions = volume(a.in);
  const std::int64_t rows = a.batch * positions;
  const std::int64_t depth = volume(a.kernel) * a.out_channels;
  for_each_tile(
      a.groups, rows, a.in_channels,
      [&](std::int64_t group, std::int64_t row, std::int64_t column) {
        multiply_tile<Sum>(
            row, column, rows, a.in_channels, 0, depth, true, true,
            [](std::int64_t, std::int64_t) { return Sum(0); },
            [&](std::int64_t i, std::int64_t k) {
              Spot result;
              const Spot image = spot_of(i % positions, a.in);
              const Spot tap = spot_of(k / a.out_channels, a.kernel);
              if (!met_by(a, image, tap, result)) return Sum(0);
              const std::int64_t channel = group * a.out_channels + k % a.out_channels;
              return static_cast<Sum>(*element_at<const T>(a.y, i / positions, result, channel));
            },
            [&](std::int64_t k, std::int64_t j) {
              const Spot tap = spot_of(k / a.out_channels, a.kernel);
              const std::int64_t channel = group * a.out_channels + k % a.out_channels;
              return static_cast<Sum>(*weight_at<const T>(a.weights, tap, j, channel));
            },
            [&](std::int64_t i, std::int64_t j, Sum sum) {
              *element_at<T>(a.x, i / positions, spot_of(i % positions, a.in),
                             group * a.in_channels + j) = static_cast<T>(sum);
            });
      });
}

/// Of the whole batch, or of each image by itself.
template <class T>
inline void convolve_weight_gradient(const ConvArguments& a) {
  using Sum = Compute<T>;
  const std::int64_t results = volume(a.out);
  const std::int64_t rows = volume(a.kernel) * a.in_channels;
  const std::int64_t columns = a.groups * a.out_channels;
  const bool is_apart = a.sums != nullptr;
  const std::int64_t pieces = is_apart ? a.batch : 1;
  for_each_tile(
      a.groups * pieces, rows, a.out_channels,
      [&](std::int64_t which, std::int64_t row, std::int64_t column) {
        const std::int64_t group = which % a.groups;
        const std::int64_t first = which / a.groups;
        const std::int64_t end = is_apart ? first + 1 : a.batch;
        Sum* const sums = static_cast<Sum*>(a.sums) + first * rows * columns;
        const auto weight = [&](std::int64_t i, std::int64_t j) {
          return weight_at<T>(a.weights, spot_of(i / a.in_channels, a.kernel), i % a.in_channels,
                              group * a.out_channels + j);
        };
        multiply_tile<Sum>(
            row, column, rows, a.out_channels, first * results, end * results, false, false,
            [&](std::int64_t i, std::int64_t j) {
              return is_apart || a.adds == 0 ? Sum(0) : static_cast<Sum>(*weight(i, j));
            },
            [&](std::int64_t i, std::int64_t k) {
              Spot image;
              const Spot result = spot_of(k % results, a.out);
              const Spot tap = spot_of(i / a.in_channels, a.kernel);
              if (!meets(a, result, tap, image)) return Sum(0);
              const std::int64_t channel = group * a.in_channels + i % a.in_channels;
              return static_cast<Sum>(*element_at<const T>(a.x, k / results, image, channel));
            },
            [&](std::int64_t k, std::int64_t j) {
              return static_cast<Sum>(*element_at<const T>(
                  a.y, k / results, spot_of(k % results, a.out), group * a.out_channels + j));
            },
            [&](std::int64_t i, std::int64_t j, Sum sum) {
              if (is_apart) {
                sums[i * columns + group * a.out_channels + j] = sum;
              } else {
                *weight(i, j) = static_cast<T>(sum);
              }
            });
      });
}

/// The sums of the results of each image, for each channel: 32 of them to a block, with 8 threads
/// each.
template <class T>
inline void convolve_bias_gradient(const ConvArguments& a) {
  using Sum = Compute<T>;
  constexpr int kChannels = 32;
  constexpr int kThreads = 8;
  __shared__ Sum parts[kThreads][kChannels];
  const int lane = static_cast<int>(threadIdx.x) % kChannels;
  const int own = static_cast<int>(threadIdx.x) / kChannels;
  const std::int64_t channels = a.groups * a.out_channels;
  const std::int64_t across = (channels + kChannels - 1) / kChannels;
  const std::int64_t results = volume(a.out);
  for (std::int64_t i = blockIdx.x; i < across * a.batch; i += gridDim.x) {
    const std::int64_t image = i / across;
    const std::int64_t channel = i % across * kChannels + lane;
    Sum sum = 0;
    for (std::int64_t r = own; channel < channels && r < results; r += kThreads) {
      sum += static_cast<Sum>(*element_at<const T>(a.y, image, spot_of(r, a.out), channel));
    }
    parts[own][lane] = sum;
    __syncthreads();
    if (own == 0 && channel < channels) {
      for (int k = 1; k < kThreads; ++k) sum += parts[k][lane];
      static_cast<Sum*>(a.sums)[image * channels + channel] = sum;
    }
    __syncthreads();
  }
}

template <class T>
inline void sum_images(const ImageSumArguments& a) {
  using Sum = Compute<T>;
  const auto n = static_cast<std::uint64_t>(a.n);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    T& out = static_cast<T*>(a.out)[i];
    Sum sum = a.adds != 0 ? static_cast<Sum>(out) : Sum(0);
    for (std::int64_t image = 0; image < a.images; ++image) {
      sum += static_cast<const Sum*>(a.sums)[image * a.n + static_cast<std::int64_t>(i)];
    }
    out = static_cast<T>(sum);
  }
}

}  // namespace tenure::kernels::cuda
