#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// Of fills with random numbers: where the counters begin, and what the numbers are made of.
struct RandomArguments {
  void* out;
  std::int64_t n;
  std::uint64_t seed;
  std::uint64_t counter;
  double first;         ///< uniform: the lowest; normal: the mean
  double second;        ///< uniform: the width; normal: the deviation
  double last;          ///< uniform: the highest
  std::uint64_t low;    ///< randint: the lowest
  std::uint64_t width;  ///< randint: how many there are; bernoulli: how many of 2^32 words are ones
};

struct DropoutArguments {
  FlatView x;
  FlatView key;  ///< two int64: the seed and the first counter
  void* out;
  std::int64_t n;
  std::uint32_t threshold;  ///< words below it drop their element
  double scale;
};

}  // namespace tenure::kernels::cuda
