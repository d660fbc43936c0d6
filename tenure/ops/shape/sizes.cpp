#include <algorithm>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/size_ops.h"

namespace tenure::ops {
namespace {

/// Sizes are numbers of the plan, not of the data: what is made of them does not hold x.
struct SizeOp {
  static constexpr auto family = "sizes";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
  static constexpr const GradientRule& gradient = kZeroGradient;
};

Tensor number(std::int64_t value, Site site) { return full({}, value, DType::int64, site); }

std::vector<Reference> reference_number(std::int64_t value) {
  return {{.shape = {}, .values = {static_cast<long double>(value)}}};
}

struct Size : SizeOp {
  static constexpr auto name = "size";
  static constexpr auto signature = "size(x)";
  static constexpr auto doc = "how many elements there are; a symbol where that is unknown";
  static Specs infer(const Kernel&) { return {{DType::int64, {}}}; }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    return {number(operands[0].tensor().size(), operands[0].site())};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}}},
            {.inputs = {{.shape = {}}}},
            {.inputs = {{.shape = {0, 5}}}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return reference_number(count(in[0].shape));
  }
};

struct Dim : SizeOp {
  static constexpr auto name = "dim";
  static constexpr auto signature = "dim(x, axis)";
  static constexpr auto doc = "the size of a dimension; a symbol where that is unknown";
  static Specs infer(const Kernel& k) {
    normalize_axis(k.attributes.integer(DimAttributes::axis), k.in[0].shape.size(), name);
    return {{DType::int64, {}}};
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Tensor& x = operands[0].tensor();
    const int axis = normalize_axis(a.integer(DimAttributes::axis), x.rank(), name);
    return {number(x.dim(axis), operands[0].site())};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}}, .attributes = Attributes(std::int64_t{1})},
            {.inputs = {{.shape = {0, 5}}}, .attributes = Attributes(std::int64_t{-2})}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Shape& shape = in[0].shape;
    return reference_number(
        shape[normalize_axis(a.integer(DimAttributes::axis), shape.size(), name)]);
  }
};

struct Outline : SizeOp {
  static constexpr auto name = "outline";
  static constexpr auto signature = "outline(x)";
  static constexpr auto doc = "nothing, behind a first axis of size 0 as large as x";
  static Shape outline_of(const Shape& shape) {
    if (shape.size() == kMaxRank) {
      throw ShapeError(name, "no axis can be added to so many", {shape.to_vector()});
    }
    Shape behind = shape;
    behind.insert(0, 0);
    return behind;
  }
  static Specs infer(const Kernel& k) { return {{DType::boolean, outline_of(k.in[0].shape)}}; }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Shape shape = outline_of(operands[0].tensor().shape());
    return {zeros(shape, DType::boolean, operands[0].site())};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}}}, {.inputs = {{.shape = {}}}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {{.shape = outline_of(in[0].shape), .values = {}}};
  }
};

/// What a node of with_sizes() calls when sizes are known.
struct Sized final : Opaque {
  Sized(const char* op, SizedFunction f, bool is_random)
      : op(op), f(std::move(f)), is_random(is_random) {}
  bool draws() const override { return is_random; }

  const char* op;
  SizedFunction f;
  bool is_random;
};

struct WithSizes {
  static constexpr auto family = "sizes";
  static constexpr auto name = "with_sizes";
  static constexpr auto signature = "with_sizes(tensors, f)";
  static constexpr auto doc = "a function that reads sizes, called when they are known";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kAllTypes;
  static constexpr int outputs = kAnyOutputs;
  static constexpr bool folds = false;
  static std::vector<Tensor> expand(std::span<const Operand> operands,
                                    const Attributes& attributes) {
    const auto& sized =
        static_cast<const Sized&>(*attributes.opaque(WithSizesAttributes::function));
    const ActingFor acting(sized.op);
    std::vector<Tensor> tensors;
    for (const Operand& operand : operands) tensors.push_back(operand.tensor());
    return sized.f(tensors);
  }
  /// Of x: x times the number of its elements, and x - 1.
  static std::vector<Sample> samples() {
    const auto f = [](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{in[0] * in[0].size(), in[0] - 1};
    };
    const std::shared_ptr<const Opaque> sized = std::make_shared<const Sized>(name, f, false);
    std::vector<Sample> list;
    for (const DType dtype : {DType::float64, DType::float32, DType::int32}) {
      for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 5}}) {
        list.push_back({.inputs = {{.shape = shape, .dtype = dtype}},
                        .attributes = Attributes(sized, Dims{})});
      }
    }
    return list;
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    std::vector<Reference> out{in[0], in[0]};
    for (long double& value : out[0].values) value *= static_cast<long double>(in[0].values.size());
    for (long double& value : out[1].values) value -= 1;
    return out;
  }
};

/// A number has the sizes of a tensor without axes.
template <class Op>
Tensor size_of(const Operand& x, const Attributes& attributes) {
  if (!x.is_scalar()) return call(record<Op>(), x, attributes);
  const Tensor one = zeros({}, DType::boolean, x.site());
  return call(record<Op>(), Operand(one, x.site()), attributes);
}

}  // namespace

std::vector<const OpRecord*> size_ops() {
  return {&record<Size>(), &record<Dim>(), &record<Outline>(), &record<WithSizes>()};
}

std::vector<Tensor> with_sizes(const char* op, const std::vector<Tensor>& tensors, SizedFunction f,
                               Site site, const SizedOptions& options) {
  const auto is_open = [&](const Tensor& tensor) {
    return !tensor.body(op, site).shape.is_known();
  };
  if (std::none_of(tensors.begin(), tensors.end(), is_open)) return f(tensors);
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor, site);
  const std::shared_ptr<const Opaque> sized =
      std::make_shared<const Sized>(op, std::move(f), options.draws);
  return run_many_now(record<WithSizes>(), operands, Attributes(sized, options.numbers), site);
}

Tensor outline(const Operand& x) { return call(record<Outline>(), x); }

Shape outlined(const Shape& outline) {
  Shape shape = outline;
  shape.erase(0);
  return shape;
}

}  // namespace tenure::ops

namespace tenure {

Tensor size(const Operand& x) { return ops::size_of<ops::Size>(x, ops::kNoAttributes); }

Tensor dim(const Operand& x, int axis) {
  return ops::size_of<ops::Dim>(x, ops::Attributes(std::int64_t{axis}));
}

std::vector<Tensor> with_sizes(const std::vector<Tensor>& tensors, SizedFunction f, Site site) {
  return ops::with_sizes("with_sizes", tensors, std::move(f), site);
}

}  // namespace tenure
