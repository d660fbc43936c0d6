#include "tenure/ops/elementwise/gradients.h"

namespace tenure::ops::gradients {
namespace {

bool is_last_wanted(const Backward& b, std::size_t i) {
  for (std::size_t j = i + 1; j < b.specs.size(); ++j) {
    if (b.wants(j)) return false;
  }
  return true;
}

}  // namespace

void give(Backward& b, std::size_t i, Tensor gradient) {
  b.results[i] = to_input(b, i, std::move(gradient));
}

Operand gradient_for(Backward& b, std::size_t i) {
  return is_last_wanted(b, i) ? b.take_gradient() : b.gradient();
}

Tensor handle_for(Backward& b, std::size_t i) {
  return is_last_wanted(b, i) ? std::move(b.gradients[0]) : b.gradients[0];
}

bool is_number(const Backward& b, std::size_t i) { return !b.numbers.empty() && b.numbers[i]; }

void multiply(Backward& b, Tensor slope) {
  b.results[0] = tenure::mul(b.take_gradient(), b.at(std::move(slope)));
}

Tensor one_and_square(Backward& b, double sign) {
  Tensor square = tenure::square(b.take_input(0));
  return sign > 0 ? tenure::add(b.at(std::move(square)), 1.0)
                  : tenure::sub(Operand(1.0, b.site), b.at(std::move(square)));
}

Tensor sigmoid_slope(const Backward& b, const Tensor& s) {
  Tensor rest = tenure::sub(Operand(1.0, b.site), Operand(s, b.site));
  return tenure::mul(b.at(std::move(rest)), Operand(s, b.site));
}

Tensor sigmoid_bend(const Backward& b, const Tensor& s) {
  return tenure::sub(Operand(1.0, b.site), b.at(tenure::mul(Operand(s, b.site), 2.0)));
}

void share(Backward& b, Tensor (*wins)(const Operand&, const Operand&)) {
  const Tensor equals = tenure::equal(b.input(0), b.input(1));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!b.wants(i)) continue;
    const Tensor is_winner = wins(b.input(i), b.input(1 - i));
    Tensor tied = tenure::mul(b.gradient(), 0.5);
    tied = tenure::where(Operand(equals, b.site), b.at(std::move(tied)), 0.0);
    give(b, i,
         tenure::where(Operand(is_winner, b.site), gradient_for(b, i), b.at(std::move(tied))));
  }
}

}  // namespace tenure::ops::gradients
