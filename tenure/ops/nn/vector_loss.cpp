#include <fmt/format.h>

#include <cmath>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

// Losses that are written in others: of vectors, and variants of those of elements.

namespace tenure::ops {
namespace {

struct WrittenLoss {
  static constexpr auto family = "losses";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto types = kFloatTypes;
  static constexpr auto memory = allocates().with_workspace();
  static constexpr double ulp_of_largest = 32;
};

/// Operand i where all have one floating type and one shape.
std::vector<Tensor> same_tensors(const char* op, std::span<const Operand> operands) {
  const std::vector<View> specs = specs_of(op, operands);
  const Kernel k{.op = op, .in = specs};
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    require_type_of_first(k, i);
    require_shape(k, i, "all vectors", specs[0].shape);
    tensors.push_back(widened(operands[i]));
  }
  return tensors;
}

void require_vectors(const char* op, const Shape& shape) {
  if (!shape.empty()) return;
  throw ShapeError(op, "takes vectors along the last axis, not one number", {shape.to_vector()});
}

struct SmoothL1 : WrittenLoss {
  static constexpr auto name = "smooth_l1_loss";
  static constexpr auto signature = "smooth_l1_loss(x, t, beta = 1, reduction = mean)";
  static constexpr auto doc =
      "(x - t)^2 / (2 beta) up to |x - t| = beta, from there on linear; its mean or its sum";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const double beta = parameter_of(a);
    if (!(beta >= 0)) {
      throw ValueError(fmt::format("{}: beta is {}, and must not be below 0", name, beta));
    }
    const DType dtype = specs_of(name, operands)[0].dtype;
    const std::vector<Tensor> in = same_tensors(name, operands);
    const Site at = operands[0].site();
    Tensor loss = beta == 0 ? l1_loss({in[0], at}, {in[1], at}, reduction_of(a))
                            : huber_loss({in[0], at}, {in[1], at},
                                         {.delta = beta, .reduction = reduction_of(a)});
    if (beta != 0 && beta != 1) loss = mul({std::move(loss), at}, {1 / beta, at});
    return {loss.dtype() == dtype ? loss : cast({std::move(loss), at}, dtype)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const long double beta = parameter_of(a);
    return reduced(make_reference(in[0].shape,
                                  [&](const Dims& index) {
                                    const long double d =
                                        std::abs(at(in[0], index) - at(in[1], index));
                                    return d < beta ? d * d / (2 * beta) : d - beta / 2;
                                  }),
                   reduction_of(a));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, double beta, Reduction reduction) {
      return Sample{.inputs = {{.shape = shape}, {.shape = shape, .low = 3, .high = 4}},
                    .attributes = Attributes(beta, to_attribute(reduction))};
    };
    return {sample({3, 7}, 1, Reduction::mean), sample({2, 3, 2}, 4, Reduction::sum),
            sample({2, 5}, 0.5, Reduction::none), sample({4}, 0, Reduction::mean),
            sample({}, 2, Reduction::none)};
  }
};

struct WeightedBinaryCrossEntropy : WrittenLoss {
  static constexpr auto name = "weighted_binary_cross_entropy";
  static constexpr auto signature =
      "weighted_binary_cross_entropy(logits, targets, positive_weight, reduction = mean)";
  static constexpr auto doc =
      "binary_cross_entropy_with_logits in which positives count `positive_weight` times";

