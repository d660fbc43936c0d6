#pragma once

#include <optional>
#include <vector>

#include "tenure/ops/core/record.h"

// What attention and its gradient (attention_gradient.cpp) share. Attributes: causal, whether a
// scale is given, the scale.

namespace tenure::ops {

/// The input behind `others` others, if it is there.
inline const View* mask_behind(const Kernel& k, std::size_t others) {
  return k.in.size() > others ? &k.in[others] : nullptr;
}
/// Throws unless q, k, v and the mask (nullptr: none) fit each other.
void check_attention(const Kernel& k, const View* mask);
double scale_of(const Attributes& a, std::int64_t d);
/// Some of the first axis, which is one of heads: the mask is cut if it has that axis.
std::optional<Parts> parts_of_attention(const Kernel& k, const View* mask);
/// How many queries see how many keys, over all heads.
double pairs_seen(const Kernel& k);

/// q, k, v and masks, without and with a gradient of the output.
std::vector<Sample> attention_samples(bool with_gradient);
/// The weights softmax(scale q k^T + mask) of in[0] and in[1]: [..., queries, keys].
Reference attention_weights(const std::vector<Reference>& in, const Reference* mask,
                            const Attributes& a);
/// Element (row, column) of matrix `head`.
long double matrix_at(const Reference& x, std::int64_t head, std::int64_t row, std::int64_t column);
std::int64_t matrix_count(const Shape& shape);

const OpRecord& attention_gradient_record();

struct Backward;
/// The gradient of attention by a mask of floats; inputs q, k, v, mask.
Tensor mask_gradient(const Backward& b);

}  // namespace tenure::ops
