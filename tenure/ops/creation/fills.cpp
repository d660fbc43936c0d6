#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/creation/attributes.h"

namespace tenure::ops {
namespace {

struct CreationOp {
  static constexpr auto family = "creation";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
};

/// One value everywhere. Op says where its attributes stand.
template <class Op>
struct FillOp : CreationOp {
  static Specs infer(const Kernel& k) {
    const DType dtype = Op::dtype(k.attributes);
    element(Op::value(k.attributes), dtype, k.op);  // throws if the type does not hold the value
    return {{dtype, k.attributes.dims(ConstantAttributes::shape)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const long double value = Op::value(a).floating;
    return {make_reference(a.dims(ConstantAttributes::shape), [&](const Dims&) { return value; })};
  }
};

template <class Op>
struct ConstantOp : FillOp<Op> {
  static DType dtype(const Attributes& a) { return a.dtype(ConstantAttributes::dtype); }
  static std::vector<Sample> samples() {
    return {{.attributes = Attributes(Dims{3, 50}, DType::float32)},
            {.attributes = Attributes(Dims{}, DType::boolean)},
            {.attributes = Attributes(Dims{2, 0}, DType::int16)}};
  }
};

struct Zeros : ConstantOp<Zeros> {
  static constexpr auto name = "zeros";
  static constexpr auto signature = "zeros(shape, dtype = float32)";
  static constexpr auto doc = "zeros in a shape; zeros_like(x) takes the shape and type of x";
  static Scalar value(const Attributes&) { return 0; }
};

struct Ones : ConstantOp<Ones> {
  static constexpr auto name = "ones";
  static constexpr auto signature = "ones(shape, dtype = float32)";
  static constexpr auto doc = "ones in a shape; ones_like(x) takes the shape and type of x";
  static Scalar value(const Attributes&) { return 1; }
};

struct Full : FillOp<Full> {
  static constexpr auto name = "full";
  static constexpr auto signature = "full(shape, value, dtype = the value's)";
  static constexpr auto doc = "one value in a shape; full_like(x, value) takes the shape of x";
  static Scalar value(const Attributes& a) { return to_scalar(a[FullAttributes::value]); }
  static DType dtype(const Attributes& a) { return a.dtype(FullAttributes::dtype); }
  static std::vector<Sample> samples() {
    return {{.attributes = Attributes(Dims{4, 33}, 2.5, DType::float64)},
            {.attributes = Attributes(Dims{7}, std::int64_t{-3}, DType::int8)},
            {.attributes = Attributes(Dims{}, true, DType::float16)},
            {.attributes = Attributes(Dims{0}, std::int64_t{1} << 40, DType::int64)}};
  }
};

struct FullLike : CreationOp {
  static constexpr auto name = "full_like";
  static constexpr auto signature = "full_like(x, value, dtype = that of x)";
  static constexpr auto doc = "one value in the shape of x, whose elements are not read";
  static constexpr const GradientRule& gradient = kZeroGradient;
  static Specs infer(const Kernel& k) {
    return {{k.attributes.dtype(FullLikeAttributes::dtype), k.in[0].shape}};
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    return {create(record<Full>(),
                   Attributes(operands[0].tensor().shape(), a[FullLikeAttributes::value],
                              a.dtype(FullLikeAttributes::dtype)),
                   operands[0].site())};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}}, .attributes = Attributes(2.5, DType::float64)},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(std::int64_t{-3}, DType::int8)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Scalar value = to_scalar(a[FullLikeAttributes::value]);
    return {make_reference(in[0].shape, [&](const Dims&) { return value.floating; })};
  }
};

struct Arange : CreationOp {
  static constexpr auto name = "arange";
  static constexpr auto signature = "arange(start = 0, stop, step = 1, dtype = the numbers')";
  static constexpr auto doc = "start, start + step, ... before stop";
  static constexpr auto ulp = 2.0;  // a product and a sum in double
  static std::int64_t length(const ArangeNumbers& r) {
    if (r.step.floating == 0) throw ValueError("arange: the step is 0");
    if (r.integers()) {
      const std::int64_t low = r.step.integer > 0 ? r.start.integer : r.stop.integer;
      const std::int64_t high = r.step.integer > 0 ? r.stop.integer : r.start.integer;
      if (low >= high) return 0;
      // Unsigned, where neither the distance nor the smallest step's magnitude overflows.
      const auto distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
      const auto step = static_cast<std::uint64_t>(r.step.integer);
      const std::uint64_t n = (distance - 1) / (r.step.integer > 0 ? step : 0 - step) + 1;
      if (!std::in_range<std::int64_t>(n)) throw ValueError("arange: the range is too long");
      return static_cast<std::int64_t>(n);
    }
    const double n = std::ceil((r.stop.floating - r.start.floating) / r.step.floating);
    if (!(n < 0x1p62)) {
      throw ValueError(fmt::format("arange: {}, {} and {} make no finite range", r.start.floating,
                                   r.stop.floating, r.step.floating));
    }
    return n > 0 ? static_cast<std::int64_t>(n) : 0;
  }
  static Specs infer(const Kernel& k) {
    const ArangeNumbers r(k.attributes);
    const DType dtype = k.attributes.dtype(ArangeAttributes::dtype);
    if (dtype == DType::boolean) throw DTypeError(name, "makes numbers, not bool");
    const std::int64_t n = length(r);
    if (n > 0 && r.integers()) {  // the ends tell whether the type holds the values
      element(r.start.integer, dtype, name);
      const auto last =
          static_cast<std::uint64_t>(r.start.integer) +
          static_cast<std::uint64_t>(n - 1) * static_cast<std::uint64_t>(r.step.integer);
      element(static_cast<std::int64_t>(last), dtype, name);
    } else if (n > 0) {
      element(r.start.floating, dtype, name);
      element(r.start.floating + static_cast<double>(n - 1) * r.step.floating, dtype, name);
    }
    return {{dtype, {n}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const ArangeNumbers r(a);
    const auto at = [](const Scalar& s) -> long double {
      return s.kind == Scalar::Kind::floating ? static_cast<long double>(s.floating)
                                              : static_cast<long double>(s.integer);
    };
    Reference out{.shape = {0}};
    for (long double i = 0;; ++i) {
      const long double value = at(r.start) + i * at(r.step);
      if (at(r.step) > 0 ? value >= at(r.stop) : value <= at(r.stop)) break;
      out.values.push_back(is_integral(a.dtype(ArangeAttributes::dtype)) ? std::trunc(value)
                                                                         : value);
    }
    out.shape[0] = static_cast<std::int64_t>(out.values.size());
    return {out};
  }
  static std::vector<Sample> samples() {
    using I = std::int64_t;
    return {{.attributes = Attributes(I{0}, I{50}, I{1}, DType::int64)},
            {.attributes = Attributes(I{100}, I{-100}, I{-7}, DType::int16)},
            {.attributes = Attributes(I{5}, I{5}, I{1}, DType::int32)},
            {.attributes = Attributes(0.5, 20.25, 0.25, DType::float32)},
            {.attributes = Attributes(I{0}, 3.1, I{1}, DType::float64)},
            {.attributes = Attributes(10.0, 0.0, -1.25, DType::float16)}};
  }
};

struct Linspace : CreationOp {
  static constexpr auto name = "linspace";
  static constexpr auto signature = "linspace(start, stop, n, dtype = float32, endpoint = true)";
  static constexpr auto doc = "n numbers evenly spaced from start to stop";
  static constexpr auto ulp = 4.0;  // several roundings in double
  static Specs infer(const Kernel& k) {
    const DType dtype = k.attributes.dtype(LinspaceAttributes::dtype);
    const std::int64_t n = k.attributes.integer(LinspaceAttributes::size);
    if (n < 0) throw ValueError(fmt::format("linspace: {} is no number of elements", n));
    if (!std::isfinite(k.attributes.number(LinspaceAttributes::start)) ||
        !std::isfinite(k.attributes.number(LinspaceAttributes::stop))) {
      throw ValueError("linspace: the ends are not finite");
    }
    element(k.attributes.number(LinspaceAttributes::start), dtype, name);
    element(k.attributes.number(LinspaceAttributes::stop), dtype, name);
    return {{dtype, {n}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const std::int64_t n = a.integer(LinspaceAttributes::size);
    const long double start = a.number(LinspaceAttributes::start);
    const long double width = a.number(LinspaceAttributes::stop) - start;
    const std::int64_t steps =
        std::max<std::int64_t>(a.flag(LinspaceAttributes::endpoint) ? n - 1 : n, 1);
    return {make_reference({n}, [&](const Dims& i) {
      const long double value = start + width * i[0] / steps;
      return is_integral(a.dtype(LinspaceAttributes::dtype)) ? std::floor(value) : value;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](double start, double stop, std::int64_t n, DType dtype, bool endpoint) {
      return Sample{.attributes = Attributes(start, stop, n, dtype, endpoint)};
    };
    return {sample(1, 4, 67, DType::float32, true), sample(2, 9, 40, DType::float64, false),
            sample(0, 10, 5, DType::int32, true), sample(3, 7, 1, DType::float32, true),
            sample(3, 7, 0, DType::float32, true)};
  }
};

struct Logspace : CreationOp {
  static constexpr auto name = "logspace";
  static constexpr auto signature =
      "logspace(start, stop, n, base = 10, dtype = float32, endpoint = true)";
  static constexpr auto doc = "a base to the powers of n numbers evenly spaced from start to stop";
  static constexpr auto ulp = 1.0;
  static Specs infer(const Kernel& k) {
    const DType dtype = k.attributes.dtype(LogspaceAttributes::dtype);
    const std::int64_t n = k.attributes.integer(LogspaceAttributes::size);
    if (n < 0) throw ValueError(fmt::format("logspace: {} is no number of elements", n));
    if (!is_floating(dtype)) throw DTypeError(name, "makes floats; cast() makes others of them");
    const double base = k.attributes.number(LogspaceAttributes::base);
    if (!(base > 0) || !std::isfinite(base) ||
        !std::isfinite(k.attributes.number(LogspaceAttributes::start)) ||
        !std::isfinite(k.attributes.number(LogspaceAttributes::stop))) {
      throw ValueError("logspace: the ends must be finite, and the base above 0");
    }
    return {{dtype, {n}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const std::int64_t n = a.integer(LogspaceAttributes::size);
    const long double start = a.number(LogspaceAttributes::start);
    const long double width = a.number(LogspaceAttributes::stop) - start;
    const std::int64_t steps =
        std::max<std::int64_t>(a.flag(LogspaceAttributes::endpoint) ? n - 1 : n, 1);
    return {make_reference({n}, [&](const Dims& i) {
      return std::pow(static_cast<long double>(a.number(LogspaceAttributes::base)),
                      start + width * i[0] / steps);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](double start, double stop, std::int64_t n, double base, DType dtype,
                           bool endpoint) {
      return Sample{.attributes = Attributes(start, stop, n, base, dtype, endpoint)};
    };
    return {sample(-2, 3, 30, 10, DType::float64, true), sample(0, 1, 7, 2, DType::float32, false),
            sample(0, 2, 1, 10, DType::float16, true), sample(3, 7, 0, 10, DType::float32, true)};
  }
};

struct Eye : CreationOp {
  static constexpr auto name = "eye";
  static constexpr auto signature = "eye(n, m = n, k = 0, dtype = float32)";
  static constexpr auto doc = "ones on the k-th diagonal of a matrix, zeros elsewhere";
  static Specs infer(const Kernel& k) {
    return {{k.attributes.dtype(EyeAttributes::dtype),
             {k.attributes.integer(EyeAttributes::rows),
              k.attributes.integer(EyeAttributes::columns)}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    return {make_reference({a.integer(EyeAttributes::rows), a.integer(EyeAttributes::columns)},
                           [&](const Dims& at) {
                             return at[1] - at[0] == a.integer(EyeAttributes::diagonal) ? 1 : 0;
                           })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](std::int64_t n, std::int64_t m, std::int64_t k, DType dtype) {
      return Sample{.attributes = Attributes(n, m, k, dtype)};
    };
    return {sample(5, 5, 0, DType::float32), sample(3, 20, 4, DType::int64),
            sample(6, 4, -2, DType::boolean), sample(2, 2, 9, DType::bfloat16),
            sample(0, 3, 0, DType::float64)};
  }
};

struct OneHot : CreationOp {
  static constexpr auto name = "one_hot";
  static constexpr auto signature = "one_hot(indices, depth, dtype = float32)";
  static constexpr auto doc = "a new last axis of zeros with a one at each index";
  static constexpr auto types = kIndexTypes;
  static Specs infer(const Kernel& k) {
    const std::int64_t depth = k.attributes.integer(OneHotAttributes::depth);
    if (depth < 0) throw ValueError(fmt::format("one_hot: the depth {} is negative", depth));
    Shape shape = k.in[0].shape;
    shape.push_back(depth);
    return {{k.attributes.dtype(OneHotAttributes::dtype), shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const std::int64_t depth = a.integer(OneHotAttributes::depth);
    Shape shape = in[0].shape;
    shape.push_back(depth);
    return {make_reference(shape, [&](Dims at) {
      const std::int64_t place = at.back();
      at.erase(at.size() - 1);
      const auto index = static_cast<std::int64_t>(ops::at(in[0], at));
      return (index < 0 ? index + depth : index) == place ? 1 : 0;
    })};
  }
  static std::vector<Sample> samples() {
    return {
        {.inputs = {{.shape = {2, 3}, .values = {0, 3, -1, 2, -4, 1}}},
         .attributes = Attributes(std::int64_t{4}, DType::float32)},
        {.inputs = {{.shape = {}, .values = {2}}},
         .attributes = Attributes(std::int64_t{40}, DType::int8)},
        {.inputs = {{.shape = {0}}}, .attributes = Attributes(std::int64_t{3}, DType::boolean)}};
  }
};

}  // namespace

std::vector<const OpRecord*> creation_ops() {
  return {&record<Zeros>(),    &record<Ones>(),   &record<Full>(),
          &record<FullLike>(), &record<Arange>(), &record<Linspace>(),
          &record<Logspace>(), &record<Eye>(),    &record<OneHot>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::create;
using ops::record;
using ops::to_attribute;

Tensor full(const Shape& shape, const Scalar& value, std::optional<DType> dtype, Site site) {
  return create(record<ops::Full>(),
                Attributes(shape, to_attribute(value), dtype.value_or(value.dtype())), site);
}
Tensor zeros(const Shape& shape, DType dtype, Site site) {
  return create(record<ops::Zeros>(), Attributes(shape, dtype), site);
}
Tensor ones(const Shape& shape, DType dtype, Site site) {
  return create(record<ops::Ones>(), Attributes(shape, dtype), site);
}

namespace {

/// Where sizes are unknown, a node that waits for them and does not read x.
Tensor filled_later(const Tensor& x, const Scalar& value, DType dtype, Site site) {
  return call(record<ops::FullLike>(), Operand(x, site), Attributes(to_attribute(value), dtype));
}

}  // namespace

Tensor full_like(const Tensor& x, const Scalar& value, std::optional<DType> dtype, Site site) {
  const TensorBody& body = x.body("full_like", site);
  const DeviceScope device(body.device());
  const DType type = dtype.value_or(body.dtype);
  return body.shape.is_known() ? full(body.shape, value, type, site)
                               : filled_later(x, value, type, site);
}
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, Site site) {
  const TensorBody& body = x.body("zeros_like", site);
  const DeviceScope device(body.device());
  const DType type = dtype.value_or(body.dtype);
  return body.shape.is_known() ? zeros(body.shape, type, site) : filled_later(x, 0, type, site);
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, Site site) {
  const TensorBody& body = x.body("ones_like", site);
  const DeviceScope device(body.device());
  const DType type = dtype.value_or(body.dtype);
  return body.shape.is_known() ? ones(body.shape, type, site) : filled_later(x, 1, type, site);
}

Tensor arange(const Scalar& stop, std::optional<DType> dtype, Site site) {
  return arange(0, stop, 1, dtype, site);
}
Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step,
              std::optional<DType> dtype, Site site) {
  const bool integers = ops::ArangeNumbers(start, stop, step).integers();
  return create(record<ops::Arange>(),
                Attributes(to_attribute(start), to_attribute(stop), to_attribute(step),
                           dtype.value_or(integers ? DType::int64 : DType::float32)),
                site);
}
Tensor linspace(double start, double stop, std::int64_t n, DType dtype, bool endpoint, Site site) {
  return create(record<ops::Linspace>(), Attributes(start, stop, n, dtype, endpoint), site);
}
Tensor logspace(double start, double stop, std::int64_t n, double base, DType dtype, bool endpoint,
                Site site) {
  return create(record<ops::Logspace>(), Attributes(start, stop, n, base, dtype, endpoint), site);
}
Tensor eye(std::int64_t n, std::optional<std::int64_t> m, std::int64_t k, DType dtype, Site site) {
  return create(record<ops::Eye>(), Attributes(n, m.value_or(n), k, dtype), site);
}
Tensor one_hot(const Operand& indices, std::int64_t depth, DType dtype) {
  return ops::call(record<ops::OneHot>(), indices, Attributes(depth, dtype));
}

}  // namespace tenure