  // (1 - t) x + (1 + (w - 1) t) softplus(-x)
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const std::vector<Tensor> in = same_tensors(name, operands.first(2));
    const std::vector<View> specs = specs_of(name, operands);
    const Kernel k{.op = name, .in = specs};
    require_type_of_first(k, 2);
    const Site at = operands[0].site();
    const Tensor weight = broadcast_to({widened(operands[2]), at}, specs[0].shape);
    const Tensor more = sub({weight, at}, {1.0, at});
    Tensor factor = add({mul({more, at}, {in[1], at}), at}, {1.0, at});
    factor = mul({std::move(factor), at}, {softplus({neg({in[0], at}), at}), at});
    const Tensor rest = mul({sub({1.0, at}, {in[1], at}), at}, {in[0], at});
    return {reduced(add({std::move(factor), at}, {rest, at}), reduction_of(a), specs[0].dtype, at)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return reduced(make_reference(in[0].shape,
                                  [&](const Dims& index) {
                                    const long double x = at(in[0], index);
                                    const long double t = at(in[1], index);
                                    Dims place = in[2].shape;
                                    const int before = index.size() - place.size();
                                    for (int i = 0; i < place.size(); ++i) {
                                      place[i] = place[i] == 1 ? 0 : index[before + i];
                                    }
                                    return at(in[2], place) * t * std::log1p(std::exp(-x)) +
                                           (1 - t) * std::log1p(std::exp(x));
                                  }),
                   reduction_of(a));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Shape& weight, Reduction reduction) {
      return Sample{.inputs = {{.shape = shape},
                               {.shape = shape, .low = 0.125, .high = 1},
                               {.shape = weight, .low = 0.5, .high = 3}},
                    .attributes = Attributes(to_attribute(reduction))};
    };
    return {sample({3, 7}, {7}, Reduction::mean), sample({2, 3, 2}, {}, Reduction::sum),
            sample({2, 5}, {2, 1}, Reduction::none), sample({0, 3}, {3}, Reduction::mean)};
  }
};

struct CosineSimilarity : WrittenLoss {
  static constexpr auto name = "cosine_similarity";
  static constexpr auto signature = "cosine_similarity(a, b, axis = -1, epsilon = 1e-8)";
  static constexpr auto doc = "a b / (|a| |b|) along an axis; lengths are not below epsilon";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const std::vector<View> specs = specs_of(name, operands);
    const Kernel k{.op = name, .in = specs};
    require_type_of_first(k, 1);
    const Site site = operands[0].site();
    const auto axis = static_cast<int>(a.integer(CosineSimilarityAttributes::axis));
    const double epsilon = a.number(CosineSimilarityAttributes::epsilon);
    const Tensor x = widened(operands[0]);
    const Tensor y = widened(operands[1]);
    Tensor result = sum({mul({x, site}, {y, site}), site}, axis);
    for (const Tensor& vector : {x, y}) {
      const Tensor length = norm({vector, site}, 2, axis);
      result = div({std::move(result), site}, {maximum({length, site}, {epsilon, site}), site});
    }
    return {result.dtype() == specs[0].dtype ? result
                                             : cast({std::move(result), site}, specs[0].dtype)};
  }
  /// Of rows, in references.
  static long double of_rows(const Reference& x, const Reference& y, std::size_t row,
                             double epsilon) {
    const auto n = static_cast<std::size_t>(x.shape.back());
    long double product = 0;
    long double of_x = 0;
    long double of_y = 0;
    for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
      product += x.values[i] * y.values[i];
      of_x += x.values[i] * x.values[i];
      of_y += y.values[i] * y.values[i];
    }
    return product / (std::max<long double>(std::sqrt(of_x), epsilon) *
                      std::max<long double>(std::sqrt(of_y), epsilon));
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const double epsilon = a.number(CosineSimilarityAttributes::epsilon);
    std::size_t row = 0;
    return {make_reference(rows_of(in[0].shape),
                           [&](const Dims&) { return of_rows(in[0], in[1], row++, epsilon); })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape) {
      return Sample{.inputs = {{.shape = shape, .low = 0.5}, {.shape = shape, .low = 0.25}},
                    .attributes = Attributes(std::int64_t{-1}, 1e-8)};
    };
    return {sample({3, 7}), sample({2, 3, 4}), sample({5}), sample({0, 3})};
  }
};

