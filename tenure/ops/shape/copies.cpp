#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/gradients.h"
#include "tenure/ops/shape/like.h"
#include "tenure/ops/shape/transfer.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/integer_notes.h"

namespace tenure::ops {
namespace {

/// `wanted` with its -1, if any, replaced so that it has as many elements as `from`.
Shape resolve_shape(const Shape& from, const Shape& wanted, DType dtype) {
  Shape shape = wanted;
  int open = -1;
  std::int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && open < 0) {
      open = i;
    } else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
      throw ShapeError("reshape", fmt::format("{} is no shape", to_string(wanted)),
                       {wanted.to_vector()});
    }
  }
  const std::int64_t n = count(from);
  if (open >= 0) shape[open] = known == 0 ? 0 : n / known;
  if (count(shape) != n || (open >= 0 && known == 0)) {
    throw ShapeError("reshape",
                     fmt::format("{} elements of shape {} do not fit shape {}", n, to_string(from),
                                 to_string(wanted)),
                     {from.to_vector(), wanted.to_vector()});
  }
  check_shape(shape, size_of(dtype), "reshape");  // of an empty one too
  return shape;
}

/// Strides that read `view` in another shape of as many elements, if there are any.
std::optional<Strides> reshaped_strides(const View& view, const Shape& shape) {
  if (view.contiguous() || view.count() == 0) return contiguous_strides(shape);
  // Walk both shapes from the left in groups of equal element counts; each group of the old shape
  // must be one run.
  Strides strides = Strides::filled(shape.size(), 0);
  int old_axis = 0;
  int new_axis = 0;
  while (old_axis < view.shape.size() || new_axis < shape.size()) {
    const int old_begin = old_axis;
    const int new_begin = new_axis;
    std::int64_t old_count = 1;
    std::int64_t new_count = 1;
    do {
      if (old_count <= new_count && old_axis < view.shape.size()) {
        old_count *= view.shape[old_axis++];
      } else if (new_axis < shape.size()) {
        new_count *= shape[new_axis++];
      }
    } while (old_count != new_count);
    std::optional<std::int64_t> step;  // zero where elements repeat
    std::int64_t expected = 0;
    for (int i = old_axis - 1; i >= old_begin; --i) {
      if (view.shape[i] == 1) continue;
      if (!step) {
        step = view.strides[i];
        expected = *step * view.shape[i];
      } else if (view.strides[i] != expected) {
        return std::nullopt;
      } else {
        expected *= view.shape[i];
      }
    }
    std::int64_t stride = step.value_or(0);
    for (int i = new_axis - 1; i >= new_begin; --i) {
      strides[i] = stride;
      stride *= shape[i];
    }
  }
  return strides;
}

struct CopyOp {
  static constexpr auto family = "copies";
  static constexpr auto types = kAllTypes;
};

struct Reshape : CopyOp {
  static constexpr auto name = "reshape";
  static constexpr GradientRule gradient = reads_nothing(gradients::reshape);
  static constexpr auto signature = "reshape(x, shape)";
  static constexpr auto doc = "the same elements in another shape; one dimension may be -1";
  static constexpr auto memory = view_or_copy();
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Shape shape =
        resolve_shape(k.in[0].shape, k.attributes.dims(ReshapeAttributes::shape), k.in[0].dtype);
    const std::optional<Strides> strides = reshaped_strides(k.in[0], shape);
    if (!strides) return std::nullopt;
    return ViewSpec{.shape = shape, .strides = *strides};
  }
  static Specs infer(const Kernel& k) {
    return {
        {k.in[0].dtype,
         resolve_shape(k.in[0].shape, k.attributes.dims(ReshapeAttributes::shape), k.in[0].dtype)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {{.shape = resolve_shape(in[0].shape, a.dims(ReshapeAttributes::shape), DType::float64),
             .values = in[0].values}};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {4, 6}}}, .attributes = Attributes(Dims{2, 2, -1})},
            {.inputs = {{.shape = {4, 1, 6}}}, .attributes = Attributes(Dims{24})},
            {.inputs = {{.shape = {2, 3, 4}}}, .attributes = Attributes(Dims{6, 2, 2})},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(Dims{1, 1})},
            {.inputs = {{.shape = {0, 3}}}, .attributes = Attributes(Dims{3, 0})}};
  }
};

