#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// The options of all updates of optimizers, of which each has some.
struct UpdateOptions {
  double momentum;
  double dampening;
  double weight_decay;
  double beta1;
  double beta2;
  double alpha;
  double epsilon;
  std::int32_t nesterov;
  std::int32_t decoupled;

  friend bool operator==(const UpdateOptions&, const UpdateOptions&) = default;
};

/// A logarithm as a sum of two numbers.
struct PartsOfLog {
  double high;
  double low;

  friend bool operator==(const PartsOfLog&, const PartsOfLog&) = default;
};

inline constexpr int kMostUpdated = 3;

/// What updates share. Rate and step are in the GPU's memory: the host does not wait for them.
struct UpdateNumbers {
  const void* rate;
  const void* step;  ///< there may be none
  std::int32_t rate_type;
  std::int32_t step_type;
  UpdateOptions options;
  PartsOfLog log_beta1;
  PartsOfLog log_beta2;

  friend bool operator==(const UpdateNumbers&, const UpdateNumbers&) = default;
};

/// The parameter and its state come first, then the gradient.
struct UpdatedTensors {
  const void* in[kMostUpdated + 1];
  void* out[kMostUpdated];
};

/// Of one parameter, wherever its tensors lie.
struct UpdateArguments {
  UpdatedTensors at;
  Walk walks[kMostUpdated + 1];  ///< of in
  UpdateNumbers numbers;
  std::int32_t gradient_type;
  std::int32_t
      is_packed;  ///< all lie side by side, on 16 bytes; the gradient has the parameter's type
  std::int64_t n;
};

/// Of several parameters that are packed, each in some blocks.
struct SeveralUpdates {
  static constexpr int kMost = 50;  // a kernel may be given 4096 bytes
  struct Part {
    UpdatedTensors at;
    std::int64_t n;
    std::uint32_t end;  ///< the block after the last of it
  };
  UpdateNumbers numbers;
  std::int32_t parts;
  Part part[kMost];
};
static_assert(sizeof(SeveralUpdates) <= 4096);

}  // namespace tenure::kernels::cuda
