#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/kernels/cpu/move/tile_reader.h"
#include "tenure/ops/define.h"
#include "tenure/ops/families.h"
#include "tenure/ops/reference.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/types.h"

namespace tenure::ops {
namespace {

/// `wanted` with its -1, if any, replaced so that it has as many elements as `from`.
Shape resolve_shape(const Shape& from, const Shape& wanted) {
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
  static constexpr auto signature = "reshape(x, shape)";
  static constexpr auto doc = "the same elements in another shape; one dimension may be -1";
  static constexpr auto memory = view_or_copy();
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Shape shape = resolve_shape(k.in[0].shape, k.attributes.dims(0));
    const std::optional<Strides> strides = reshaped_strides(k.in[0], shape);
    if (!strides) return std::nullopt;
    return ViewSpec{.shape = shape, .strides = *strides};
  }
  static Specs infer(const Kernel& k) {
    return {{k.in[0].dtype, resolve_shape(k.in[0].shape, k.attributes.dims(0))}};
  }
  static void run(const Kernel& k) {
    View out = k.out[0];
    out.shape = k.in[0].shape;
    out.strides = contiguous_strides(out.shape);
    kernels::copy(k.in[0], out);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {{.shape = resolve_shape(in[0].shape, a.dims(0)), .values = in[0].values}};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {4, 6}}}, .attributes = Attributes(Dims{2, 2, -1})},
            {.inputs = {{.shape = {4, 1, 6}}}, .attributes = Attributes(Dims{24})},
            {.inputs = {{.shape = {2, 3, 4}}}, .attributes = Attributes(Dims{6, 2, 2})},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(Dims{1, 1})},
            {.inputs = {{.shape = {0, 3}}}, .attributes = Attributes(Dims{3, 0})}};
  }
};

struct Clone : CopyOp {
  static constexpr auto name = "clone";
  static constexpr auto signature = "clone(x)";
  static constexpr auto doc = "a tensor of its own with the same elements, contiguous";
  static constexpr auto memory = allocates();
  static Specs infer(const Kernel& k) { return {{k.in[0].dtype, k.in[0].shape}}; }
  static void run(const Kernel& k) { kernels::copy(k.in[0], k.out[0]); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return in;
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 40}}}}, {.inputs = {{.shape = {}}}}};
  }
};

struct Contiguous : Clone {
  static constexpr auto name = "contiguous";
  static constexpr auto signature = "contiguous(x)";
  static constexpr auto doc = "a view of a contiguous x, else a contiguous copy";
  static constexpr auto memory = view_or_copy();
  static std::optional<ViewSpec> view(const Kernel& k) {
    if (!k.in[0].contiguous()) return std::nullopt;
    return ViewSpec{.shape = k.in[0].shape, .strides = k.in[0].strides};
  }
};

