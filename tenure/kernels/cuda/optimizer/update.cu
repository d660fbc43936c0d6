#pragma once

#include "tenure/kernels/cuda/optimizer/update_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"
#include "tenure/ops/nn/update_bodies-inl.h"

namespace tenure::kernels::cuda {

/// A number as bodies see it (ops/elementwise/value_kinds.h), with what updates use.
template <class C>
struct UpdateNumber {
  using Scalar = C;
  C value;

  UpdateNumber() = default;
  UpdateNumber(C number) : value(number) {}
  UpdateNumber(int number) : value(static_cast<C>(number)) {}

  friend UpdateNumber operator+(UpdateNumber a, UpdateNumber b) { return a.value + b.value; }
  friend UpdateNumber operator*(UpdateNumber a, UpdateNumber b) { return a.value * b.value; }
  friend UpdateNumber operator/(UpdateNumber a, UpdateNumber b) { return a.value / b.value; }
  friend bool operator==(UpdateNumber a, UpdateNumber b) { return a.value == b.value; }
  friend UpdateNumber fma(UpdateNumber a, UpdateNumber b, UpdateNumber c) {
    return std::fma(a.value, b.value, c.value);
  }
  friend UpdateNumber sqrt(UpdateNumber a) { return std::sqrt(a.value); }
  friend UpdateNumber select(bool condition, UpdateNumber a, UpdateNumber b) {
    return condition ? a : b;
  }
  friend UpdateNumber copy_sign(UpdateNumber magnitude, UpdateNumber sign) {
    return std::copysign(magnitude.value, sign.value);
  }
};

/// What bodies compute with.
struct DeviceUpdate {
  UpdateOptions options;
  double rate;
  ops::AdamBias bias;
};

/// 1 - beta^step, good also where that is small: a power of few steps of a beta next to 1 is.
inline double rest_of_power(double beta, const PartsOfLog& log, double step) {
  if (beta < 0) return 1 - std::pow(beta, step);
  const double exponent = step * log.high;
  const double rest = std::fma(step, log.high, -exponent) + step * log.low;
  const double less = std::expm1(exponent);
  return -(less + rest * (less + 1));
}

/// The rate and Adam's bias, once for a block, two warps of which have a power each.
inline DeviceUpdate update_of(const UpdateNumbers& a) {
  __shared__ double numbers[3];
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
    const double rate = load_as<double>(a.rate, 0, a.rate_type);
    const double step = a.step == nullptr ? 1 : load_as<double>(a.step, 0, a.step_type);
    if (threadIdx.x == 0) {
      numbers[0] = rate;
      if (a.step != nullptr) {
        numbers[1] = rate / rest_of_power(a.options.beta1, a.log_beta1, step);
      }
    } else if (a.step != nullptr) {
      numbers[2] = 1 / std::sqrt(rest_of_power(a.options.beta2, a.log_beta2, step));
    }
  }
  __syncthreads();
  return {a.options, numbers[0], {numbers[1], numbers[2]}};
}

/// Some elements of all tensors, as they are computed with.
template <class T, int tensors, int size>
struct Elements {
  using C = Compute<T>;
  UpdateNumber<C> x[size][tensors + 1];

  /// Side by side, from element i on.
  void read(const UpdatedTensors& at, std::int64_t i) {
    read_strip<T>(at, 0, i);
#pragma unroll
    for (int k = 1; k < tensors; ++k) read_strip<C>(at, k, i);
    read_strip<T>(at, tensors, i);
  }
  void write(const UpdatedTensors& at, std::int64_t i) const {
    write_strip<T>(at, 0, i);
#pragma unroll
    for (int k = 1; k < tensors; ++k) write_strip<C>(at, k, i);
  }

 private:
  template <class E>
  void read_strip(const UpdatedTensors& at, int tensor, std::int64_t i) {
    const auto strip =
        *reinterpret_cast<const Strip<E, size>*>(static_cast<const E*>(at.in[tensor]) + i);
#pragma unroll
    for (int e = 0; e < size; ++e) x[e][tensor] = static_cast<C>(strip.of[e]);
  }
  template <class E>
  void write_strip(const UpdatedTensors& at, int tensor, std::int64_t i) const {
    Strip<E, size> strip;
#pragma unroll
    for (int e = 0; e < size; ++e) strip.of[e] = convert<E>(x[e][tensor].value);
    *reinterpret_cast<Strip<E, size>*>(static_cast<E*>(at.out[tensor]) + i) = strip;
  }
};

/// An element of all tensors, wherever they lie, of any types.
template <class T, int tensors>
inline void read_element(const UpdateArguments& a, std::int64_t i,
                         Elements<T, tensors, 1>& element) {
  using C = Compute<T>;
  auto& x = element.x[0];
  x[0] = static_cast<C>(static_cast<const T*>(a.at.in[0])[offset_in(a.walks[0], i)]);
#pragma unroll
  for (int k = 1; k < tensors; ++k) {
    x[k] = static_cast<const C*>(a.at.in[k])[offset_in(a.walks[k], i)];
  }
  x[tensors] = load_as<C>(a.at.in[tensors], offset_in(a.walks[tensors], i), a.gradient_type);
}

