#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

// Losses at classes: of log-probabilities, and with a weight for each class.

namespace tenure::ops {
namespace {

Sample::Input classes_of(const Shape& x, DType dtype) {
  return {.shape = rows_of(x), .low = 0, .high = static_cast<double>(x.back() - 1), .dtype = dtype};
}

/// Where the class of a row lies in x; nothing if it is ignored.
std::optional<std::size_t> place_of(const std::vector<Reference>& in, std::size_t row,
                                    std::int64_t ignore_index) {
  const auto index = static_cast<std::int64_t>(in[1].values[row]);
  if (index == ignore_index) return std::nullopt;
  return row * static_cast<std::size_t>(in[0].shape.back()) + static_cast<std::size_t>(index);
}

struct ClassValues {
  static constexpr auto family = "losses";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto name = "class_values";
  static constexpr auto signature = "class_values(x, classes, ignore_index = -100)";
  static constexpr auto doc = "x at the class of each row, over the last axis; 0 if it is ignored";
  static constexpr auto memory = allocates();
  static constexpr auto types = kFloatTypes;

  static Specs infer(const Kernel& k) {
    require_classes(k);
    require_class_targets(k, "classes, int32 or int64");
    return {{k.in[0].dtype, rows_of(k.in[0].shape)}};
  }
  static double flops(const Kernel& k) { return static_cast<double>(k.in[1].count()); }
  static std::vector<IndexBound> index_bounds(const Kernel& k) {
    return {{.input = 1,
             .lowest = 0,
             .end = k.in[0].shape.back(),
             .except = k.attributes.integer(ClassValuesAttributes::ignore_index)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference out{.shape = rows_of(in[0].shape)};
    for (std::size_t row = 0; row < in[1].values.size(); ++row) {
      const auto place = place_of(in, row, a.integer(ClassValuesAttributes::ignore_index));
      out.values.push_back(place ? in[0].values[*place] : 0);
    }
    return {out};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, DType dtype, std::int64_t ignore_index) {
      return Sample{.inputs = {{.shape = x}, classes_of(x, dtype)},
                    .attributes = Attributes(ignore_index)};
    };
    return {sample({5, 7}, DType::int64, -100), sample({2, 3, 4}, DType::int32, 1),
            sample({9}, DType::int64, -100), sample({0, 4}, DType::int32, -100),
            sample({20000, 3}, DType::int64, 2)};
  }
  static void run_gradient(Backward& b) {
    const Site at = b.site;
    const std::int64_t classes = b.specs[0].shape.back();
    // Each row's gradient, 0 where it is ignored. The op itself reads it, from a view, because that
    // looks at the classes: in a program the forward op may be gone, and the comparison below takes
    // a class that there is not for none.
    Tensor each = broadcast_to_input(b, 0, expand_dims(b.take_gradient(), -1));
    each = class_values({std::move(each), at}, b.input(1),
                        b.attributes.integer(ClassValuesAttributes::ignore_index));
    const Tensor numbers = arange(0, classes, 1, b.specs[1].dtype, at);
    const Tensor is_class = equal({expand_dims(b.input(1), -1), at}, {numbers, at});
    b.results[0] = where({is_class, at}, {expand_dims({std::move(each), at}, -1), at}, {0.0, at});
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = run_gradient};
};

void require_weight(const Kernel& k) {
  require_type_of_first(k, 2);
  const Shape classes{k.in[0].shape.back()};
  if (k.in[2].shape == classes) return;
  throw ShapeError(k.op,
                   fmt::format("there is a weight for each class: shape {}, not {}",
                               to_string(classes), to_string(k.in[2].shape)),
                   {k.in[0].shape.to_vector(), k.in[2].shape.to_vector()});
}

/// The weight of each row's class; 0 where it is ignored.
Tensor row_weights(const Tensor& x, const Operand& targets, const Tensor& weight,
                   std::int64_t ignore_index) {
  const Site at = targets.site();
  const Tensor repeated = broadcast_to({weight, at}, x.shape());
  return class_values({repeated, at}, {targets.tensor(), at}, ignore_index);
}

/// Losses of rows that count `weights` in the mean.
Tensor averaged(Tensor each, const Tensor& weights, Reduction reduction, DType dtype, Site at) {
  if (reduction != Reduction::mean) return reduced(std::move(each), reduction, dtype, at);
  const Tensor total = sum({weights, at});
  const Tensor divisor = where({equal({total, at}, {0.0, at}), at}, {1.0, at}, {total, at});
  Tensor mean = div({sum({std::move(each), at}), at}, {divisor, at});
  return mean.dtype() == dtype ? mean : cast({std::move(mean), at}, dtype);
}

std::vector<Reference> averaged(Reference each, long double weights, Reduction reduction) {
  if (reduction != Reduction::mean) return reduced(std::move(each), reduction);
  long double sum = 0;
  for (const long double one : each.values) sum += one;
  return {{.shape = {}, .values = {sum / (weights == 0 ? 1 : weights)}}};
}

struct CompositeLoss {
  static constexpr auto family = "losses";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto types = kFloatTypes;
  static constexpr auto memory = allocates().with_workspace();
};

struct Nll : CompositeLoss {
  static constexpr auto name = "nll_loss";
  static constexpr auto signature =
      "nll_loss(log_probabilities, targets, weight = none, ignore_index = -100, reduction = mean)";
  static constexpr auto doc = "-x at the class, with a weight for each class; its mean or its sum";
  static constexpr double ulp = 32;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const std::vector<View> specs = specs_of(name, operands);
    const Kernel k{.op = name, .in = specs, .attributes = a};
    require_classes(k);
    require_class_targets(k, "classes, int32 or int64");
    if (operands.size() == 3) require_weight(k);

