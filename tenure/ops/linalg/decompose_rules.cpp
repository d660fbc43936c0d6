#include <optional>

#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg/rules.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops::rules {
namespace {

/// Writes rules at the line of their call; nothing stands for a zero.
class Writer {
 public:
  using Maybe = std::optional<Tensor>;

  explicit Writer(const Backward& b) : b_(b), site_(b.site) {}

  Maybe gradient(std::size_t o) const {
    return b_.gradients[o].defined() ? Maybe(b_.gradients[o]) : std::nullopt;
  }
  Operand at(const Tensor& x) const { return {x, site_}; }
  Tensor turn(const Tensor& x) const { return transpose(at(x)); }
  Tensor times(const Tensor& a, const Tensor& b) const { return matmul(at(a), at(b)); }
  Tensor plus(const Tensor& a, const Tensor& b) const { return add(at(a), at(b)); }
  Tensor minus(const Tensor& a, const Tensor& b) const { return sub(at(a), at(b)); }
  Tensor scaled(const Tensor& a, const Tensor& b) const { return mul(at(a), at(b)); }
  Maybe plus(const Maybe& a, const Maybe& b) const {
    if (a && b) return plus(*a, *b);
    return a ? a : b;
  }
  /// Numbers for each row, or each column, of a matrix.
  Tensor for_rows(const Tensor& numbers) const { return expand_dims(at(numbers), -1); }
  Tensor for_columns(const Tensor& numbers) const { return expand_dims(at(numbers), -2); }
  Tensor unit(std::int64_t n) const { return eye(n, std::nullopt, 0, b_.specs[0].dtype, site_); }
  /// x[i, j] / (w[j] - w[i]), and 0 on the diagonal.
  Tensor over_differences(const Tensor& x, const Tensor& w) const {
    const Tensor one = unit(w.shape().back());
    const Tensor between = plus(minus(for_columns(w), for_rows(w)), one);
    const Tensor beside = sub(Operand(1.0, site_), at(one));
    return scaled(div(at(x), at(between)), beside);
  }
  Tensor skew(const Tensor& x) const { return minus(x, turn(x)); }

 private:
  const Backward& b_;
  Site site_;
};

/// Of a matrix that is not wider than high.
Tensor qr_of_columns(const Writer& w, const Tensor& q, const Tensor& r, const Writer::Maybe& gq,
                     const Writer::Maybe& gr) {
  // (gQ + Q M) R^-T, where M mirrors the upper triangle of gR R^T - Q^T gQ.
  Writer::Maybe both = gr ? Writer::Maybe(w.times(*gr, w.turn(r))) : std::nullopt;
  if (gq) {
    const Tensor along = w.times(w.turn(q), *gq);
    both = both ? w.minus(*both, along) : neg(w.at(along));
  }
  const Tensor mirrored = w.plus(triu(w.at(*both)), w.turn(triu(w.at(*both), 1)));
  const Tensor sum = *w.plus(gq, Writer::Maybe(w.times(q, mirrored)));
  return w.turn(tenure::solve_triangular(w.at(r), w.at(w.turn(sum)), {.upper = true}));
}

}  // namespace

void qr(Backward& b) {
  const Writer w(b);
  const Tensor& q = b.outputs[0];
  const Tensor& r = b.outputs[1];
  const std::int64_t rows = q.shape()[q.rank() - 2];
  const std::int64_t columns = r.shape().back();
  Writer::Maybe gq = w.gradient(0);
  const Writer::Maybe gr = w.gradient(1);
  if (columns <= rows) {
    b.results[0] = qr_of_columns(w, q, r, gq, gr);
    return;
  }
  // Columns beyond the square are Q times those of R.
  const auto first = [&](const Tensor& x) { return slice(w.at(x), -1, 0, rows); };
  const auto rest = [&](const Tensor& x) { return slice(w.at(x), -1, rows, columns); };
  const Tensor zeros_beyond = gr ? Tensor() : zeros(rest(r).shape(), b.specs[0].dtype, b.site);
  Tensor beyond = zeros_beyond;
  Writer::Maybe square;
  if (gr) {
    square = first(*gr);
    const Tensor gr_rest = rest(*gr);
    beyond = w.times(q, gr_rest);
    const Tensor a_rest = w.times(q, rest(r));
    gq = w.plus(gq, Writer::Maybe(w.times(a_rest, w.turn(gr_rest))));
  }
  const Tensor left = qr_of_columns(w, q, first(r), gq, square);
  b.results[0] = concat({w.at(left), w.at(beyond)}, -1);
}

void eigh(Backward& b) {
  const Writer w(b);
  const Tensor& values = b.outputs[0];
  const Tensor& vectors = b.outputs[1];
  Writer::Maybe inner;
  if (const auto g = w.gradient(1)) {
    inner = w.over_differences(w.times(w.turn(vectors), *g), values);
  }
  if (const auto g = w.gradient(0)) {
    inner = w.plus(inner, Writer::Maybe(w.scaled(w.unit(values.shape().back()), w.for_rows(*g))));
  }
  const Tensor whole = w.times(w.times(vectors, *inner), w.turn(vectors));
  b.results[0] = mul(b.at(w.plus(whole, w.turn(whole))), {0.5, b.site});
}

void svd(Backward& b) {
  const Writer w(b);
  const Tensor& u = b.outputs[0];
  const Tensor& s = b.outputs[1];
  const Tensor& vh = b.outputs[2];
  const std::int64_t size = s.shape().back();
  const Tensor squares = square(w.at(s));
  Writer::Maybe inner;  // between U and Vh
  if (const auto g = w.gradient(0)) {
    const Tensor turned = w.over_differences(w.skew(w.times(w.turn(u), *g)), squares);
    inner = w.scaled(turned, w.for_columns(s));
  }
  if (const auto g = w.gradient(2)) {
    const Tensor turned = w.over_differences(w.skew(w.times(vh, w.turn(*g))), squares);
    inner = w.plus(inner, Writer::Maybe(w.scaled(w.for_rows(s), turned)));
  }
  if (const auto g = w.gradient(1)) {
    inner = w.plus(inner, Writer::Maybe(w.scaled(w.unit(size), w.for_rows(*g))));
  }
  Tensor sum = w.times(w.times(u, *inner), vh);
  // What of the gradients of U and V is orthogonal to them.
  if (const auto g = w.gradient(0); g && u.shape()[u.rank() - 2] > size) {
    const Tensor beside = w.minus(*g, w.times(u, w.times(w.turn(u), *g)));
    sum = w.plus(sum, w.times(div(w.at(beside), w.at(w.for_columns(s))), vh));
  }
  if (const auto g = w.gradient(2); g && vh.shape().back() > size) {
    const Tensor beside = w.minus(*g, w.times(w.times(*g, w.turn(vh)), vh));
    sum = w.plus(sum, w.times(u, div(w.at(beside), w.at(w.for_rows(s)))));
  }
  b.results[0] = sum;
}

}  // namespace tenure::ops::rules
