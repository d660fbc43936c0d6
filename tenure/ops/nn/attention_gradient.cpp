#include <limits>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/nn/attention.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

/// Which keys each query may see; an empty handle if all.
Tensor seen_keys(const Backward& b, const Tensor& mask) {
  Tensor seen;
  if (b.attributes.flag(AttentionAttributes::causal)) {
    const Shape& q = b.specs[0].shape;
    const Shape& k = b.specs[1].shape;
    const std::int64_t queries = q[q.size() - 2];
    const std::int64_t keys = k[k.size() - 2];
    const Tensor last = arange(keys - queries, keys, 1, DType::int64);
    seen = arange(keys, DType::int64) <= expand_dims(last, -1);
  }
  if (!mask.defined()) return seen;
  const Tensor open =
      mask.dtype() == DType::boolean ? mask : mask > -std::numeric_limits<double>::infinity();
  return seen.defined() ? logical_and(seen, open) : open;
}

/// The matrices of attention as tensors, with all scores at once: for gradients that no fused op
/// has.
struct Whole {
  Whole(const Backward& b, const Tensor& mask, const Tensor& gradient)
      : q(b.inputs[0]),
        k(b.inputs[1]),
        v(b.inputs[2]),
        dout(gradient),
        scale(scale_of(b.attributes, b.specs[0].shape.back())) {
    const Tensor seen = seen_keys(b, mask);
    Tensor scores = matmul(q, transpose(k)) * scale;
    if (mask.defined() && mask.dtype() != DType::boolean) scores = std::move(scores) + mask;
    if (seen.defined()) {
      scores = where(seen, std::move(scores), -std::numeric_limits<double>::infinity());
    }
    p = softmax(std::move(scores));
    if (seen.defined()) p = where(seen, std::move(p), 0.0);
    dp = matmul(dout, transpose(v));
    centered = dp - sum(p * dp, -1, true);
    ds = p * centered;
  }

  Tensor q, k, v, dout;
  double scale;
  Tensor p;         ///< weights
  Tensor dp;        ///< their gradient
  Tensor centered;  ///< the same less its mean
  Tensor ds;        ///< the gradient of the scaled scores
};

struct AttentionGradient {
  static constexpr auto family = "attention";
  static constexpr auto name = "attention_gradient";
  static constexpr auto signature = "attention_gradient(q, k, v, gradient, mask, causal, scale)";
  static constexpr auto doc = "the gradients of attention by q, k and v";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr int outputs = 3;
  static constexpr double ulp_of_largest = 64;

  static Specs infer(const Kernel& k) {
    check_attention(k, mask_behind(k, 4));
    require_type_of_first(k, 3);
    Shape out = k.in[0].shape;
    out[out.size() - 1] = k.in[2].shape.back();
    require_shape(k, 3, "gradients of the output", out);
    return {{k.in[0].dtype, k.in[0].shape},
            {k.in[0].dtype, k.in[1].shape},
            {k.in[0].dtype, k.in[2].shape}};
  }
  static double flops(const Kernel& k) {
    return 2 * pairs_seen(k) *
           static_cast<double>(3 * k.in[0].shape.back() + 2 * k.in[2].shape.back());
  }
  static std::optional<Parts> parts(const Kernel& k) {
    return parts_of_attention(k, mask_behind(k, 4));
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference p = attention_weights(in, in.size() == 5 ? &in[4] : nullptr, a);
    std::vector<Reference> out;
    for (int i = 0; i < 3; ++i) {
      out.push_back(
          make_reference(in[static_cast<std::size_t>(i)].shape, [](const Dims&) { return 0.0L; }));
    }
    const std::int64_t queries = p.shape[p.shape.size() - 2];
    const std::int64_t keys = p.shape.back();
    const std::int64_t d = in[0].shape.back();
    const std::int64_t e = in[2].shape.back();
    const auto add = [](Reference& x, std::int64_t head, std::int64_t row, std::int64_t column,
                        long double value) {
      const std::int64_t rows = x.shape[x.shape.size() - 2];
      x.values[static_cast<std::size_t>((head * rows + row) * x.shape.back() + column)] += value;
    };
    for (std::int64_t head = 0; head < matrix_count(p.shape); ++head) {
      for (std::int64_t i = 0; i < queries; ++i) {
        std::vector<long double> dp(static_cast<std::size_t>(keys));
        long double mean = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          const long double weight = matrix_at(p, head, i, j);
          long double& slope = dp[static_cast<std::size_t>(j)];
          for (std::int64_t c = 0; c < e; ++c) {
            slope += matrix_at(in[3], head, i, c) * matrix_at(in[2], head, j, c);
            add(out[2], head, j, c, weight * matrix_at(in[3], head, i, c));
          }
          mean += weight * slope;
        }
        for (std::int64_t j = 0; j < keys; ++j) {
          const long double ds =
              scale_of(a, d) * matrix_at(p, head, i, j) * (dp[static_cast<std::size_t>(j)] - mean);
          for (std::int64_t c = 0; c < d; ++c) {
            add(out[0], head, i, c, ds * matrix_at(in[1], head, j, c));
            add(out[1], head, j, c, ds * matrix_at(in[0], head, i, c));
          }
        }
      }
    }
    return out;
  }
  static std::vector<Sample> samples() { return attention_samples(true); }

  // With the gradients a, b, c of its three results, they contribute through ds by `w`, and through
  // the weights p also by dout c^T.
  static void run_gradient(Backward& b) {
    const bool has_mask = b.inputs.size() == 5;
    const Whole x(b, has_mask ? b.inputs[4] : Tensor(), b.inputs[3]);
    const auto given = [&](std::size_t i) {
      return b.gradients[i].defined() ? b.gradients[i] : zeros_of_input(b, i);
    };
    const Tensor da = given(0);
    const Tensor db = given(1);
    const Tensor dc = given(2);
    const Tensor w = (matmul(da, transpose(x.k)) + matmul(x.q, transpose(db))) * x.scale;
    const Tensor mean = sum(x.p * w, -1, true);
    const Tensor g_dp = x.p * (w - mean);
    const Tensor g_p = w * x.centered - mean * x.dp + matmul(x.dout, transpose(dc));
    const Tensor g_s = x.p * (g_p - sum(x.p * g_p, -1, true));
    if (b.wants(0)) b.results[0] = (matmul(g_s, x.k) + matmul(x.ds, db)) * x.scale;
    if (b.wants(1)) {
      b.results[1] = (matmul(transpose(g_s), x.q) + matmul(transpose(x.ds), da)) * x.scale;
    }
    if (b.wants(2)) b.results[2] = matmul(transpose(g_dp), x.dout);
    if (b.wants(3)) b.results[3] = matmul(g_dp, x.v) + matmul(x.p, dc);
    if (has_mask && b.wants(4)) b.results[4] = to_input(b, 4, g_s);
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2, 3, 4), input_data(0, 1, 2, 3, 4), input_data(0, 1, 2, 3, 4),
                 input_data(0, 1, 2, 3, 4)}},
      .run = run_gradient};
};

}  // namespace

const OpRecord& attention_gradient_record() { return record<AttentionGradient>(); }

Tensor mask_gradient(const Backward& b) {
  return to_input(b, 3, Whole(b, b.inputs[3], b.gradients[0]).ds);
}

}  // namespace tenure::ops
