#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tenure/tenure.h"

namespace tenure::test {

/// A program of random ops that is valid in every mode: the shapes are drawn with it.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed);

  const std::vector<Tensor>& inputs() const { return inputs_; }
  bool has_control_flow() const;
  /// Runs it on tensors like the inputs, with data or symbolic; gives some of what it computed.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;

 private:
  struct Step {
    int op = 0;
    std::vector<std::size_t> arguments;
    std::int64_t parameter = 0;
  };

  Tensor apply(const Step& step, const std::vector<Tensor>& values) const;

  std::vector<Tensor> inputs_;
  std::vector<Step> steps_;
  std::vector<std::size_t> results_;
};

}  // namespace tenure::test