struct CosineEmbedding : WrittenLoss {
  static constexpr auto name = "cosine_embedding_loss";
  static constexpr auto signature =
      "cosine_embedding_loss(a, b, labels, margin = 0, reduction = mean)";
  static constexpr auto doc =
      "1 - cosine_similarity(a, b) where labels are above 0, else what is above the margin";
  static constexpr double kEpsilon = 1e-8;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const std::vector<View> specs = specs_of(name, operands);
    const std::vector<Tensor> in = same_tensors(name, operands.first(2));
    require_vectors(name, specs[0].shape);
    const Kernel k{.op = name, .in = specs};
    require_shape(k, 2, "labels", rows_of(specs[0].shape));
    const Site at = operands[0].site();
    const Tensor cosine = cosine_similarity({in[0], at}, {in[1], at}, -1, kEpsilon);
    const double margin = a.number(CosineLossAttributes::margin);
    const Tensor above = relu({sub({cosine, at}, {margin, at}), at});
    const Tensor below = sub({1.0, at}, {cosine, at});
    const Tensor is_alike = greater({operands[2].tensor(), at}, {0, at});
    Tensor each = where({is_alike, at}, {below, at}, {above, at});
    return {reduced(std::move(each), reduction_of(a), specs[0].dtype, at)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const long double margin = a.number(CosineLossAttributes::margin);
    std::size_t row = 0;
    return reduced(make_reference(in[2].shape,
                                  [&](const Dims& index) {
                                    const long double cosine =
                                        CosineSimilarity::of_rows(in[0], in[1], row++, kEpsilon);
                                    return at(in[2], index) > 0 ? 1 - cosine
                                                                : std::max(cosine - margin, 0.0L);
                                  }),
                   reduction_of(a));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const std::vector<double>& labels, double margin,
                           Reduction reduction) {
      return Sample{.inputs = {{.shape = shape, .low = 0.5},
                               {.shape = shape, .low = 0.25},
                               {.shape = rows_of(shape), .dtype = DType::int64, .values = labels}},
                    .attributes = Attributes(margin, to_attribute(reduction))};
    };
    return {sample({3, 7}, {1, -1, 1}, 0.1, Reduction::mean),
            sample({2, 2, 4}, {1, -1, -1, 1}, 0, Reduction::sum),
            sample({2, 5}, {-1, 1}, 0.25, Reduction::none), sample({5}, {-1}, 0, Reduction::mean),
            sample({0, 3}, {}, 0, Reduction::mean)};
  }
};

