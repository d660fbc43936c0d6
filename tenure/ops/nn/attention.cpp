#include "tenure/ops/nn/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenure/memory/threads/arguments.h"
#include "tenure/ops/attention_ops.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/types.h"

namespace tenure::ops {
namespace {

[[noreturn]] void reject(const Kernel& k, const std::string& problem) {
  throw ShapeError(
      k.op,
      fmt::format("q {}, k {} and v {} do not fit: {}", to_string(k.in[0].shape),
                  to_string(k.in[1].shape), to_string(k.in[2].shape), problem),
      {k.in[0].shape.to_vector(), k.in[1].shape.to_vector(), k.in[2].shape.to_vector()});
}

Shape leading(Shape shape) {
  shape.erase(shape.size() - 1);
  shape.erase(shape.size() - 1);
  return shape;
}

std::int64_t rows_of(const Shape& shape) { return shape[shape.size() - 2]; }

std::int64_t seen(bool causal, std::int64_t query, std::int64_t queries, std::int64_t keys) {
  return causal ? std::clamp<std::int64_t>(query + 1 + keys - queries, 0, keys) : keys;
}

}  // namespace

void check_attention(const Kernel& k, const View* mask) {
  require_same_type(k, 3);
  for (int i = 0; i < 3; ++i) {
    if (k.in[static_cast<std::size_t>(i)].shape.size() < 2) reject(k, "each has two axes or more");
  }
  const Shape& q = k.in[0].shape;
  const Shape& keys = k.in[1].shape;
  const Shape& values = k.in[2].shape;
  if (leading(q) != leading(keys) || leading(q) != leading(values)) {
    reject(k, "they have the same dimensions before the last two");
  }
  if (q.back() != keys.back()) reject(k, "q and k have the same last dimension");
  if (rows_of(keys) != rows_of(values)) reject(k, "there is a row of v for each row of k");
  if (mask == nullptr) return;
  if (mask->dtype != DType::boolean && mask->dtype != k.in[0].dtype) {
    throw DTypeError(k.op, fmt::format("a mask is bool or {}, not {}", name_of(k.in[0].dtype),
                                       name_of(mask->dtype)));
  }
  Shape scores = q;
  scores[scores.size() - 1] = rows_of(keys);
  if (mask->shape.size() > scores.size() || broadcast(mask->shape, scores, k.op) != scores) {
    throw ShapeError(k.op,
                     fmt::format("a mask of shape {} does not broadcast to {}",
                                 to_string(mask->shape), to_string(scores)),
                     {mask->shape.to_vector(), scores.to_vector()});
  }
}

double scale_of(const Attributes& a, std::int64_t d) {
  if (a.flag(AttentionAttributes::has_scale)) return a.number(AttentionAttributes::scale);
  return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(d, 1)));
}

std::optional<Parts> parts_of_attention(const Kernel& k, const View* mask) {
  const Shape& q = k.in[0].shape;
  if (q.size() < 3) return std::nullopt;
  std::uint32_t in = 0;
  for (std::size_t i = 0; i < k.in.size(); ++i) {
    const Shape& shape = k.in[i].shape;
    const bool is_cut = shape.size() == q.size() && shape[0] == q[0];
    if (!is_cut && &k.in[i] != mask) return std::nullopt;
    if (is_cut) in |= 1u << i;
  }
  return Parts{.in = in};
}

double pairs_seen(const Kernel& k) {
  const std::int64_t queries = rows_of(k.in[0].shape);
  const std::int64_t keys = rows_of(k.in[1].shape);
  double pairs = 0;
  for (std::int64_t i = 0; i < queries; ++i) {
    pairs +=
        static_cast<double>(seen(k.attributes.flag(AttentionAttributes::causal), i, queries, keys));
  }
  return pairs * static_cast<double>(matrix_count(k.in[0].shape));
}

std::int64_t matrix_count(const Shape& shape) { return count(leading(shape)); }