    const Site at = operands[0].site();
    const std::int64_t ignore_index = a.integer(NllAttributes::ignore_index);
    const Operand targets(operands[1].tensor(), at);
    const Tensor x = widened(operands[0]);
    Tensor each = neg({class_values({x, at}, targets, ignore_index), at});
    Tensor weights;
    if (operands.size() == 3) {
      weights = row_weights(x, targets, widened(operands[2]), ignore_index);
      each = mul({std::move(each), at}, {weights, at});
    } else {
      weights = cast({not_equal(targets, {ignore_index, at}), at}, x.dtype());
    }
    return {averaged(std::move(each), weights, reduction_of(a), specs[0].dtype, at)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference each{.shape = in[1].shape};
    long double weights = 0;
    for (std::size_t row = 0; row < in[1].values.size(); ++row) {
      const auto place = place_of(in, row, a.integer(NllAttributes::ignore_index));
      long double weight = place ? 1 : 0;
      if (place && in.size() == 3)
        weight = in[2].values[static_cast<std::size_t>(in[1].values[row])];
      each.values.push_back(place ? -weight * in[0].values[*place] : 0);
      weights += weight;
    }
    return averaged(std::move(each), weights, reduction_of(a));
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    const auto add = [&](const Shape& x, DType dtype, std::int64_t ignore_index,
                         Reduction reduction) {
      Sample sample{.inputs = {{.shape = x, .low = -3, .high = -1}, classes_of(x, dtype)},
                    .attributes = Attributes(ignore_index, to_attribute(reduction))};
      samples.push_back(sample);
      sample.inputs.push_back({.shape = {x.back()}, .low = 0.5, .high = 2});
      samples.push_back(sample);
    };
    add({5, 7}, DType::int64, -100, Reduction::mean);
    add({4, 3, 5}, DType::int32, 1, Reduction::sum);
    add({2, 3, 5}, DType::int64, 2, Reduction::none);
    add({9}, DType::int64, -100, Reduction::mean);
    add({0, 4}, DType::int64, -100, Reduction::mean);
    return samples;
  }
};

struct WeightedCrossEntropy : CompositeLoss {
  static constexpr auto name = "weighted_cross_entropy";
  static constexpr auto signature =
      "weighted_cross_entropy(logits, targets, weight, label_smoothing = 0, ignore_index = -100, "
      "reduction = mean)";
  static constexpr auto doc = "cross_entropy with a weight for each class";
  static constexpr double ulp = 64;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const std::vector<View> specs = specs_of(name, operands);
    const Kernel k{.op = name, .in = specs, .attributes = a};
    require_classes(k);
    require_weight(k);