struct ReshapeLike : Reshape {
  static constexpr auto name = "reshape_like";
  static constexpr GradientRule gradient = reads_nothing(gradients::reshape);
  static constexpr auto signature = "reshape_like(x, like)";
  static constexpr auto doc = "the same elements in the shape of another tensor";
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Shape shape = resolve_shape(k.in[0].shape, k.in[1].shape, k.in[0].dtype);
    const std::optional<Strides> strides = reshaped_strides(k.in[0], shape);
    if (!strides) return std::nullopt;
    return ViewSpec{.shape = shape, .strides = *strides};
  }
  static Specs infer(const Kernel& k) {
    return {{k.in[0].dtype, resolve_shape(k.in[0].shape, k.in[1].shape, k.in[0].dtype)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {{.shape = in[1].shape, .values = in[0].values}};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {4, 6}}, {.shape = {2, 12}}}},
            {.inputs = {{.shape = {0, 3}}, {.shape = {3, 0}}}},
            {.inputs = {{.shape = {1}}, {.shape = {}}}}};
  }
};

struct Flatten : Reshape {
  static constexpr auto name = "flatten";
  static constexpr GradientRule gradient = reads_nothing(gradients::reshape);
  static constexpr auto signature = "flatten(x, first = 0, last = -1)";
  static constexpr auto doc = "the axes from first to last merged into one";
  static Shape merged(const Shape& from, const Attributes& a) {
    if (from.empty()) return {1};
    const int begin = normalize_axis(a.integer(FlattenAttributes::first), from.size(), name);
    const int end = normalize_axis(a.integer(FlattenAttributes::last), from.size(), name);
    if (begin > end) throw ValueError("flatten: the first axis lies behind the last");
    Shape shape;
    for (int i = 0; i < from.size(); ++i) {
      if (i <= begin || i > end) {
        shape.push_back(from[i]);
      } else if (__builtin_mul_overflow(shape[begin], from[i], &shape[begin])) {
        throw ShapeError(name, "the sizes of the axes overflow", {from.to_vector()});
      }
    }
    return shape;
  }
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Shape shape = merged(k.in[0].shape, k.attributes);
    const std::optional<Strides> strides = reshaped_strides(k.in[0], shape);
    if (!strides) return std::nullopt;
    return ViewSpec{.shape = shape, .strides = *strides};
  }
  static Specs infer(const Kernel& k) {
    return {{k.in[0].dtype, merged(k.in[0].shape, k.attributes)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {{.shape = merged(in[0].shape, a), .values = in[0].values}};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t first, std::int64_t last) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(first, last)};
    };
    return {sample({4, 6}, 0, -1), sample({2, 3, 4, 5}, 1, 2), sample({3, 5}, 1, 1),
            sample({}, 0, -1), sample({2, 0, 3}, 0, 1)};
  }
};

struct Clone : CopyOp {
  static constexpr auto name = "clone";
  static constexpr GradientRule gradient = reads_nothing(gradients::pass);
  static constexpr auto signature = "clone(x)";
  static constexpr auto doc = "a tensor of its own with the same elements, contiguous";
  static constexpr auto memory = allocates();
  static Specs infer(const Kernel& k) { return {{k.in[0].dtype, k.in[0].shape}}; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return in;
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 40}}}}, {.inputs = {{.shape = {}}}}};
  }
};

struct Contiguous : Clone {
  static constexpr auto name = "contiguous";
  static constexpr GradientRule gradient = reads_nothing(gradients::pass);
  static constexpr auto signature = "contiguous(x)";
  static constexpr auto doc = "a view of a contiguous x, else a contiguous copy";
  static constexpr auto memory = view_or_copy();
  static std::optional<ViewSpec> view(const Kernel& k) {
    if (!k.in[0].contiguous()) return std::nullopt;
    return ViewSpec{.shape = k.in[0].shape, .strides = k.in[0].strides};
  }
};