struct Cast : CopyOp {
  static constexpr auto name = "cast";
  static constexpr auto signature = "cast(x, dtype)";
  static constexpr auto doc =
      "the elements converted; floats to integers lose the fraction and saturate, integers wrap";
  static constexpr auto memory = reuses(1);
  static Specs infer(const Kernel& k) { return {{k.attributes.dtype(0), k.in[0].shape}}; }
  static bool is_identity(const Kernel& k) { return k.attributes.dtype(0) == k.in[0].dtype; }
  static void run(const Kernel& k) {
    const DType to = k.out[0].dtype;
    const kernels::Elementwise identity{
        .body = copy_body(to), .in_types = {to}, .out_type = to, .cost = 1};
    kernels::run_elementwise(identity, k.in, k.out[0]);
  }
  template <std::size_t bytes>
  static void copy_elements(const void* const* in, void* out, std::size_t n) {
    if (in[0] != out)
      std::copy_n(static_cast<const std::byte*>(in[0]), n * bytes, static_cast<std::byte*>(out));
  }
  static kernels::Body copy_body(DType dtype) {
    switch (size_of(dtype)) {
      case 1:
        return copy_elements<1>;
      case 2:
        return copy_elements<2>;
      case 4:
        return copy_elements<4>;
      default:
        return copy_elements<8>;
    }
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference out = in[0];
    const DType to = a.dtype(0);
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

/// The shape of tensors one after the other; they agree in all other dimensions.
Shape concat_shape(std::span<const View> in, int axis, const char* op) {
  Shape shape = in[0].shape;
  shape[axis] = 0;
  for (const View& view : in) {
    Shape other = view.shape;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape) {
      throw ShapeError(op,
                       fmt::format("shapes {} and {} differ outside axis {}",
                                   to_string(in[0].shape), to_string(view.shape), axis),
                       {in[0].shape.to_vector(), view.shape.to_vector()});
    }
    if (__builtin_add_overflow(shape[axis], view.shape[axis], &shape[axis])) {
      throw ShapeError(op, "the sizes along the axis overflow");
    }
  }
  return shape;
}

struct Concat : CopyOp {
  static constexpr auto name = "concat";
  static constexpr auto signature = "concat(tensors, axis = 0)";
  static constexpr auto doc = "tensors one after the other along an existing axis";
  static constexpr auto memory = allocates();
  static Specs infer(const Kernel& k) {
    if (k.in.empty()) throw ValueError("concat: no tensors");
    const int axis = normalize_axis(k.attributes.integer(0), k.in[0].shape.size(), name);
    DType dtype = k.in[0].dtype;
    for (const View& view : k.in) dtype = promote(dtype, view.dtype);
    return {{dtype, concat_shape(k.in, axis, name)}};
  }
  static void run(const Kernel& k) {
    const int axis = normalize_axis(k.attributes.integer(0), k.in[0].shape.size(), name);
    View piece = k.out[0];
    for (const View& view : k.in) {
      piece.shape[axis] = view.shape[axis];
      copy_converted(view, piece);
      piece.data = piece.as<std::byte>() + view.shape[axis] * piece.strides[axis] *
                                               static_cast<std::int64_t>(size_of(piece.dtype));
    }
  }
  /// Copies a view into a strided one of a type that it promotes to.
  static void copy_converted(const View& in, const View& out) {
    if (in.dtype == out.dtype || in.count() == 0) return kernels::copy(in, out);
    // Tile by tile: read, convert, and copy to where the tile's elements go.
    alignas(8) std::byte raw[kernels::kTile * 8];
    alignas(8) std::byte converted[kernels::kTile * 8];
    kernels::TileReader reader(in, in.shape);
    reader.seek(0);
    const std::int64_t row = out.shape.empty() ? 1 : out.shape.back();
    Shape rows = out.shape;
    Strides strides = out.strides;
    if (!rows.empty()) {
      rows.erase(rows.size() - 1);
      strides.erase(strides.size() - 1);
    }
    const auto size = static_cast<std::int64_t>(size_of(out.dtype));
    for_each_offset(rows, strides, [&](std::int64_t offset) {
      for (std::int64_t i = 0; i < row; i += static_cast<std::int64_t>(kernels::kTile)) {
        const auto n = std::min<std::int64_t>(row - i, kernels::kTile);
        reader.read(raw, static_cast<std::size_t>(n));
        kernels::cast_elements(in.dtype, raw, out.dtype, converted, static_cast<std::size_t>(n));
        const View from{.dtype = out.dtype, .shape = {n}, .strides = {1}, .data = converted};
        const std::int64_t step = out.shape.empty() ? 1 : out.strides.back();
        kernels::copy(from, {.dtype = out.dtype,
                             .shape = {n},
                             .strides = {step},
                             .data = out.as<std::byte>() + (offset + i * step) * size});
      }
    });
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = normalize_axis(a.integer(0), in[0].shape.size(), name);
    Shape shape = in[0].shape;
    shape[axis] = 0;
    for (const Reference& r : in) shape[axis] += r.shape[axis];
    return {make_reference(shape, [&](Dims index) {
      std::size_t i = 0;
      while (index[axis] >= in[i].shape[axis]) index[axis] -= in[i++].shape[axis];
      return at(in[i], index);
    })};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 3}}, {.shape = {4, 3}}},
             .attributes = Attributes(std::int64_t{0})},
            {.inputs = {{.shape = {2, 3}}, {.shape = {2, 0}}, {.shape = {2, 5}}},
             .attributes = Attributes(std::int64_t{-1})}};
  }
};

}  // namespace

std::vector<const OpRecord*> copy_ops() {
  return {&record<Reshape>(), &record<Clone>(), &record<Contiguous>(), &record<Cast>(),
          &record<Concat>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor reshape(const Operand& x, const Shape& shape) {
  return call(record<ops::Reshape>(), x, Attributes(shape));
}

Tensor flatten(const Operand& x, int first, int last) {
  if (x.is_scalar()) return reshape(x, {1});
  const Shape& from = x.tensor().body("flatten", x.site()).shape;
  if (from.empty()) return reshape(x, {1});
  const int begin = normalize_axis(first, from.size(), "flatten");
  const int end = normalize_axis(last, from.size(), "flatten");
  if (begin > end) throw ValueError("flatten: the first axis lies behind the last");
  Shape shape;
  for (int i = 0; i < from.size(); ++i) {
    if (i <= begin || i > end) {
      shape.push_back(from[i]);
    } else {
      shape[begin] *= from[i];
    }
  }
  return reshape(x, shape);
}

Tensor clone(const Operand& x) { return call(record<ops::Clone>(), x); }
Tensor contiguous(const Operand& x) { return call(record<ops::Contiguous>(), x); }
Tensor cast(const Operand& x, DType dtype) {
  return call(record<ops::Cast>(), x, Attributes(dtype));
}

Tensor concat(const OperandList& tensors, int axis) {
  if (tensors.operands().empty()) throw ValueError("concat: no tensors");
  return call(record<ops::Concat>(), tensors.operands(), Attributes(std::int64_t{axis}));
}

Tensor stack(const OperandList& tensors, int axis) {
  std::vector<Tensor> expanded;
  for (const Operand& operand : tensors.operands()) {
    if (operand.is_scalar()) {
      throw ValueError("stack: numbers have no axis to stack along; use tensor({...})");
    }
    expanded.push_back(expand_dims(Operand(operand.tensor(), operand.site()), axis));
  }
  if (expanded.empty()) throw ValueError("stack: no tensors");
  Tensor result = concat(OperandList(expanded, tensors.operands()[0].site()), axis);
  for (const Operand& operand : tensors.operands()) operand.consume();
  return result;
}

}  // namespace tenure
