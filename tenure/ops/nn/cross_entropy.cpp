#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

// Attributes: label smoothing, ignored index, reduction.

void check_inputs(const Kernel& k) {
  const Shape& logits = k.in[0].shape;
  require_classes(k);
  if (is_floating(k.in[1].dtype)) {
    require_type_of_first(k, 1);
    require_shape(k, 1, "probabilities", logits);
  } else {
    require_class_targets(k, "classes, int32 or int64, or probabilities");
  }
  const double smoothing = k.attributes.number(CrossEntropyAttributes::label_smoothing);
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw ValueError(
        fmt::format("{}: label_smoothing is {}, and must be from 0 to 1", k.op, smoothing));
  }
}

/// The smoothed target distribution of one row, or nothing if it is ignored.
std::vector<long double> target_row(const std::vector<Reference>& in, std::int64_t row,
                                    const Attributes& a) {
  const auto classes = static_cast<std::size_t>(in[0].shape.back());
  const auto first = static_cast<std::size_t>(row) * classes;
  const long double smoothing = a.number(CrossEntropyAttributes::label_smoothing);
  std::vector<long double> q(classes, smoothing / static_cast<long double>(classes));
  if (in[1].shape.size() == in[0].shape.size()) {
    for (std::size_t j = 0; j < classes; ++j) q[j] += (1 - smoothing) * in[1].values[first + j];
    return q;
  }
  const long double index = in[1].values[static_cast<std::size_t>(row)];
  if (index == static_cast<long double>(a.integer(CrossEntropyAttributes::ignore_index))) return {};
  q[static_cast<std::size_t>(index)] += 1 - smoothing;
  return q;
}

/// The log-probabilities of one row.
std::vector<long double> log_row(const Reference& logits, std::int64_t row) {
  const std::int64_t classes = logits.shape.back();
  const auto first = logits.values.begin() + row * classes;
  std::vector<long double> x(first, first + classes);
  long double sum = 0;
  for (const long double value : x) sum += std::exp(value);
  for (long double& value : x) value -= std::log(sum);
  return x;
}

std::int64_t row_count(const Shape& logits) { return count(rows_of(logits)); }

long double reference_scale(const std::vector<Reference>& in, const Attributes& a) {
  std::int64_t valid = 0;
  for (std::int64_t row = 0; row < row_count(in[0].shape); ++row) {
    valid += target_row(in, row, a).empty() ? 0 : 1;
  }
  return scale_of(reduction_of(a), valid);
}

/// Of 16-bit logits the loss is float32: logits may be most of what a step holds, and are read as
/// they are, also under Autocast.
struct CrossEntropyOp {
  static constexpr auto family = "losses";
  static constexpr auto types = kFloatTypes;

  static std::vector<IndexBound> index_bounds(const Kernel& k) {
    if (is_floating(k.in[1].dtype)) return {};
    return {{.input = 1,
             .lowest = 0,
             .end = k.in[0].shape.back(),
             .except = k.attributes.integer(CrossEntropyAttributes::ignore_index)}};
  }

  static std::vector<Sample> samples() {
    const auto classes = [](const Shape& logits, double smoothing, std::int64_t ignore,
                            Reduction reduction, DType dtype) {
      return Sample{.inputs = {{.shape = logits, .low = -1, .high = 1},
                               {.shape = rows_of(logits),
                                .low = 0,
                                .high = static_cast<double>(logits.back() - 1),
                                .dtype = dtype}},
                    .attributes = Attributes(smoothing, ignore, to_attribute(reduction))};
    };
    const auto probabilities = [](const Shape& logits, double smoothing, Reduction reduction) {
      // Given, so that no layout makes them equal: where all logits are too, the gradient is zero.
      std::vector<double> values;
      for (std::int64_t i = 0; i < count(logits); ++i) {
        values.push_back(static_cast<double>(i * 37 % 101 + 10) / 128);
      }
      return Sample{
          .inputs = {{.shape = logits, .low = -1, .high = 1}, {.shape = logits, .values = values}},
          .attributes = Attributes(smoothing, std::int64_t{-100}, to_attribute(reduction))};
    };
    return {classes({5, 7}, 0, -100, Reduction::mean, DType::int64),
            classes({4, 3, 40}, 0.1, 1, Reduction::sum, DType::int32),
            classes({2, 3, 5}, 0.2, 2, Reduction::none, DType::int64),
            classes({3, 3}, 0, 0, Reduction::mean, DType::int32),
            classes({9}, 0, -100, Reduction::mean, DType::int64),
            classes({2, 4100}, 0.1, -100, Reduction::none, DType::int64),
            classes({700, 30}, 0, -1, Reduction::mean, DType::int64),
            classes({0, 4}, 0, -100, Reduction::mean, DType::int64),
            probabilities({5, 7}, 0, Reduction::mean),
            probabilities({2, 3, 33}, 0.1, Reduction::none),
            probabilities({2, 2100}, 0, Reduction::sum)};
  }
};

