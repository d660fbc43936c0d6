#include "tenure/ops/nn/recurrent.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/named.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tenure/ops/core/recorder.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/nn/types.h"
#include "tenure/ops/recurrent_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/size_ops.h"
#include "tenure/tensor/symbol.h"

namespace tenure::ops {

void check_cell(const Kernel& k, int gates) {
  const auto reject = [&](const std::string& problem) {
    ShapeError::Shapes shapes;
    for (const View& view : k.in) shapes.push_back(view.shape.to_vector());
    throw ShapeError(k.op, problem, shapes);
  };
  require_same_type(k);
  const Shape& state = k.in[2].shape;
  if (state.size() != 2) reject(fmt::format("a state is [batch, units], not {}", to_string(state)));
  const Shape all{state[0], gates * state[1]};
  for (std::size_t i = 0; i < k.in.size(); ++i) {
    const Shape& wanted = i < 2 ? all : state;
    if (k.in[i].shape == wanted) continue;
    reject(fmt::format("input {} must have shape {}, not {}, for {} gates and a state of shape {}",
                       i, to_string(wanted), to_string(k.in[i].shape), gates, to_string(state)));
  }
}

std::vector<Sample> cell_samples(int gates, int states) {
  std::vector<Sample> samples;
  for (const Shape& state : {Shape{3, 5}, Shape{2, 40}, Shape{66, 64}, Shape{0, 4}, Shape{2, 0}}) {
    const Shape all{state[0], gates * state[1]};
    Sample sample{.inputs = {{.shape = all}, {.shape = all}}};
    for (int i = 0; i < states; ++i) {
      std::vector<double> values;  // given, so that no layout makes all results small by chance
      for (std::int64_t j = 0; j < count(state); ++j) {
        values.push_back(static_cast<double>((i + 1 + j) * 37 % 127 - 63) / 32);
      }
      sample.inputs.push_back({.shape = state, .values = values});
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<Tensor> split_gates(const Tensor& all, int gates) {
  std::vector<Tensor> parts;
  const std::int64_t units = all.shape().back() / gates;
  for (int i = 0; i < gates; ++i) parts.push_back(slice(all, 1, i * units, (i + 1) * units));
  return parts;
}

Tensor given_or_zeros(const Backward& b, std::size_t o, std::size_t like_input) {
  return b.gradients[o].defined() ? b.gradients[o] : zeros_of_input(b, like_input);
}

namespace {

void require_tensors(const char* op, std::initializer_list<const Operand*> operands) {
  for (const Operand* const operand : operands) {
    if (operand->is_scalar()) throw ShapeError(op, "takes tensors, not numbers");
  }
}

/// A recurrent layer's products with the input, made for all steps at once.
class Steps {
 public:
  /// Whether there are as many steps, and states of such a size, as only a run knows.
  static bool are_open(const Operand& x, const Operand& hidden_weights) {
    return has_unknown_size(std::array{x, hidden_weights});
  }

  Steps(const char* op, int gates, const Operand& x, const Operand& input_weights,
        const Operand& hidden_weights, const Operand& bias)
      : site_(x.site()) {
    require_tensors(op, {&x, &input_weights, &hidden_weights, &bias});
    const Shape in = x.tensor().shape();
    const Shape weights = hidden_weights.tensor().shape();
    if (in.size() != 3) {
      throw ShapeError(
          op, fmt::format("sequences are [batch, time, inputs], not {}", to_string(Sizes(in))),
          {in.to_vector()});
    }
    if (weights.size() != 2 || weights[1] != gates * weights[0]) {
      throw ShapeError(
          op,
          fmt::format("hidden weights are [units, {} units], not {}", gates, to_string(weights)),
          {weights.to_vector()});
    }
    if (in[1] == 0) throw ShapeError(op, "a sequence has no steps", {in.to_vector()});
    length_ = in[1];
    state_ = {in[0], weights[0]};
    dtype_ = x.tensor().dtype();
    // Moved operands are used up when all steps have succeeded.
    products_ = add({matmul({x.tensor(), site_}, {input_weights.tensor(), site_}), site_},
                    {bias.tensor(), site_});
  }
  std::int64_t length() const { return length_; }
  Tensor product(std::int64_t step) const { return select({products_, site_}, 1, step); }
  /// Says how many steps each sequence has. Throws unless they are integers, one for each.
  void set_lengths(const char* op, const Tensor& lengths) {
    if (!lengths.defined()) return;
    const TensorBody& body = lengths.body(op, site_);
    if (body.dtype != DType::int32 && body.dtype != DType::int64) {
      throw DTypeError(op, fmt::format("lengths are int32 or int64, not {}", name_of(body.dtype)));
    }
    if (!(body.shape == Shape{state_[0]})) {
      throw ShapeError(op,
                       fmt::format("lengths have shape {}, not {}: one for each sequence",
                                   to_string(Shape{state_[0]}), to_string(body.shape)),
                       {body.shape.to_vector()});
    }
    lengths_ = expand_dims({lengths, site_}, 1);
  }
  /// What a step makes where the sequence has it, else what was there before.
  Tensor kept(std::int64_t step, Tensor made, const Operand& before) const {
    if (!lengths_.defined()) return made;
    const Tensor has_step = greater({lengths_, site_}, {step, site_});
    return where({has_step, site_}, {std::move(made), site_}, before);
  }
  Tensor initial(const Tensor& given) const {
    const DeviceScope device(products_.device());
    return given.defined() ? given : zeros(state_, dtype_, site_);
  }

 private:
  Site site_;
  std::int64_t length_ = 0;
  Shape state_;
  DType dtype_{};
  Tensor products_;
  Tensor lengths_;  // [batch, 1]; empty: all have all steps
};

}  // namespace
}  // namespace tenure::ops

namespace tenure {

LstmResult lstm(const Operand& x, const Operand& input_weights, const Operand& hidden_weights,
                const Operand& bias, const LstmState& initial, const SequenceOptions& options) {
  return ops::in_call("lstm", x.site(), [&] {
    const Site site = x.site();
    if (ops::Steps::are_open(x, hidden_weights)) {
      ops::require_tensors("lstm", {&x, &input_weights, &hidden_weights, &bias});
      std::vector<Tensor> tensors{x.tensor(), input_weights.tensor(), hidden_weights.tensor(),
                                  bias.tensor()};
      const auto add = [&tensors](const Tensor& given) {
        if (given.defined()) tensors.push_back(given);
        return given.defined();
      };
      const bool has_h = add(initial.h);
      const bool has_c = add(initial.c);
      const bool has_lengths = add(options.lengths);
      const bool from_end = options.from_end;
      const auto later = [=](const std::vector<Tensor>& known) {
        const LstmState first{has_h ? known[4] : Tensor(), has_c ? known[has_h ? 5 : 4] : Tensor()};
        const LstmResult result =
            lstm({known[0], site}, {known[1], site}, {known[2], site}, {known[3], site}, first,
                 {.lengths = has_lengths ? known.back() : Tensor(), .from_end = from_end});
        return std::vector{result.sequence, result.last.h, result.last.c};
      };
      const std::vector<Tensor> found = ops::with_sizes("lstm", tensors, later, site);
      for (const Operand* operand : {&x, &input_weights, &hidden_weights, &bias})
        operand->consume();
      return LstmResult{found[0], {found[1], found[2]}};
    }
    ops::Steps steps("lstm", 4, x, input_weights, hidden_weights, bias);
    steps.set_lengths("lstm", options.lengths);
    const Tensor weights = hidden_weights.tensor();
    LstmState state{steps.initial(initial.h), steps.initial(initial.c)};
    std::vector<Tensor> sequence;
    for (std::int64_t i = 0; i < steps.length(); ++i) {
      const std::int64_t t = options.from_end ? steps.length() - 1 - i : i;
      const LstmState made = lstm_cell(
          {steps.product(t), site}, {matmul({std::as_const(state.h), site}, {weights, site}), site},
          {std::as_const(state.c), site});
      sequence.push_back(steps.kept(t, made.h, {0.0, site}));
      state = {steps.kept(t, made.h, {state.h, site}), steps.kept(t, made.c, {state.c, site})};
    }
    if (options.from_end) std::reverse(sequence.begin(), sequence.end());
    LstmResult result{stack(OperandList(sequence, site), 1), state};
    for (const Operand* operand : {&x, &input_weights, &hidden_weights, &bias}) operand->consume();
    return result;
  });
}

GruResult gru(const Operand& x, const Operand& input_weights, const Operand& hidden_weights,
              const Operand& input_bias, const Operand& hidden_bias, const Tensor& initial,
              const SequenceOptions& options) {
  return ops::in_call("gru", x.site(), [&] {
    const Site site = x.site();
    if (ops::Steps::are_open(x, hidden_weights)) {
      ops::require_tensors("gru", {&x, &input_weights, &hidden_weights, &input_bias, &hidden_bias});
      std::vector<Tensor> tensors{x.tensor(), input_weights.tensor(), hidden_weights.tensor(),
                                  input_bias.tensor(), hidden_bias.tensor()};
      const bool has_state = initial.defined();
      const bool has_lengths = options.lengths.defined();
      const bool from_end = options.from_end;
      if (has_state) tensors.push_back(initial);
      if (has_lengths) tensors.push_back(options.lengths);
      const auto later = [=](const std::vector<Tensor>& known) {
        const GruResult result =
            gru({known[0], site}, {known[1], site}, {known[2], site}, {known[3], site},
                {known[4], site}, has_state ? known[5] : Tensor(),
                {.lengths = has_lengths ? known.back() : Tensor(), .from_end = from_end});
        return std::vector{result.sequence, result.last};
      };
      const std::vector<Tensor> found = ops::with_sizes("gru", tensors, later, site);
      for (const Operand* operand :
           {&x, &input_weights, &hidden_weights, &input_bias, &hidden_bias}) {
        operand->consume();
      }
      return GruResult{found[0], found[1]};
    }
    ops::Steps steps("gru", 3, x, input_weights, hidden_weights, input_bias);
    steps.set_lengths("gru", options.lengths);
    const Tensor weights = hidden_weights.tensor();
    if (hidden_bias.is_scalar()) throw ShapeError("gru", "takes tensors, not numbers");
    const Tensor recurrent_bias = hidden_bias.tensor();
    Tensor state = steps.initial(initial);
    std::vector<Tensor> sequence;
    for (std::int64_t i = 0; i < steps.length(); ++i) {
      const std::int64_t t = options.from_end ? steps.length() - 1 - i : i;
      Tensor product = matmul({std::as_const(state), site}, {weights, site});
      const Tensor made = gru_cell({steps.product(t), site},
                                   {add({std::move(product), site}, {recurrent_bias, site}), site},
                                   {std::as_const(state), site});
      sequence.push_back(steps.kept(t, made, {0.0, site}));
      state = steps.kept(t, made, {state, site});
    }
    if (options.from_end) std::reverse(sequence.begin(), sequence.end());
    GruResult result{stack(OperandList(sequence, site), 1), state};
    for (const Operand* operand :
         {&x, &input_weights, &hidden_weights, &input_bias, &hidden_bias}) {
      operand->consume();
    }
    return result;
  });
}

}  // namespace tenure
