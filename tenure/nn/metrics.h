#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/tensor/tensor.h"

namespace tenure::nn {

/// Those of a batch, or of a model: its inputs, its outputs, its targets.
using Tensors = std::vector<Tensor>;

/// One number for the predictions and the targets of a batch: a mean over its rows. It is made of a
/// function of one prediction and one target, or, for models of several outputs and batches of
/// several targets, of a function of two lists.
class Loss {
 public:
  using OfOne = std::function<Tensor(const Tensor& prediction, const Tensor& target)>;
  using OfAll = std::function<Tensor(const Tensors& predictions, const Tensors& targets)>;

  Loss() = default;
  template <class F>
  requires(!std::is_same_v<F, Loss> && std::is_constructible_v<OfOne, F>) Loss(F f)
      : of_one_(std::move(f)) {}  // NOLINT: a function is a loss
  template <class F>
  requires(!std::is_same_v<F, Loss> && !std::is_constructible_v<OfOne, F> &&
           std::is_constructible_v<OfAll, F>) Loss(F f)
      : of_all_(std::move(f)) {}  // NOLINT
  /// Of both; `of_all` is called where there is more than one of either.
  Loss(OfOne of_one, OfAll of_all) : of_one_(std::move(of_one)), of_all_(std::move(of_all)) {}

  /// Whether it takes several predictions and targets.
  bool is_of_all() const { return of_all_ != nullptr; }
  explicit operator bool() const { return of_one_ != nullptr || of_all_ != nullptr; }
  Tensor operator()(const Tensor& prediction, const Tensor& target) const {
    return (*this)(Tensors{prediction}, Tensors{target});
  }
  /// Throws ValueError if it is made of a function of one, and there are more.
  Tensor operator()(const Tensors& predictions, const Tensors& targets) const;

 private:
  OfOne of_one_;
  OfAll of_all_;
};

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
