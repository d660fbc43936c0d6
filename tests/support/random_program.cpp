#include "tests/support/random_program.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tenure::test {
namespace {

enum Op : int {
  kAdd,
  kSub,
  kMul,
  kMaximum,
  kScale,
  kShift,
  kTanh,
  kRelu,
  kSigmoid,
  kExp,
  kNeg,
  kAbs,
  kSquare,
  kWhere,
  kCompare,
  kMatmul,
  kTranspose,
  kReshape,
  kSlice,
  kSum,
  kMax,
  kSoftmax,
  kConcat,
  kFlip,
  kBroadcast,
  kCast,
  kCumsum,
  kClone,
  kCond,
  kWhile,
  kScan,
  kOps
};

bool broadcasts(const Shape& a, const Shape& b) {
  for (int i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() - i];
    const std::int64_t y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

}  // namespace

Tensor RandomProgram::apply(const Step& step, const std::vector<Tensor>& values) const {
  const Tensor& a = values[step.arguments[0]];
  const Tensor& b = values[step.arguments.back()];
  const auto p = step.parameter;
  switch (static_cast<Op>(step.op)) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kMaximum:
      return maximum(a, b);
    case kScale:
      return a * (static_cast<double>(p) / 4);
    case kShift:
      return a - p;
    case kTanh:
      return tanh(a);
    case kRelu:
      return relu(a);
    case kSigmoid:
      return sigmoid(a);
    case kExp:
      return exp(minimum(a, 2));
    case kNeg:
      return -a;
    case kAbs:
      return abs(a);
    case kSquare:
      return square(clamp(a, -8, 8));
    case kWhere:
      return where(a > 0, a, b);
    case kCompare:
      return cast(a < b, float32);
    case kMatmul:
      return matmul(a, b);
    case kTranspose:
      return transpose(a, 0, a.rank() - 1);
    case kReshape:
      return reshape(a, {-1});
    case kSlice:
      return slice(a, 0, p % a.dim(0), a.dim(0));
    case kSum:
      return sum(a, {static_cast<std::int64_t>(p % a.rank())}, true);
    case kMax:
      return max(a, {static_cast<std::int64_t>(p % a.rank())}, true);
    case kSoftmax:
      return softmax(a, -1);
    case kConcat:
      return concat({a, b}, 0);
    case kFlip:
      return flip(a, {0});
    case kBroadcast:
      return broadcast_to(a, b.shape());
    case kCast:
      return cast(cast(a, p % 2 == 0 ? float16 : float64), float32);
    case kCumsum:
      return cumsum(a, 0);
    case kClone:
      return clone(a);
    case kCond:
      return cond(
          sum(a) > p - 3, [](const Tensor& x) { return tanh(x) * 2; },
          [&](const Tensor& x) { return flip(x, {0}) - sum(b); }, a);
    case kWhile: {
      using State = std::pair<Tensor, Tensor>;
      return while_loop([&](const State& s) { return s.second < p; },
                        [&](const State& s) { return State(abs(s.first - 1) * 0.5, s.second + 1); },
                        State(a, full({}, 0)), 7)
          .first;
    }
    case kScan: {
      using Step = std::pair<Tensor, Tensor>;
      const auto [last, rows] =
          scan([&](const Tensor& carry,
                   const Tensor& x) { return Step(maximum(carry, x) * 0.5, carry + x); },
               select(a, 0, 0), a);
      return p % 2 == 0 ? rows : last;
    }
    case kOps:
      break;
  }
  return a;
}

RandomProgram::RandomProgram(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  Generator generator(seed);
  std::vector<Tensor> values;
  const std::int64_t inputs = 1 + draw(4);
  for (std::int64_t i = 0; i < inputs; ++i) {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 8, 33};
    Shape shape;
    const std::int64_t rank = 1 + draw(3);
    for (std::int64_t d = 0; d < rank; ++d) shape.push_back(kSizes[draw(draw(4) == 0 ? 6 : 4)]);
    inputs_.push_back(uniform(shape, -2, 2, float32, &generator));
  }
  values = inputs_;
  const std::int64_t steps = 1 + draw(14);
  for (std::int64_t s = 0; s < steps;) {
    Step step{.op = static_cast<int>(draw(kOps)), .arguments = {}, .parameter = draw(7)};
    const auto any = [&] { return static_cast<std::size_t>(draw(std::int64_t(values.size()))); };
    step.arguments = {any(), any()};
    // Late values more often, so that chains grow.
    if (draw(2) == 0) step.arguments[0] = values.size() - 1;
    const Shape& a = values[step.arguments[0]].shape();
    const Shape& b = values[step.arguments[1]].shape();
    const auto op = static_cast<Op>(step.op);
    const bool binary = op <= kMaximum || op == kWhere || op == kCompare;
    bool valid = !binary || broadcasts(a, b);
    if (op == kMatmul) valid = a.size() == 2 && b.size() == 2 && a[1] == b[0];
    if (op == kConcat) {
      Shape rest_a = a;
      Shape rest_b = b;
      valid = a.size() == b.size() && !a.empty();
      if (valid) rest_a[0] = rest_b[0] = 0;
      valid = valid && rest_a == rest_b;
    }
    if (op == kBroadcast) {
      valid = broadcasts(a, b) && a.size() <= b.size() && tenure::broadcast(a, b, "test") == b;
    }
    if (op >= kTranspose && op <= kFlip && op != kReshape && op != kConcat) {
      valid = !a.empty() && std::find(a.begin(), a.end(), 0) == a.end();
    }
    if (op == kCumsum) valid = !a.empty();
    if (op == kCond || op == kScan) valid = !a.empty() && a[0] != 0;
    if (!valid) continue;
    // Some are made again: a graph has them once.
    if (!steps_.empty() && draw(8) == 0) step = steps_[static_cast<std::size_t>(draw(s))];
    Tensor value = apply(step, values);
    if (value.size() > 4096) continue;
    values.push_back(std::move(value));
    steps_.push_back(std::move(step));
    ++s;
  }
  results_ = {values.size() - 1};
  if (draw(2) == 0) results_.push_back(static_cast<std::size_t>(draw(std::int64_t(values.size()))));
}

bool RandomProgram::has_control_flow() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.op == kCond || step.op == kWhile || step.op == kScan;
  });
}

std::vector<Tensor> RandomProgram::operator()(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> values = inputs;
  for (const Step& step : steps_) values.push_back(apply(step, values));
  std::vector<Tensor> results;
  for (const std::size_t result : results_) results.push_back(values[result]);
  return results;
}

}  // namespace tenure::test