long double matrix_at(const Reference& x, std::int64_t head, std::int64_t row,
                      std::int64_t column) {
  return x
      .values[static_cast<std::size_t>((head * rows_of(x.shape) + row) * x.shape.back() + column)];
}

std::vector<Sample> attention_samples(bool with_gradient) {
  // Given, so that no layout makes all keys equal, or all values: then gradients are zero.
  const auto varied = [](const Shape& shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count(shape); ++i) {
      values.push_back(static_cast<double>(i * 37 % 127 - 63) / 64);
    }
    return values;
  };
  struct Case {
    Shape q, k, v;
    bool causal = false;
    std::optional<double> scale{};
    std::optional<Shape> mask{};
    std::optional<DType> mask_type{};
  };
  std::vector<Sample> samples;
  for (const Case& c :
       {Case{{2, 3, 7, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, true}, Case{{50, 16}, {70, 16}, {70, 40}},
        Case{{5, 3}, {9, 3}, {9, 5}, true, 0.7}, Case{{9, 3}, {5, 3}, {5, 2}, true},
        Case{{3, 1, 4}, {3, 6, 4}, {3, 6, 4}, true},
        Case{{2, 2, 5, 6}, {2, 2, 4, 6}, {2, 2, 4, 7}, false, {}, Shape{2, 1, 5, 4}},
        Case{{2, 4, 3}, {2, 6, 3}, {2, 6, 3}, true, {}, Shape{6}, DType::boolean},
        Case{{2, 60, 4}, {2, 60, 4}, {2, 60, 4}, true}, Case{{70, 72}, {90, 72}, {90, 24}, true},
        Case{{0, 4, 3}, {0, 4, 3}, {0, 4, 3}}, Case{{2, 3, 4}, {2, 0, 4}, {2, 0, 5}},
        Case{{2, 3, 4}, {2, 0, 4}, {2, 0, 5}, false, {}, Shape{3, 0}},
        Case{{2, 0, 4}, {2, 3, 4}, {2, 3, 5}}}) {
    Sample sample{.inputs = {{.shape = c.q, .low = -1, .high = 1},
                             {.shape = c.k, .values = varied(c.k)},
                             {.shape = c.v, .values = varied(c.v)}},
                  .attributes = Attributes(c.causal, c.scale.has_value(), c.scale.value_or(0.0))};
    if (with_gradient) {
      Shape out = c.q;
      out[out.size() - 1] = c.v.back();
      sample.inputs.push_back({.shape = out, .low = 0.5, .high = 1});
    }
    if (c.mask) sample.inputs.push_back({.shape = *c.mask, .dtype = c.mask_type});
    samples.push_back(std::move(sample));
  }
  return samples;
}

Reference attention_weights(const std::vector<Reference>& in, const Reference* mask,
                            const Attributes& a) {
  const std::int64_t queries = rows_of(in[0].shape);
  const std::int64_t keys = rows_of(in[1].shape);
  const std::int64_t d = in[0].shape.back();
  Shape shape = in[0].shape;
  shape[shape.size() - 1] = keys;
  Reference scores = make_reference(shape, [&](const Dims& index) -> long double {
    const std::int64_t query = index[index.size() - 2];
    const std::int64_t key = index.back();
    if (key >= seen(a.flag(AttentionAttributes::causal), query, queries, keys)) return -HUGE_VALL;
    const auto head = static_cast<std::int64_t>(flat(shape, index)) / (queries * keys);
    long double sum = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      sum += matrix_at(in[0], head, query, c) * matrix_at(in[1], head, key, c);
    }
    sum *= scale_of(a, d);
    if (mask == nullptr) return sum;
    const Strides strides = broadcast_strides(mask->shape, contiguous_strides(mask->shape), shape);
    std::int64_t place = 0;
    for (int axis = 0; axis < shape.size(); ++axis) place += index[axis] * strides[axis];
    const long double value = mask->values[static_cast<std::size_t>(place)];
    const bool is_bool = std::all_of(mask->values.begin(), mask->values.end(),
                                     [](long double x) { return x == 0 || x == 1; });
    return !is_bool ? sum + value : value != 0 ? sum : -HUGE_VALL;
  });
  for (std::int64_t row = 0; keys > 0 && row < count(shape) / keys; ++row) {
    const auto first = scores.values.begin() + row * keys;
    long double sum = 0;
    for (auto s = first; s != first + keys; ++s) sum += * s = std::exp(*s);
    for (auto s = first; s != first + keys; ++s) *s = sum == 0 ? 0 : *s / sum;
  }
  return scores;
}