void copy_back(Backward& b) {
  const Operand gradient = b.take_gradient();
  b.results[0] = tenure::copy_to(gradient, transfer_origin(b.attributes));
}

struct CopyTo : Clone {
  static constexpr auto name = "copy_to";
  static constexpr GradientRule gradient = reads_nothing(copy_back);
  static constexpr auto signature = "copy_to(x, device)";
  static constexpr auto doc = "a tensor of its own with the same elements on a device, contiguous";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr bool folds = false;  // a program's constants are where it runs
  static Device target(const Attributes& a) { return transfer_target(a); }
  static std::vector<Sample> samples() {
    const Attributes stay = transfer_attributes(default_device(), default_device());
    return {{.inputs = {{.shape = {3, 40}}}, .attributes = stay},
            {.inputs = {{.shape = {}}}, .attributes = stay},
            {.inputs = {{.shape = {2, 0}}}, .attributes = stay}};
  }
};

struct Cast : CopyOp {
  static constexpr auto name = "cast";
  static constexpr GradientRule gradient = reads_nothing(gradients::pass);
  static constexpr auto signature = "cast(x, dtype)";
  static constexpr auto doc =
      "the elements converted; floats to integers lose the fraction and saturate, integers wrap";
  static constexpr auto memory = reuses(1);
  static constexpr bool converts = true;
  static Specs infer(const Kernel& k) {
    return {{k.attributes.dtype(CastAttributes::dtype), k.in[0].shape}};
  }
  static bool is_identity(const Kernel& k) {
    return k.attributes.dtype(CastAttributes::dtype) == k.in[0].dtype;
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference out = in[0];
    const DType to = a.dtype(CastAttributes::dtype);
    for (long double& value : out.values) {
      if (to == DType::boolean) {
        value = value != 0;
      } else if (is_integral(to)) {
        value = std::trunc(value);
      }
    }
    return {out};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (int i = 0; i < kDTypes; ++i) {
      samples.push_back({.inputs = {{.shape = {3, 50}, .low = 0, .high = 100}},
                         .attributes = Attributes(static_cast<DType>(i))});
    }
    return samples;
  }
};

}  // namespace

std::vector<const OpRecord*> copy_ops() {
  return {&record<Reshape>(),    &record<ReshapeLike>(), &record<Flatten>(), &record<Clone>(),
          &record<Contiguous>(), &record<CopyTo>(),      &record<Cast>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor reshape(const Operand& x, const Shape& shape) {
  return call(record<ops::Reshape>(), x, Attributes(shape));
}

Tensor reshape_like(const Operand& x, const Operand& like) {
  return ops::call_like(record<ops::ReshapeLike>(), x, like);
}

Tensor flatten(const Operand& x, int first, int last) {
  return call(record<ops::Flatten>(), x, Attributes(std::int64_t{first}, std::int64_t{last}));
}

Tensor clone(const Operand& x) { return call(record<ops::Clone>(), x); }
Tensor contiguous(const Operand& x) { return call(record<ops::Contiguous>(), x); }
Tensor copy_to(const Operand& x, Device device) {
  ops::in_call("copy_to", x.site(), [&] { mem::require_device(device, "copy_to", x.site()); });
  const Device from =
      x.is_scalar() ? default_device() : x.tensor().body("copy_to", x.site()).device();
  const bool leaves_host = from == cpu && device != cpu && !x.is_scalar();
  const std::optional<IntegerRange> range =
      leaves_host ? seen_integers(x.tensor()) : std::optional<IntegerRange>();
  Tensor there = call(record<ops::CopyTo>(), x, ops::transfer_attributes(device, from));
  if (range) note_integers(there.body("copy_to", x.site()), *range);
  return there;
}
Tensor Tensor::to(Device device, Site site) const {
  if (body("to()", site).device() == device) return *this;
  return copy_to(Operand(*this, site), device);
}
Tensor cast(const Operand& x, DType dtype) {
  return call(record<ops::Cast>(), x, Attributes(dtype));
}

}  // namespace tenure