struct CrossEntropyGradient;
const OpRecord& gradient_record();

struct CrossEntropy : CrossEntropyOp {
  static constexpr auto name = "cross_entropy";
  static constexpr auto signature =
      "cross_entropy(logits, targets, label_smoothing = 0, ignore_index = -100, reduction = mean)";
  static constexpr auto doc =
      "-log(softmax(logits)) at the targets: classes, or probabilities; its mean or its sum, in "
      "float32 at least";
  static constexpr auto memory = allocates();
  static constexpr double ulp = 64;  // of float64: what the sum over 700 rows may lose

  static Specs infer(const Kernel& k) {
    check_inputs(k);
    const bool reduces = reduction_of(k.attributes) != Reduction::none;
    return {{compute_type(k.in[0].dtype), reduces ? Shape{} : rows_of(k.in[0].shape)}};
  }
  static double flops(const Kernel& k) { return 12.0 * static_cast<double>(k.in[0].count()); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference each{.shape = rows_of(in[0].shape)};
    long double sum = 0;
    for (std::int64_t row = 0; row < row_count(in[0].shape); ++row) {
      const std::vector<long double> q = target_row(in, row, a);
      const std::vector<long double> x = log_row(in[0], row);
      long double loss = 0;
      for (std::size_t j = 0; j < q.size(); ++j) loss -= q[j] * x[j];
      each.values.push_back(loss);
      sum += loss;
    }
    if (reduction_of(a) == Reduction::none) return {each};
    return {{.shape = {}, .values = {sum * reference_scale(in, a)}}};
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = run_gradient};
};

struct CrossEntropyGradient : CrossEntropyOp {
  static constexpr auto name = "cross_entropy_gradient";
  static constexpr auto signature =
      "cross_entropy_gradient(logits, targets, gradient, label_smoothing, ignore_index, reduction)";
  static constexpr auto doc = "the gradient of cross_entropy by the logits";
  static constexpr auto memory = reuses(1);
  static constexpr double ulp_of_largest = 8;

  static Specs infer(const Kernel& k) {
    check_inputs(k);
    if (k.in[2].dtype != compute_type(k.in[0].dtype)) require_type_of_first(k, 2);
    const bool reduces = reduction_of(k.attributes) != Reduction::none;
    require_shape(k, 2, "gradients of the loss", reduces ? Shape{} : rows_of(k.in[0].shape));
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static double flops(const Kernel& k) { return 24.0 * static_cast<double>(k.in[0].count()); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference dx{.shape = in[0].shape};
    const long double scale = reference_scale(in, a);
    for (std::int64_t row = 0; row < row_count(in[0].shape); ++row) {
      const std::vector<long double> q = target_row(in, row, a);
      const std::vector<long double> x = log_row(in[0], row);
      const long double dy =
          scale * in[2].values[in[2].shape.empty() ? 0 : static_cast<std::size_t>(row)];
      long double mass = 0;
      for (const long double one : q) mass += one;
      for (std::size_t j = 0; j < x.size(); ++j) {
        dx.values.push_back(q.empty() ? 0 : dy * (mass * std::exp(x[j]) - q[j]));
      }
    }
    return {dx};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples = CrossEntropyOp::samples();
    for (Sample& sample : samples) {
      const bool reduces =
          reduction_of(sample.attributes) != Reduction::none || sample.inputs[0].shape.size() == 1;
      sample.inputs.push_back(
          {.shape = reduces ? Shape{} : rows_of(sample.inputs[0].shape), .low = 0.5});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2), input_data(0, 1, 2), input_data(0, 1)}}, .run = run_gradient};
};

const OpRecord& gradient_record() { return record<CrossEntropyGradient>(); }

/// In the type of input i.
Tensor as_input(const Backward& b, std::size_t i, Tensor result) {
  if (result.dtype() == b.specs[i].dtype) return result;
  return cast({std::move(result), b.site}, b.specs[i].dtype);
}