namespace {

struct AttentionOp {
  static constexpr auto family = "attention";
  static constexpr Precision precision = Precision::narrow;
  static constexpr auto name = "attention";
  static constexpr auto signature = "attention(q, k, v, mask, causal = false, scale = 1 / sqrt(d))";
  static constexpr auto doc =
      "softmax(scale q k^T + mask) v, a few rows of scores at a time; the mask may be absent";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 32;

  static Specs infer(const Kernel& k) {
    check_attention(k, mask_behind(k, 3));
    Shape shape = k.in[0].shape;
    shape[shape.size() - 1] = k.in[2].shape.back();
    return {{k.in[0].dtype, shape}};
  }
  static double flops(const Kernel& k) {
    return 2 * pairs_seen(k) * static_cast<double>(k.in[0].shape.back() + k.in[2].shape.back());
  }
  static std::optional<Parts> parts(const Kernel& k) {
    return parts_of_attention(k, mask_behind(k, 3));
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference p = attention_weights(in, in.size() == 4 ? &in[3] : nullptr, a);
    Shape shape = in[0].shape;
    shape[shape.size() - 1] = in[2].shape.back();
    return {make_reference(shape, [&](const Dims& index) {
      const std::int64_t head =
          static_cast<std::int64_t>(flat(shape, index)) / (rows_of(shape) * shape.back());
      long double sum = 0;
      for (std::int64_t key = 0; key < p.shape.back(); ++key) {
        sum += matrix_at(p, head, index[index.size() - 2], key) *
               matrix_at(in[2], head, key, index.back());
      }
      return sum;
    })};
  }
  static std::vector<Sample> samples() { return attention_samples(false); }

  static void run_gradient(Backward& b) {
    const bool has_mask = b.inputs.size() == 4;
    if (has_mask && b.wants(3)) b.results[3] = mask_gradient(b);
    if (!b.wants(0) && !b.wants(1) && !b.wants(2)) return;
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < 3; ++i) operands.emplace_back(std::move(b.inputs[i]), b.site);
    operands.emplace_back(std::move(b.gradients[0]), b.site);
    if (has_mask) operands.emplace_back(std::move(b.inputs[3]), b.site);
    std::vector<Tensor> results =
        run_many_now(attention_gradient_record(), operands, b.attributes, b.site);
    for (std::size_t i = 0; i < 3; ++i) {
      if (b.wants(i)) b.results[i] = std::move(results[i]);
    }
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2, 3), input_data(0, 1, 2, 3), input_data(0, 1, 2, 3),
                 input_data(0, 1, 2, 3)}},
      .run = run_gradient};
};

}  // namespace

std::vector<const OpRecord*> attention_ops() {
  return {&record<AttentionOp>(), &attention_gradient_record()};
}

}  // namespace tenure::ops

namespace tenure {
namespace {

ops::Attributes attributes_of(const AttentionOptions& options, Site site) {
  mem::require_in(mem::kFinite, "attention", {{"scale", options.scale.value_or(0.0)}}, site);
  return ops::Attributes(options.causal, options.scale.has_value(), options.scale.value_or(0.0));
}

}  // namespace

Tensor attention(const Operand& q, const Operand& k, const Operand& v,
                 const AttentionOptions& options) {
  return ops::call(ops::record<ops::AttentionOp>(), {q, k, v}, attributes_of(options, q.site()));
}
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionOptions& options) {
  return ops::call(ops::record<ops::AttentionOp>(), {q, k, v, mask},
                   attributes_of(options, q.site()));
}

}  // namespace tenure
