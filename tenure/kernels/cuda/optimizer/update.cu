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
inline DeviceUpdate update_of(const UpdateArguments& a) {
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
  void read(const UpdateArguments& a, std::int64_t i) {
    read_strip<T>(a, 0, i);
#pragma unroll
    for (int k = 1; k < tensors; ++k) read_strip<C>(a, k, i);
    read_strip<T>(a, tensors, i);
  }
  void write(const UpdateArguments& a, std::int64_t i) const {
    write_strip<T>(a, 0, i);
#pragma unroll
    for (int k = 1; k < tensors; ++k) write_strip<C>(a, k, i);
  }

 private:
  template <class E>
  void read_strip(const UpdateArguments& a, int tensor, std::int64_t i) {
    const auto strip =
        *reinterpret_cast<const Strip<E, size>*>(static_cast<const E*>(a.in[tensor].data) + i);
#pragma unroll
    for (int e = 0; e < size; ++e) x[e][tensor] = static_cast<C>(strip.of[e]);
  }
  template <class E>
  void write_strip(const UpdateArguments& a, int tensor, std::int64_t i) const {
    Strip<E, size> strip;
#pragma unroll
    for (int e = 0; e < size; ++e) strip.of[e] = convert<E>(x[e][tensor].value);
    *reinterpret_cast<Strip<E, size>*>(static_cast<E*>(a.out[tensor]) + i) = strip;
  }
};

/// An element of all tensors, wherever they lie, of any types.
template <class T, int tensors>
inline void read_element(const UpdateArguments& a, std::int64_t i,
                         Elements<T, tensors, 1>& element) {
  using C = Compute<T>;
  auto& x = element.x[0];
  x[0] = static_cast<C>(static_cast<const T*>(a.in[0].data)[offset_in(a.in[0].walk, i)]);
#pragma unroll
  for (int k = 1; k < tensors; ++k) {
    x[k] = static_cast<const C*>(a.in[k].data)[offset_in(a.in[k].walk, i)];
  }
  const FlatView& gradient = a.in[tensors];
  x[tensors] = load_as<C>(gradient.data, offset_in(gradient.walk, i), a.gradient_type);
}

/// One pass: `body(update, x)` changes an element of each tensor, x[0] that of the parameter, by
/// the gradient's, which comes last.
template <class T, int tensors, class Body>
inline void update_elements(const UpdateArguments& a, Body body) {
  constexpr int kSize = strip_size(sizeof(Compute<T>));
  const auto index = static_cast<std::int64_t>(thread_index());
  const auto threads = static_cast<std::int64_t>(thread_count());
  const std::int64_t strips = a.is_packed != 0 ? a.n / kSize : 0;
  // What is asked for first is on its way while the block finds its numbers.
  Elements<T, tensors, kSize> own;
  if (index < strips) own.read(a, index * kSize);
  const DeviceUpdate update = update_of(a);
  for (std::int64_t strip = index; strip < strips; strip += threads) {
    if (strip != index) own.read(a, strip * kSize);
#pragma unroll
    for (int e = 0; e < kSize; ++e) body(update, own.x[e]);
    own.write(a, strip * kSize);
  }
  for (std::int64_t i = strips * kSize + index; i < a.n; i += threads) {
    Elements<T, tensors, 1> one;
    read_element(a, i, one);
    body(update, one.x[0]);
    one.write(a, i);
  }
}

// A kernel for each line of the list in ops/nn/updates-inl.h, of its name.
template <class T>
inline void sgd_update(const UpdateArguments& a) {
  update_elements<T, 1>(a, [](const auto& u, auto* x) { ops::sgd_body(u, x[0], x[1]); });
}
template <class T>
inline void sgd_momentum_update(const UpdateArguments& a) {
  update_elements<T, 2>(
      a, [](const auto& u, auto* x) { ops::sgd_momentum_body(u, x[0], x[1], x[2]); });
}
template <class T>
inline void adam_update(const UpdateArguments& a) {
  update_elements<T, 3>(a,
                        [](const auto& u, auto* x) { ops::adam_body(u, x[0], x[1], x[2], x[3]); });
}
template <class T>
inline void rmsprop_update(const UpdateArguments& a) {
  update_elements<T, 2>(a, [](const auto& u, auto* x) { ops::rmsprop_body(u, x[0], x[1], x[2]); });
}
template <class T>
inline void adagrad_update(const UpdateArguments& a) {
  update_elements<T, 2>(a, [](const auto& u, auto* x) { ops::adagrad_body(u, x[0], x[1], x[2]); });
}
template <class T>
inline void lion_update(const UpdateArguments& a) {
  update_elements<T, 2>(a, [](const auto& u, auto* x) { ops::lion_body(u, x[0], x[1], x[2]); });
}

}  // namespace tenure::kernels::cuda