    const Site at = operands[0].site();
    const double smoothing = a.number(CrossEntropyAttributes::label_smoothing);
    const std::int64_t ignore_index = a.integer(CrossEntropyAttributes::ignore_index);
    const Tensor x = widened(operands[0]);
    const Tensor weight = widened(operands[2]);
    // The loss of targets with any sum, so that weights may be part of them.
    const auto at_targets = [&](const Tensor& targets) {
      return cross_entropy({x, at}, {targets, at},
                           {.ignore_index = ignore_index, .reduction = Reduction::none});
    };
    const double even = smoothing / static_cast<double>(specs[0].shape.back());
    if (is_floating(specs[1].dtype)) {
      require_type_of_first(k, 1);
      require_shape(k, 1, "probabilities", specs[0].shape);
      require_smoothing(smoothing);
      Tensor smoothed = mul({widened(operands[1]), at}, {1 - smoothing, at});
      smoothed = add({std::move(smoothed), at}, {even, at});
      const Tensor each = at_targets(mul({std::move(smoothed), at}, {weight, at}));
      return {reduced(each, reduction_of(a), specs[0].dtype, at)};
    }
    require_class_targets(k, "classes, int32 or int64, or probabilities");
    require_smoothing(smoothing);
    const Operand targets(operands[1].tensor(), at);
    const Tensor weights = row_weights(x, targets, weight, ignore_index);
    Tensor each = mul({at_targets(targets.tensor()), at}, {weights, at});
    if (smoothing != 0) {
      each = mul({std::move(each), at}, {1 - smoothing, at});
      const Tensor spread = broadcast_to({mul({weight, at}, {even, at}), at}, x.shape());
      const Tensor counts = cast({not_equal(targets, {ignore_index, at}), at}, x.dtype());
      each = add({std::move(each), at}, {mul({at_targets(spread), at}, {counts, at}), at});
    }
    return {averaged(std::move(each), weights, reduction_of(a), specs[0].dtype, at)};
  }
  static void require_smoothing(double smoothing) {
    if (smoothing >= 0 && smoothing <= 1) return;
    throw ValueError(
        fmt::format("{}: label_smoothing is {}, and must be from 0 to 1", name, smoothing));
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const auto classes = static_cast<std::size_t>(in[0].shape.back());
    const long double smoothing = a.number(CrossEntropyAttributes::label_smoothing);
    const bool has_probabilities = in[1].shape.size() == in[0].shape.size();
    Reference each{.shape = rows_of(in[0].shape)};
    long double weights = 0;
    for (std::size_t row = 0; row * classes < in[0].values.size(); ++row) {
      const long double* const x = in[0].values.data() + row * classes;
      long double sum = 0;
      for (std::size_t j = 0; j < classes; ++j) sum += std::exp(x[j]);
      std::vector<long double> q(classes, smoothing / static_cast<long double>(classes));
      if (has_probabilities) {
        for (std::size_t j = 0; j < classes; ++j) {
          q[j] += (1 - smoothing) * in[1].values[row * classes + j];
        }
        weights += 1;
      } else {
        const auto place = place_of(in, row, a.integer(CrossEntropyAttributes::ignore_index));
        if (!place) {
          each.values.push_back(0);
          continue;
        }
        q[*place % classes] += 1 - smoothing;
        weights += in[2].values[*place % classes];
      }
      long double loss = 0;
      for (std::size_t j = 0; j < classes; ++j) {
        loss -= in[2].values[j] * q[j] * (x[j] - std::log(sum));
      }
      each.values.push_back(loss);
    }
    return averaged(std::move(each), weights, reduction_of(a));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, const Sample::Input& targets, double smoothing,
                           std::int64_t ignore_index, Reduction reduction) {
      return Sample{.inputs = {{.shape = x, .low = -1, .high = 1},
                               targets,
                               {.shape = {x.back()}, .low = 0.5, .high = 2}},
                    .attributes = Attributes(smoothing, ignore_index, to_attribute(reduction))};
    };
    const auto classes = [&](const Shape& x, DType dtype, double smoothing,
                             std::int64_t ignore_index, Reduction reduction) {
      return sample(x, classes_of(x, dtype), smoothing, ignore_index, reduction);
    };
    const auto probabilities = [&](const Shape& x, double smoothing, Reduction reduction) {
      return sample(x, {.shape = x, .low = 0.125, .high = 0.875}, smoothing, -100, reduction);
    };
    return {classes({5, 7}, DType::int64, 0, -100, Reduction::mean),
            classes({4, 3, 5}, DType::int32, 0.1, 1, Reduction::mean),
            classes({2, 3, 5}, DType::int64, 0.2, 2, Reduction::none),
            classes({9}, DType::int64, 0, -100, Reduction::sum),
            classes({0, 4}, DType::int64, 0, -100, Reduction::mean),
            probabilities({5, 7}, 0.1, Reduction::mean),
            probabilities({2, 3, 3}, 0, Reduction::none)};
  }
};

}  // namespace

std::vector<const OpRecord*> class_loss_ops() {
  return {&record<ClassValues>(), &record<Nll>(), &record<WeightedCrossEntropy>()};
}

}  // namespace tenure::ops

namespace tenure {

Tensor class_values(const Operand& x, const Operand& classes, std::int64_t ignore_index) {
  return ops::call(ops::record<ops::ClassValues>(), {x, classes}, ops::Attributes(ignore_index));
}

Tensor nll_loss(const Operand& log_probabilities, const Operand& targets,
                const NllOptions& options) {
  return ops::call(ops::record<ops::Nll>(), {log_probabilities, targets},
                   ops::Attributes(options.ignore_index, ops::to_attribute(options.reduction)));
}
Tensor nll_loss(const Operand& log_probabilities, const Operand& targets, const Operand& weight,
                const NllOptions& options) {
  return ops::call(ops::record<ops::Nll>(), {log_probabilities, targets, weight},
                   ops::Attributes(options.ignore_index, ops::to_attribute(options.reduction)));
}

Tensor cross_entropy(const Operand& logits, const Operand& targets, const Operand& weight,
                     const CrossEntropyOptions& options) {
  return ops::call(ops::record<ops::WeightedCrossEntropy>(), {logits, targets, weight},
                   ops::Attributes(options.label_smoothing, options.ignore_index,
                                   ops::to_attribute(options.reduction)));
}

}  // namespace tenure