struct Triplet : WrittenLoss {
  static constexpr auto name = "triplet_margin_loss";
  static constexpr auto signature =
      "triplet_margin_loss(anchor, positive, negative, margin = 1, order = 2, epsilon = 1e-6, "
      "swap = false, reduction = mean)";
  static constexpr auto doc =
      "max(0, margin + d(anchor, positive) - d(anchor, negative)), d(x, y) = |x - y + epsilon|";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const std::vector<Tensor> in = same_tensors(name, operands);
    require_vectors(name, in[0].shape());
    const double order = a.number(TripletAttributes::order);
    if (!(order > 0)) {
      throw ValueError(
          fmt::format("{}: the order of the norm is {}, and must be above 0", name, order));
    }
    const Site at = operands[0].site();
    const auto distance = [&](const Tensor& x, const Tensor& y) {
      Tensor d = sub({x, at}, {y, at});
      d = add({std::move(d), at}, {a.number(TripletAttributes::epsilon), at});
      return norm({std::move(d), at}, order, -1);
    };
    Tensor to_negative = distance(in[0], in[2]);
    if (a.flag(TripletAttributes::swap)) {
      to_negative = minimum({std::move(to_negative), at}, {distance(in[1], in[2]), at});
    }
    Tensor each = sub({distance(in[0], in[1]), at}, {std::move(to_negative), at});
    each = relu({add({std::move(each), at}, {a.number(TripletAttributes::margin), at}), at});
    return {reduced(std::move(each), reduction_of(a), operands[0].tensor().dtype(), at)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const auto n = static_cast<std::size_t>(in[0].shape.back());
    const auto order = static_cast<long double>(a.number(TripletAttributes::order));
    const auto distance = [&](std::size_t x, std::size_t y, std::size_t row) {
      long double powers = 0;
      for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
        const long double d =
            in[x].values[i] - in[y].values[i] + a.number(TripletAttributes::epsilon);
        powers += std::pow(std::abs(d), order);
      }
      return std::pow(powers, 1 / order);
    };
    std::size_t row = 0;
    const auto value = [&](const Dims&) {
      long double to_negative = distance(0, 2, row);
      if (a.flag(TripletAttributes::swap)) {
        to_negative = std::min(to_negative, distance(1, 2, row));
      }
      const long double margin = a.number(TripletAttributes::margin);
      const long double loss = margin + distance(0, 1, row) - to_negative;
      ++row;
      return std::max(loss, 0.0L);
    };
    return reduced(make_reference(rows_of(in[0].shape), value), reduction_of(a));
  }
  static std::vector<Sample> samples() {
    // Far apart: neither distance has a kink between them, whatever is drawn.
    const auto sample = [](const Shape& shape, double margin, double order, bool swap,
                           Reduction reduction) {
      return Sample{.inputs = {{.shape = shape, .low = 0, .high = 1},
                               {.shape = shape, .low = 2, .high = 3},
                               {.shape = shape, .low = -4, .high = -3}},
                    .attributes = Attributes(margin, order, 1e-6, swap, to_attribute(reduction))};
    };
    return {sample({3, 7}, 20, 2, false, Reduction::mean),
            sample({2, 3, 4}, 30, 1, true, Reduction::sum),
            sample({2, 5}, 40, 3, false, Reduction::none),
            sample({2, 3}, 0.5, 2, true, Reduction::mean),
            sample({0, 3}, 1, 2, false, Reduction::mean)};
  }
};

}  // namespace

std::vector<const OpRecord*> vector_loss_ops() {
  return {&record<SmoothL1>(), &record<WeightedBinaryCrossEntropy>(), &record<CosineSimilarity>(),
          &record<CosineEmbedding>(), &record<Triplet>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;
using ops::to_attribute;

Tensor smooth_l1_loss(const Operand& predictions, const Operand& targets,
                      const SmoothL1Options& options) {
  return call(record<ops::SmoothL1>(), {predictions, targets},
              Attributes(options.beta, to_attribute(options.reduction)));
}

Tensor binary_cross_entropy_with_logits(const Operand& logits, const Operand& targets,
                                        const Operand& positive_weight, Reduction reduction) {
  const ops::OpRecord& op = record<ops::WeightedBinaryCrossEntropy>();
  const Attributes attributes(to_attribute(reduction));
  if (!positive_weight.is_scalar() || logits.is_scalar()) {
    return call(op, {logits, targets, positive_weight}, attributes);
  }
  const Site site = logits.site();
  const Tensor weight = ops::in_call(op.name, site, [&] {
    const DType dtype = logits.tensor().body(op.name, site).dtype;
    const DeviceScope device(logits.tensor().device());
    return full({}, positive_weight.scalar(), dtype, site);
  });
  return call(op, {logits, targets, {weight, site}}, attributes);
}

Tensor cosine_similarity(const Operand& a, const Operand& b, int axis, double epsilon) {
  return call(record<ops::CosineSimilarity>(), {a, b}, Attributes(std::int64_t{axis}, epsilon));
}

Tensor cosine_embedding_loss(const Operand& a, const Operand& b, const Operand& labels,
                             const CosineLossOptions& options) {
  return call(record<ops::CosineEmbedding>(), {a, b, labels},
              Attributes(options.margin, to_attribute(options.reduction)));
}

Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                           const TripletOptions& options) {
  return call(record<ops::Triplet>(), {anchor, positive, negative},
              Attributes(options.margin, options.order, options.epsilon, options.swap,
                         to_attribute(options.reduction)));
}

}  // namespace tenure
