#include "tenure/ops/optimizer_ops.h"

#include <fmt/format.h>

#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/nn/updates-inl.h"

// Makes records and functions of what the list has.

namespace tenure::ops {
namespace {

/// The record of an update.
template <class Op>
struct UpdateOp {
  static constexpr auto family = "optimizer updates";
  static constexpr auto name = Op::name;
  static constexpr auto signature = Op::signature;
  static constexpr auto doc = Op::doc;
  static constexpr int outputs = Op::tensors;
  static constexpr auto memory = reuses((1u << outputs) - 1).with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 8;
  static constexpr std::size_t kGradient = outputs;
  static constexpr std::size_t kRate = outputs + 1;
  static constexpr std::size_t kStep = outputs + 2;
  static constexpr std::size_t kInputs = Op::counts_steps ? outputs + 3 : outputs + 2;

  static Specs infer(const Kernel& k) {
    const Shape& shape = k.in[0].shape;
    for (std::size_t i = 0; i <= kGradient; ++i) {
      const View& in = k.in[i];
      const char* const what = i == kGradient ? "gradient" : "state";
      if (in.shape != shape) {
        throw ShapeError(k.op,
                         fmt::format("a parameter {} has a {} of another shape, {}",
                                     to_string(shape), what, to_string(in.shape)),
                         {shape.to_vector(), in.shape.to_vector()});
      }
      const bool fits = i == 0 || i == kGradient ? is_floating(in.dtype)
                                                 : in.dtype == compute_type(k.in[0].dtype);
      if (!fits) {
        throw DTypeError(
            k.op,
            fmt::format("the {} of a {} parameter is {}, not {}", what, name_of(k.in[0].dtype),
                        i == kGradient ? "floating" : name_of(compute_type(k.in[0].dtype)),
                        name_of(in.dtype)));
      }
    }
    for (std::size_t i = kRate; i < kInputs; ++i) {
      if (k.in[i].shape.empty() && k.in[i].dtype != DType::boolean) continue;
      throw ShapeError(
          k.op,
          fmt::format("rate and step are numbers or tensors without dimensions, not {}",
                      to_string(k.in[i].shape)),
          {k.in[i].shape.to_vector()});
    }
    const DType state = compute_type(k.in[0].dtype);
    if constexpr (outputs == 1) return {{k.in[0].dtype, shape}};
    if constexpr (outputs == 2) return {{k.in[0].dtype, shape}, {state, shape}};
    if constexpr (outputs == 3) return {{k.in[0].dtype, shape}, {state, shape}, {state, shape}};
  }
  static double flops(const Kernel& k) { return 12.0 * static_cast<double>(k.in[0].count()); }
  static std::optional<Parts> parts(const Kernel&) {
    return Parts{.in = (1u << (kGradient + 1)) - 1};
  }

  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    double step = 0;
    if constexpr (Op::counts_steps) step = static_cast<double>(in[kStep].values[0]);
    const Op update(options_of<Op>(a), static_cast<double>(in[kRate].values[0]), step);
    std::vector<Reference> out(in.begin(), in.begin() + outputs);
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      UpdateElements x{};
      for (std::size_t o = 0; o < outputs; ++o) x[o] = in[o].values[i];
      update.element(x, in[kGradient].values[i]);
      for (std::size_t o = 0; o < outputs; ++o) out[o].values[i] = x[o];
    }
    return out;
  }
  static Sample sample(const Shape& shape, DType parameter, DType gradient, const Attributes& a) {
    Sample s{.attributes = a};
    s.inputs.push_back({.shape = shape, .dtype = parameter});
    for (int i = 1; i < outputs; ++i) {  // averages of squares are not negative
      s.inputs.push_back({.shape = shape, .low = 0.1, .dtype = compute_type(parameter)});
    }
    s.inputs.push_back({.shape = shape, .dtype = gradient});
    s.inputs.push_back({.shape = {}, .low = 0.125, .high = 0.125, .dtype = DType::float32});
    if constexpr (Op::counts_steps) {
      s.inputs.push_back({.shape = {}, .dtype = DType::int64, .values = {3}});
    }
    return s;
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    constexpr DType f32 = DType::float32;
    for (const auto& options : Op::settings()) {
      const Attributes a = attributes_of<Op>(options);
      samples.push_back(sample({3, 41}, f32, f32, a));
      samples.push_back(sample({37}, DType::float64, DType::float64, a));
    }
    const Attributes a = attributes_of<Op>(Op::settings().front());
    samples.push_back(sample({2, 19}, DType::bfloat16, DType::bfloat16, a));
    samples.push_back(sample({70}, f32, DType::float16, a));
    samples.push_back(sample({0, 3}, f32, f32, a));
    samples.push_back(sample({}, f32, f32, a));
    return samples;
  }
};

template <class... Ops>
std::vector<const OpRecord*> records_of(List<Ops...>) {
  return {&record<UpdateOp<Ops>>()...};
}

/// The changed parameter, or that and its state.
template <class Op>
using UpdateResult = std::conditional_t<Op::tensors == 1, Tensor, std::array<Tensor, Op::tensors>>;

template <class Op>
UpdateResult<Op> call_update(std::initializer_list<Operand> operands,
                             const typename Op::Options& options) {
  const OpRecord& op = record<UpdateOp<Op>>();
  const Attributes attributes = attributes_of<Op>(options);
  if constexpr (Op::tensors == 1) {
    return call(op, operands, attributes);
  } else {
    std::vector<Tensor> results = run_many_now(op, std::span(operands.begin(), operands.size()),
                                               attributes, operands.begin()->site());
    std::array<Tensor, Op::tensors> out;
    std::move(results.begin(), results.end(), out.begin());
    return out;
  }
}

}  // namespace

std::vector<const OpRecord*> optimizer_ops() { return records_of(Updates()); }

}  // namespace tenure::ops

namespace tenure {

#define TENURE_UPDATE_OF_3(function, Op)                                                    \
  ops::UpdateResult<ops::Op> function(const Operand& a, const Operand& b, const Operand& c, \
                                      const ops::Op::Options& o) {                          \
    return ops::call_update<ops::Op>({a, b, c}, o);                                         \
  }
#define TENURE_UPDATE_OF_4(function, Op)                                                    \
  ops::UpdateResult<ops::Op> function(const Operand& a, const Operand& b, const Operand& c, \
                                      const Operand& d, const ops::Op::Options& o) {        \
    return ops::call_update<ops::Op>({a, b, c, d}, o);                                      \
  }
#define TENURE_UPDATE_OF_5(function, Op)                                                    \
  ops::UpdateResult<ops::Op> function(const Operand& a, const Operand& b, const Operand& c, \
                                      const Operand& d, const Operand& e,                   \
                                      const ops::Op::Options& o) {                          \
    return ops::call_update<ops::Op>({a, b, c, d, e}, o);                                   \
  }
#define TENURE_UPDATE_OF_6(function, Op)                                                    \
  ops::UpdateResult<ops::Op> function(const Operand& a, const Operand& b, const Operand& c, \
                                      const Operand& d, const Operand& e, const Operand& f, \
                                      const ops::Op::Options& o) {                          \
    return ops::call_update<ops::Op>({a, b, c, d, e, f}, o);                                \
  }

TENURE_UPDATES(TENURE_UPDATE_OF_3, TENURE_UPDATE_OF_4, TENURE_UPDATE_OF_5, TENURE_UPDATE_OF_6)

}  // namespace tenure
