#pragma once

#include "tenure/kernels/cuda/optimizer/update_arguments.h"
#include "tenure/kernels/cuda/reduce/groups.cuh"
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

/// One pass: `body(update, x)` changes an element of each tensor, x[0] that of the parameter, by
/// the gradient's, which comes last.
template <class T, int tensors, class Body>
inline void update_elements(const UpdateArguments& a, Body body) {
  using C = Compute<T>;
  __shared__ double numbers[3];
  if (threadIdx.x == 0) {
    const double rate = load_as<double>(a.rate, 0, a.rate_type);
    const double step = a.step == nullptr ? 1 : load_as<double>(a.step, 0, a.step_type);
    const ops::AdamBias bias = ops::adam_bias(rate, a.options.beta1, a.options.beta2, step);
    numbers[0] = rate;
    numbers[1] = bias.rate;
    numbers[2] = bias.root;
  }
  __syncthreads();
  const DeviceUpdate update{a.options, numbers[0], {numbers[1], numbers[2]}};
  for (auto i = static_cast<std::int64_t>(thread_index()); i < a.n;
       i += static_cast<std::int64_t>(thread_count())) {
    UpdateNumber<C> x[tensors + 1];
    x[0] = static_cast<C>(static_cast<const T*>(a.in[0].data)[offset_in(a.in[0].walk, i)]);
#pragma unroll
    for (int k = 1; k < tensors; ++k) {
      x[k] = static_cast<const C*>(a.in[k].data)[offset_in(a.in[k].walk, i)];
    }
    const FlatView& gradient = a.in[tensors];
    const std::int64_t at = offset_in(gradient.walk, i);
    x[tensors] = a.own_gradient != 0 ? static_cast<C>(static_cast<const T*>(gradient.data)[at])
                                     : load_as<C>(gradient.data, at, a.gradient_type);
    body(update, x);
    static_cast<T*>(a.out[0])[i] = convert<T>(x[0].value);
#pragma unroll
    for (int k = 1; k < tensors; ++k) static_cast<C*>(a.out[k])[i] = x[k].value;
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