/// Threads of the grid that share some tensors: this one's place among them, and how many they are.
struct Sharing {
  std::int64_t index;
  std::int64_t threads;
};

/// The first elements that a thread changes of packed tensors, read before anything else: they are
/// on their way while the block finds its numbers.
template <class T, int tensors>
struct PackedElements {
  static constexpr int kSize = strip_size(sizeof(Compute<T>));
  const UpdatedTensors& at;
  const std::int64_t n;
  const Sharing share;
  Elements<T, tensors, kSize> own;

  PackedElements(const UpdatedTensors& at, std::int64_t n, const Sharing& share)
      : at(at), n(n), share(share) {
    if (share.index < n / kSize) own.read(at, share.index * kSize);
  }
  /// `body(update, x)` changes an element of each tensor, x[0] that of the parameter, by the
  /// gradient's, which comes last. Fewer elements than a strip may be left at the end.
  template <class Body>
  void change(const DeviceUpdate& update, Body body) {
    for (std::int64_t strip = share.index; strip < n / kSize; strip += share.threads) {
      if (strip != share.index) own.read(at, strip * kSize);
#pragma unroll
      for (int e = 0; e < kSize; ++e) body(update, own.x[e]);
      own.write(at, strip * kSize);
    }
  }
};

/// One pass over the tensors of a parameter.
template <class T, int tensors, class Body>
inline void update_elements(const UpdateArguments& a, Body body) {
  using Packed = PackedElements<T, tensors>;
  const Sharing share{static_cast<std::int64_t>(thread_index()),
                      static_cast<std::int64_t>(thread_count())};
  Packed packed(a.at, a.is_packed != 0 ? a.n : 0, share);
  const DeviceUpdate update = update_of(a.numbers);
  packed.change(update, body);
  const std::int64_t left = a.is_packed != 0 ? a.n / Packed::kSize * Packed::kSize : 0;
  for (std::int64_t i = left + share.index; i < a.n; i += share.threads) {
    Elements<T, tensors, 1> one;
    read_element(a, i, one);
    body(update, one.x[0]);
    one.write(a.at, i);
  }
}

/// The same over those of several, of which a block has one.
template <class T, int tensors, class Body>
inline void update_several(const SeveralUpdates& a, Body body) {
  using Packed = PackedElements<T, tensors>;
  int p = 0;
  for (int half = 32; half > 0; half /= 2) {
    if (p + half < a.parts && a.part[p + half - 1].end <= blockIdx.x) p += half;
  }
  const SeveralUpdates::Part& part = a.part[p];
  const std::uint32_t first = p == 0 ? 0 : a.part[p - 1].end;
  const Sharing share{static_cast<std::int64_t>(blockIdx.x - first) * blockDim.x + threadIdx.x,
                      static_cast<std::int64_t>(part.end - first) * blockDim.x};
  Packed packed(part.at, part.n, share);
  const DeviceUpdate update = update_of(a.numbers);
  packed.change(update, body);
  const std::int64_t i = part.n / Packed::kSize * Packed::kSize + share.index;
  if (i >= part.n) return;
  Elements<T, tensors, 1> one;
  one.read(part.at, i);
  body(update, one.x[0]);
  one.write(part.at, i);
}

// Two kernels for each line of the list in ops/nn/updates-inl.h, of its name.
#define TENURE_UPDATE(name, tensors, ...)                                        \
  template <class T>                                                             \
  inline void name(const UpdateArguments& a) {                                   \
    update_elements<T, tensors>(a, [](const auto& u, auto* x) { __VA_ARGS__; }); \
  }                                                                              \
  template <class T>                                                             \
  inline void name##s(const SeveralUpdates& a) {                                 \
    update_several<T, tensors>(a, [](const auto& u, auto* x) { __VA_ARGS__; });  \
  }
TENURE_UPDATE(sgd_update, 1, ops::sgd_body(u, x[0], x[1]))
TENURE_UPDATE(sgd_momentum_update, 2, ops::sgd_momentum_body(u, x[0], x[1], x[2]))
TENURE_UPDATE(adam_update, 3, ops::adam_body(u, x[0], x[1], x[2], x[3]))
TENURE_UPDATE(rmsprop_update, 2, ops::rmsprop_body(u, x[0], x[1], x[2]))
TENURE_UPDATE(adagrad_update, 2, ops::adagrad_body(u, x[0], x[1], x[2]))
TENURE_UPDATE(lion_update, 2, ops::lion_body(u, x[0], x[1], x[2]))

}  // namespace tenure::kernels::cuda
