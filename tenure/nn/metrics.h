#pragma once

#include <functional>
#include <string>

#include "tenure/tensor/tensor.h"

namespace tenure::nn {

/// One number for the predictions and the targets of a batch: a mean over its rows.
using Loss = std::function<Tensor(const Tensor& prediction, const Tensor& target)>;

/// A number to look at; training does not follow it. What those below compute has the line where
/// they were made.
struct Metric {
  std::string name;
  Loss value;
};

/// The share of rows whose largest entry is that of the target, a class index.
Metric accuracy(Site site = Site::current());
/// The share of rows whose target is among the k largest entries.
Metric top_k_accuracy(std::int64_t k, Site site = Site::current());
/// The share of entries on the target's side of zero; for one logit a row and targets 0 and 1.
Metric binary_accuracy(Site site = Site::current());
Metric mean_absolute_error(Site site = Site::current());

}  // namespace tenure::nn