/// What the gradient of the loss of each row is, from that of the result: [rows..., 1].
Tensor row_gradients(const Backward& b, const Tensor& targets, const Tensor& dy) {
  const bool reduces = reduction_of(b.attributes) != Reduction::none;
  Tensor each = reduces ? dy : expand_dims({dy, b.site}, -1);
  const bool averages = reduction_of(b.attributes) == Reduction::mean;
  if (is_floating(b.specs[1].dtype)) {
    if (!averages) return each;
    return mul({each, b.site}, {scale_of(Reduction::mean, row_count(b.specs[0].shape)), b.site});
  }
  const Site at = b.site;
  // 1, or 0 where the row is ignored; read at the classes, so that wrong ones are refused also in a
  // program that has nothing else that looks at them.
  const Tensor one = broadcast_to_input(b, 0, ones({}, dy.dtype(), at));
  Tensor is_counted = class_values({one, at}, {targets, at},
                                   b.attributes.integer(CrossEntropyAttributes::ignore_index));
  const Tensor counts = expand_dims({std::move(is_counted), at}, -1);
  if (!averages) return mul({counts, at}, {each, at});
  Tensor rows = maximum({sum({counts, at}), at}, {1, at});
  return mul({counts, at}, {div({each, at}, {std::move(rows), at}), at});
}

void CrossEntropy::run_gradient(Backward& b) {
  if (b.wants(1)) {
    const Tensor weights = row_gradients(b, b.inputs[1], b.gradients[0]);
    const Tensor log_probabilities = log_softmax(b.input(0));
    const Tensor scaled =
        mul({weights, b.site}, b.attributes.number(CrossEntropyAttributes::label_smoothing) - 1.0);
    b.results[1] = as_input(b, 1, mul({log_probabilities, b.site}, {scaled, b.site}));
  }
  if (b.wants(0)) {
    b.results[0] = call(gradient_record(),
                        {{std::move(b.inputs[0]), b.site},
                         {std::move(b.inputs[1]), b.site},
                         {std::move(b.gradients[0]), b.site}},
                        b.attributes);
  }
}

// With p = softmax(x), and g the gradient of a row's loss, the gradient is g (mass p - q). Here v
// is what is multiplied with it.
void CrossEntropyGradient::run_gradient(Backward& b) {
  const Tensor& x = b.inputs[0];
  const Tensor& targets = b.inputs[1];
  const Tensor& v = b.gradients[0];
  const bool reduces = reduction_of(b.attributes) != Reduction::none;
  if (b.wants(0) || b.wants(1)) {
    const bool has_probabilities = is_floating(b.specs[1].dtype);
    const double smoothing = b.attributes.number(CrossEntropyAttributes::label_smoothing);
    const Tensor weights = row_gradients(b, targets, b.inputs[2]);
    const Tensor p = softmax(b.input(0));
    const Site at = b.site;
    const Tensor mean = sum({mul({v, at}, {p, at}), at}, -1, true);
    if (b.wants(0)) {
      Tensor dx = mul({sub({v, at}, {mean, at}), at}, {p, at});
      dx = mul({std::move(dx), at}, {weights, at});
      if (has_probabilities) {
        Tensor mass = mul({sum({targets, at}, -1, true), at}, 1 - smoothing);
        mass = add({std::move(mass), at}, smoothing);
        dx = mul({std::move(dx), at}, {std::move(mass), at});
      }
      b.results[0] = as_input(b, 0, std::move(dx));
    }
    if (b.wants(1)) {
      Tensor dt = sub({mean, at}, {v, at});
      b.results[1] =
          as_input(b, 1, mul({std::move(dt), at}, {mul({weights, at}, 1 - smoothing), at}));
    }
  }
  if (b.wants(2)) {
    const Tensor one = reduces ? ones({}, v.dtype(), b.site)
                               : ones_like(sum({v, b.site}, -1), std::nullopt, b.site);
    const Tensor slope =
        call(gradient_record(), {{x, b.site}, {targets, b.site}, {one, b.site}}, b.attributes);
    const Tensor product = mul({slope, b.site}, {v, b.site});
    b.results[2] = as_input(b, 2, reduces ? sum({product, b.site}) : sum({product, b.site}, -1));
  }
}

}  // namespace

std::vector<const OpRecord*> cross_entropy_ops() {
  return {&record<CrossEntropy>(), &record<CrossEntropyGradient>()};
}

}  // namespace tenure::ops

namespace tenure {

Tensor cross_entropy(const Operand& logits, const Operand& targets,
                     const CrossEntropyOptions& options) {
  return ops::call(ops::record<ops::CrossEntropy>(), {logits, targets},
                   ops::Attributes(options.label_smoothing, options.ignore_index,
                                   ops::to_attribute(options.reduction)));
}

}  // namespace tenure
