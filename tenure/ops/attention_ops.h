#pragma once

#include <optional>

#include "tenure/ops/core/operand.h"

namespace tenure {

struct AttentionOptions {
  /// Query i sees the keys up to i + keys - queries: the last one sees all.
  bool causal = false;
  /// What the products of queries and keys are multiplied with; 1 / sqrt(d) unless given.
  std::optional<double> scale{};
};

/// Scaled dot-product attention, softmax(scale q k^T) v: q is [..., queries, d], k [..., keys, d],
/// v
/// [..., keys, e], with equal leading dimensions (batch, heads) and of one floating type. A few
/// rows of scores exist at a time, forwards and backwards, and nothing is kept for the way back but
/// the inputs. Queries that see no key give zeros.
Tensor attention(const Operand& q, const Operand& k, const Operand& v,
                 const AttentionOptions& options = {});
/// The same with a mask that broadcasts to [..., queries, keys]: bool, true where a query sees a
/// key, or a float of q's type that is added to the scaled products.
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionOptions& options = {});

}  // namespace tenure
