#include <cmath>

#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/recurrent.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/recurrent_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

/// What a step computes for one unit.
struct LstmUnit {
  LstmUnit(const std::vector<Reference>& in, std::int64_t row, std::int64_t unit) {
    const std::int64_t units = in[2].shape[1];
    const auto gate = [&](int number) {
      const auto at = static_cast<std::size_t>((row * 4 + number) * units + unit);
      return in[0].values[at] + in[1].values[at];
    };
    i = sigmoid_of(gate(0));
    f = sigmoid_of(gate(1));
    g = std::tanh(gate(2));
    o = sigmoid_of(gate(3));
    c = in[2].values[static_cast<std::size_t>(row * units + unit)];
    new_c = f * c + i * g;
  }
  long double i, f, g, o, c, new_c;
};

const OpRecord& lstm_gradient_record();

/// x and h have the same gradient.
void give_to_both(Backward& b, const Tensor& gradient) {
  if (b.wants(0)) b.results[0] = gradient;
  if (b.wants(1)) b.results[1] = gradient;
}

struct LstmCell : CellOp {
  static constexpr auto name = "lstm_cell";
  static constexpr auto signature = "lstm_cell(x, h, c)";
  static constexpr auto doc =
      "one step of an LSTM from the products x and h for its gates i, f, g, o: new h and new c";
  static constexpr int outputs = 2;

  static Specs infer(const Kernel& k) {
    check_cell(k, 4);
    return {{k.in[2].dtype, k.in[2].shape}, {k.in[2].dtype, k.in[2].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {make_reference(in[2].shape,
                           [&](const Dims& index) {
                             const LstmUnit unit(in, index[0], index[1]);
                             return unit.o * std::tanh(unit.new_c);
                           }),
            make_reference(in[2].shape, [&](const Dims& index) {
              return LstmUnit(in, index[0], index[1]).new_c;
            })};
  }
  static std::vector<Sample> samples() { return cell_samples(4, 1); }
  static void run_gradient(Backward& b) {
    std::vector<Tensor> results =
        run_many_now(lstm_gradient_record(),
                     std::vector<Operand>{{b.inputs[0], b.site},
                                          {b.inputs[1], b.site},
                                          {b.inputs[2], b.site},
                                          {given_or_zeros(b, 0, 2), b.site},
                                          {given_or_zeros(b, 1, 2), b.site}},
                     b.attributes, b.site);
    give_to_both(b, results[0]);
    if (b.wants(2)) b.results[2] = std::move(results[1]);
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2), input_data(0, 1, 2), input_data(0, 1, 2)}},
      .run = run_gradient};
};

struct LstmCellGradient : CellOp {
  static constexpr auto name = "lstm_cell_gradient";
  static constexpr auto signature = "lstm_cell_gradient(x, h, c, new_h_gradient, new_c_gradient)";
  static constexpr auto doc = "the gradients of lstm_cell by x + h and by c";
  static constexpr int outputs = 2;

  static Specs infer(const Kernel& k) {
    check_cell(k, 4);
    return {{k.in[0].dtype, k.in[0].shape}, {k.in[2].dtype, k.in[2].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const std::int64_t units = in[2].shape[1];
    struct Slopes {
      long double of_gates[4];
      long double of_c;
    };
    const auto slopes = [&](std::int64_t row, std::int64_t number) -> Slopes {
      const LstmUnit u(in, row, number);
      const auto at = static_cast<std::size_t>(row * units + number);
      const long double t = std::tanh(u.new_c);
      const long double dh = in[3].values[at];
      const long double dc = in[4].values[at] + dh * u.o * (1 - t * t);
      return {{dc * u.g * u.i * (1 - u.i), dc * u.c * u.f * (1 - u.f), dc * u.i * (1 - u.g * u.g),
               dh * t * u.o * (1 - u.o)},
              dc * u.f};
    };
    return {make_reference(in[0].shape,
                           [&](const Dims& index) {
                             return slopes(index[0], index[1] % units).of_gates[index[1] / units];
                           }),
            make_reference(in[2].shape,
                           [&](const Dims& index) { return slopes(index[0], index[1]).of_c; })};
  }
  static std::vector<Sample> samples() { return cell_samples(4, 3); }

  // Derivatives of the gradient's formulas, with the gradients `a` of its first result, for each
  // gate, and `dc` of its second. Of sigmoid s: s' = s (1 - s), s'' = s' (1 - 2 s); of tanh t:
  // t' = 1 - t^2, t'' = -2 t t'.
  static void run_gradient(Backward& b) {
    const std::vector<Tensor> gates = split_gates(b.inputs[0] + b.inputs[1], 4);
    const Tensor i = sigmoid(gates[0]);
    const Tensor f = sigmoid(gates[1]);
    const Tensor g = tanh(gates[2]);
    const Tensor o = sigmoid(gates[3]);
    const Tensor i1 = i * (1.0 - i);
    const Tensor f1 = f * (1.0 - f);
    const Tensor g1 = 1.0 - g * g;
    const Tensor o1 = o * (1.0 - o);
    const Tensor& c = b.inputs[2];
    const Tensor& dh = b.inputs[3];
    const Tensor t = tanh(f * c + i * g);
    const Tensor t1 = 1.0 - t * t;
    const Tensor s = b.inputs[4] + dh * o * t1;
    const std::vector<Tensor> a = split_gates(given_or_zeros(b, 0, 0), 4);
    const Tensor dc = given_or_zeros(b, 1, 2);
    const Tensor through_s = a[0] * g * i1 + a[1] * c * f1 + a[2] * i * g1 + dc * f;
    const Tensor through_c = dh * t1 * (a[3] * o1 - o * t * through_s * 2.0);
    if (b.wants(0) || b.wants(1)) {
      const Tensor of_gates =
          concat({s * (a[0] * g * (i1 * (1.0 - i * 2.0)) + a[2] * i1 * g1) + through_c * g * i1,
                  s * (a[1] * c * (f1 * (1.0 - f * 2.0)) + dc * f1) + through_c * c * f1,
                  s * (a[0] * g1 * i1 - a[2] * i * g * g1 * 2.0) + through_c * i * g1,
                  a[3] * dh * t * (o1 * (1.0 - o * 2.0)) + dh * t1 * through_s * o1},
                 1);
      give_to_both(b, of_gates);
    }
    if (b.wants(2)) b.results[2] = s * a[1] * f1 + through_c * f;
    if (b.wants(3)) b.results[3] = a[3] * t * o1 + o * t1 * through_s;
    if (b.wants(4)) b.results[4] = through_s;
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2, 3, 4), input_data(0, 1, 2, 3, 4), input_data(0, 1, 2, 3, 4),
                 input_data(0, 1, 2, 3, 4)}},
      .run = run_gradient};
};

const OpRecord& lstm_gradient_record() { return record<LstmCellGradient>(); }

}  // namespace

std::vector<const OpRecord*> lstm_ops() {
  return {&record<LstmCell>(), &record<LstmCellGradient>()};
}

}  // namespace tenure::ops

namespace tenure {

LstmState lstm_cell(const Operand& x, const Operand& h, const Operand& c) {
  std::vector<Tensor> results = ops::run_many_now(
      ops::record<ops::LstmCell>(), std::vector<Operand>{x, h, c}, ops::kNoAttributes, x.site());
  return {std::move(results[0]), std::move(results[1])};
}

}  // namespace tenure
