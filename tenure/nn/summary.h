#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "tenure/nn/trainer.h"

namespace tenure::nn {

/// A model on an input of a certain shape, before anything runs.
struct Summary {
  struct Row {
    std::string path;  ///< empty: the model itself
    std::string kind;
    std::string detail;  ///< what the layer says about itself
    Shape output{};
    std::int64_t parameters = 0;  ///< of the layer itself, without its parts
  };
  std::vector<Row> rows;  ///< in the order in which layers are applied, parts after their layer
  std::int64_t parameters = 0;
  std::int64_t trainable = 0;
  std::int64_t parameter_bytes = 0;
  Plan inference;
  std::optional<StepPlan> training;  ///< with a trainer
};

/// Traces the model; the input may be a spec. Allocates nothing.
Summary summarize(const Layer& model, const Tensor& input, Site site = Site::current());
Summary summarize(const Layer& model, const Tensors& inputs, Site site = Site::current());
/// The same with what a training step takes.
Summary summarize(const Trainer& trainer, const Tensor& input, const Tensor& target,
                  Site site = Site::current());
Summary summarize(const Trainer& trainer, const Tensors& inputs, const Tensors& targets,
                  Site site = Site::current());

std::string to_string(const Summary& summary);
std::ostream& operator<<(std::ostream& out, const Summary& summary);

}  // namespace tenure::nn
