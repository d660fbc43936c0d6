#include <cmath>

#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/recurrent.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/recurrent_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

/// What a step computes for one unit.
struct GruUnit {
  GruUnit(const std::vector<Reference>& in, std::int64_t row, std::int64_t unit) {
    const std::int64_t units = in[2].shape[1];
    const auto x = [&](int gate) {
      return in[0].values[static_cast<std::size_t>((row * 3 + gate) * units + unit)];
    };
    const auto hidden = [&](int gate) {
      return in[1].values[static_cast<std::size_t>((row * 3 + gate) * units + unit)];
    };
    r = sigmoid_of(x(0) + hidden(0));
    z = sigmoid_of(x(1) + hidden(1));
    h = hidden(2);
    n = std::tanh(x(2) + r * h);
    state = in[2].values[static_cast<std::size_t>(row * units + unit)];
  }
  long double r, z, h, n, state;
};

const OpRecord& gru_gradient_record();

struct GruCell : CellOp {
  static constexpr auto name = "gru_cell";
  static constexpr auto signature = "gru_cell(x, h, state)";
  static constexpr auto doc =
      "one step of a GRU from the products x and h for its gates r, z, n: the new state";

  static Specs infer(const Kernel& k) {
    check_cell(k, 3);
    return {{k.in[2].dtype, k.in[2].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {make_reference(in[2].shape, [&](const Dims& index) {
      const GruUnit u(in, index[0], index[1]);
      return (1 - u.z) * u.n + u.z * u.state;
    })};
  }
  static std::vector<Sample> samples() { return cell_samples(3, 1); }
  static void run_gradient(Backward& b) {
    std::vector<Tensor> results = run_many_now(gru_gradient_record(),
                                               std::vector<Operand>{{b.inputs[0], b.site},
                                                                    {b.inputs[1], b.site},
                                                                    {b.inputs[2], b.site},
                                                                    {b.gradients[0], b.site}},
                                               b.attributes, b.site);
    for (std::size_t i = 0; i < 3; ++i) {
      if (b.wants(i)) b.results[i] = std::move(results[i]);
    }
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2), input_data(0, 1, 2), input_data(0, 1, 2)}},
      .run = run_gradient};
};

struct GruCellGradient : CellOp {
  static constexpr auto name = "gru_cell_gradient";
  static constexpr auto signature = "gru_cell_gradient(x, h, state, gradient)";
  static constexpr auto doc = "the gradients of gru_cell by x, h and the state";
  static constexpr int outputs = 3;

  static Specs infer(const Kernel& k) {
    check_cell(k, 3);
    return {{k.in[0].dtype, k.in[0].shape},
            {k.in[0].dtype, k.in[0].shape},
            {k.in[2].dtype, k.in[2].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const std::int64_t units = in[2].shape[1];
    const auto slope = [&](const Dims& index, bool by_hidden) {
      const std::int64_t number = index[1] % units;
      const GruUnit u(in, index[0], number);
      const long double d = in[3].values[static_cast<std::size_t>(index[0] * units + number)];
      const long double dn = d * (1 - u.z) * (1 - u.n * u.n);
      switch (index[1] / units) {
        case 0:
          return dn * u.h * u.r * (1 - u.r);
        case 1:
          return d * (u.state - u.n) * u.z * (1 - u.z);
        default:
          return by_hidden ? dn * u.r : dn;
      }
    };
    return {make_reference(in[0].shape, [&](const Dims& index) { return slope(index, false); }),
            make_reference(in[1].shape, [&](const Dims& index) { return slope(index, true); }),
            make_reference(in[2].shape, [&](const Dims& index) {
              return at(in[3], index) * GruUnit(in, index[0], index[1]).z;
            })};
  }
  static std::vector<Sample> samples() { return cell_samples(3, 2); }

  // Derivatives of the gradient's formulas, with the gradients `x` and `h` of its first two
  // results, for each gate, and `ds` of its third.
  static void run_gradient(Backward& b) {
    const std::vector<Tensor> from_x = split_gates(b.inputs[0], 3);
    const std::vector<Tensor> from_h = split_gates(b.inputs[1], 3);
    const Tensor r = sigmoid(from_x[0] + from_h[0]);
    const Tensor z = sigmoid(from_x[1] + from_h[1]);
    const Tensor& q = from_h[2];
    const Tensor n = tanh(from_x[2] + r * q);
    const Tensor r1 = r * (1.0 - r);
    const Tensor z1 = z * (1.0 - z);
    const Tensor n1 = 1.0 - n * n;
    const Tensor& d = b.inputs[3];
    const std::vector<Tensor> x = split_gates(given_or_zeros(b, 0, 0), 3);
    const std::vector<Tensor> h = split_gates(given_or_zeros(b, 1, 1), 3);
    const Tensor ds = given_or_zeros(b, 2, 2);
    const Tensor xr = x[0] + h[0];
    const Tensor xz = x[1] + h[1];
    const Tensor difference = b.inputs[2] - n;
    const Tensor through_n = x[2] + r * h[2] + xr * q * r1;
    const Tensor kept = d * (1.0 - z);
    const Tensor dn = kept * n1;
    const Tensor by_n = kept * through_n * (n * n1 * -2.0) - n1 * d * xz * z1;
    if (b.wants(0) || b.wants(1)) {
      const Tensor by_r = dn * (h[2] * r1 + xr * q * (r1 * (1.0 - r * 2.0))) + by_n * q * r1;
      const Tensor by_z =
          z1 * d * (ds - n1 * through_n) + d * xz * difference * (z1 * (1.0 - z * 2.0));
      if (b.wants(0)) b.results[0] = concat({by_r, by_z, by_n}, 1);
      if (b.wants(1)) b.results[1] = concat({by_r, by_z, dn * xr * r1 + by_n * r}, 1);
    }
    if (b.wants(2)) b.results[2] = d * xz * z1;
    if (b.wants(3)) b.results[3] = (1.0 - z) * n1 * through_n + xz * difference * z1 + ds * z;
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2, 3), input_data(0, 1, 2, 3), input_data(0, 1, 2, 3),
                 input_data(0, 1, 2, 3)}},
      .run = run_gradient};
};

const OpRecord& gru_gradient_record() { return record<GruCellGradient>(); }

}  // namespace

std::vector<const OpRecord*> gru_ops() { return {&record<GruCell>(), &record<GruCellGradient>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor gru_cell(const Operand& x, const Operand& h, const Operand& state) {
  return ops::call(ops::record<ops::GruCell>(), {x, h, state});
}

}  // namespace tenure
