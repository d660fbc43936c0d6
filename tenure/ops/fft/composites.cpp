#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/reference.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/fft/composite.h"
#include "tenure/ops/fft/transform.h"
#include "tenure/ops/fft_ops.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape/slice_range.h"
#include "tenure/ops/shape_ops.h"

// Fourier transforms of two axes, and products of pairs, written in other ops.

namespace tenure::ops {
namespace {

struct PlaneAttributes {
  enum : int { sizes, norm };
};
struct ShiftAttributes {
  enum : int { axis };
};

/// A transform over two axes. Each says which transforms, of the last axis and the one before it.
template <class Op>
struct PlaneOp : FourierComposite {
  static constexpr double ulp_of_largest = 24;

  static std::optional<std::int64_t> size(const Attributes& a, int place) {
    const Dims& sizes = a.dims(PlaneAttributes::sizes);
    if (sizes.empty()) return std::nullopt;
    if (sizes.size() != 2) {
      throw ValueError(fmt::format("{}: {} sizes; it has two axes", Op::name, sizes.size()));
    }
    return sizes[place];
  }
  static FftNorm norm(const Attributes& a) {
    return static_cast<FftNorm>(a.integer(PlaneAttributes::norm));
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    return {Op::transformed(Expansion(operands), size(a, 0), size(a, 1), norm(a))};
  }
  /// The same, by the references of the transforms.
  static Reference along(const char* op, const Reference& x, int axis,
                         std::optional<std::int64_t> n, const Attributes& a) {
    const std::int64_t how = a.integer(PlaneAttributes::norm);
    return find_op(op)
        ->reference({x}, Attributes(n.value_or(kAbsent), std::int64_t{axis}, how, 1.0))
        .front();
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const bool columns_first = std::string_view(Op::last) == "irfft";
    if (columns_first) {
      return {along(Op::last, along(Op::other, in[0], -2, size(a, 0), a), -1, size(a, 1), a)};
    }
    return {along(Op::other, along(Op::last, in[0], -1, size(a, 1), a), -2, size(a, 0), a)};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](Shape shape, const Dims& sizes, FftNorm norm) {
      if (std::string_view(Op::last) != "rfft") shape.push_back(2);
      return Sample{.inputs = {{.shape = shape}},
                    .attributes = Attributes(sizes, static_cast<std::int64_t>(norm))};
    };
    return {sample({4, 6}, {}, FftNorm::backward), sample({2, 3, 5}, {4, 7}, FftNorm::ortho),
            sample({0, 2, 3}, {}, FftNorm::forward), sample({9, 8}, {8, 4}, FftNorm::forward)};
  }
};

struct Fft2 : PlaneOp<Fft2> {
  static constexpr auto name = "fft2";
  static constexpr auto signature = "fft2(x, sizes = those of x, norm = backward)";
  static constexpr auto doc = "fft over the last two axes";
  static constexpr auto last = "fft";
  static constexpr auto other = "fft";
  static Tensor transformed(const Expansion& at, std::optional<std::int64_t> rows,
                            std::optional<std::int64_t> columns, FftNorm norm) {
    return fft(at(fft(at[0], columns, -1, norm)), rows, -2, norm);
  }
};

struct Ifft2 : PlaneOp<Ifft2> {
  static constexpr auto name = "ifft2";
  static constexpr auto signature = "ifft2(x, sizes = those of x, norm = backward)";
  static constexpr auto doc = "the inverse of fft2";
  static constexpr auto last = "ifft";
  static constexpr auto other = "ifft";
  static Tensor transformed(const Expansion& at, std::optional<std::int64_t> rows,
                            std::optional<std::int64_t> columns, FftNorm norm) {
    return ifft(at(ifft(at[0], columns, -1, norm)), rows, -2, norm);
  }
};

struct Rfft2 : PlaneOp<Rfft2> {
  static constexpr auto name = "rfft2";
  static constexpr auto signature = "rfft2(x, sizes = those of x, norm = backward)";
  static constexpr auto doc = "rfft over the last axis, fft over the one before it";
  static constexpr auto last = "rfft";
  static constexpr auto other = "fft";
  static Tensor transformed(const Expansion& at, std::optional<std::int64_t> rows,
                            std::optional<std::int64_t> columns, FftNorm norm) {
    return fft(at(rfft(at[0], columns, -1, norm)), rows, -2, norm);
  }
};

struct Irfft2 : PlaneOp<Irfft2> {
  static constexpr auto name = "irfft2";
  static constexpr auto signature = "irfft2(x, sizes = rows, 2 (columns - 1), norm = backward)";
  static constexpr auto doc = "the inverse of rfft2";
  static constexpr auto last = "irfft";
  static constexpr auto other = "ifft";
  static Tensor transformed(const Expansion& at, std::optional<std::int64_t> rows,
                            std::optional<std::int64_t> columns, FftNorm norm) {
    return irfft(at(ifft(at[0], rows, -2, norm)), columns, -1, norm);
  }
};

/// A turn of an axis by half of its size, rounded down or up.
template <class Op>
struct ShiftOp : FourierComposite {
  static constexpr auto types = kAllTypes;
  static constexpr double ulp = 0;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const Shape& shape = body_of(operands[0], Op::name).shape;
    const int axis = normalize_axis(a.integer(ShiftAttributes::axis), shape.size(), Op::name);
    return {roll(at[0], (shape[axis] + Op::more) / 2, axis)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference& x = in[0];
    const int axis = normalize_axis(a.integer(ShiftAttributes::axis), x.shape.size(), Op::name);
    const std::int64_t n = x.shape[axis];
    return {make_reference(x.shape, [&](Dims index) {
      index[axis] = (index[axis] + n - (n + Op::more) / 2) % n;
      return ops::at(x, index);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t axis) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(axis)};
    };
    return {sample({5}, 0), sample({2, 6}, -1), sample({3, 2}, 0), sample({2, 0}, 1)};
  }
};

struct Fftshift : ShiftOp<Fftshift> {
  static constexpr auto name = "fftshift";
  static constexpr auto signature = "fftshift(x, axis)";
  static constexpr auto doc = "with the frequency 0 in the middle of an axis";
  static constexpr std::int64_t more = 0;
};

struct Ifftshift : ShiftOp<Ifftshift> {
  static constexpr auto name = "ifftshift";
  static constexpr auto signature = "ifftshift(x, axis)";
  static constexpr auto doc = "the reverse of fftshift";
  static constexpr std::int64_t more = 1;
};

struct ComplexMul : FourierComposite {
  static constexpr auto name = "complex_mul";
  static constexpr auto signature = "complex_mul(a, b)";
  static constexpr auto doc = "the product of pairs (real, imaginary), which broadcast";
  static constexpr double ulp_of_largest = 4;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    for (const Operand& pairs : operands) require_pairs(pairs, name);
    // (a.re b.re - a.im b.im, a.re b.im + a.im b.re), of both parts at once.
    const Tensor re = slice(at[0], -1, 0, 1);
    const Tensor im = slice(at[0], -1, 1, 2);
    const Tensor turned = flip(at[1], {-1});
    const Tensor along = mul(at(re), at[1]);
    const Tensor across = mul(at(im), at(turned));
    const Tensor first = sub(at(slice(at(along), -1, 0, 1)), at(slice(at(across), -1, 0, 1)));
    const Tensor second = add(at(slice(at(along), -1, 1, 2)), at(slice(at(across), -1, 1, 2)));
    return {concat({at(first), at(second)}, -1)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape shape = broadcast(in[0].shape, in[1].shape, name);
    const auto value = [&](const Reference& x, const Dims& index, std::int64_t part) {
      Dims own;
      const int lead = shape.size() - x.shape.size();
      for (int i = 0; i < x.shape.size(); ++i) {
        own.push_back(x.shape[i] == 1 ? 0 : index[lead + i]);
      }
      own[own.size() - 1] = part;
      return ops::at(x, own);
    };
    return {make_reference(shape, [&](const Dims& index) {
      const std::int64_t part = index.back();
      const long double same = value(in[0], index, 0) * value(in[1], index, part);
      const long double other = value(in[0], index, 1) * value(in[1], index, 1 - part);
      return part == 0 ? same - other : same + other;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& a, const Shape& b) {
      return Sample{.inputs = {{.shape = a}, {.shape = b}}};
    };
    return {sample({3, 2}, {3, 2}), sample({4, 1, 2}, {3, 2}), sample({2}, {2}),
            sample({0, 2}, {1, 2})};
  }
};

struct ComplexConj : FourierComposite {
  static constexpr auto name = "complex_conj";
  static constexpr auto signature = "complex_conj(x)";
  static constexpr auto doc = "pairs (real, imaginary) with their imaginary parts negated";
  static constexpr double ulp = 0;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    require_pairs(operands[0], name);
    const Tensor im = neg(at(slice(at[0], -1, 1, 2)));
    return {concat({at(slice(at[0], -1, 0, 1)), at(im)}, -1)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference out = in[0];
    for (std::size_t i = 1; i < out.values.size(); i += 2) out.values[i] = -out.values[i];
    return {out};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 2}}}},
            {.inputs = {{.shape = {2}}}},
            {.inputs = {{.shape = {2, 0, 2}}}}};
  }
};

struct ComplexAbs : FourierComposite {
  static constexpr auto name = "complex_abs";
  static constexpr auto signature = "complex_abs(x)";
  static constexpr auto doc = "the sizes of pairs (real, imaginary)";
  static constexpr double ulp = 4;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    require_pairs(operands[0], name);
    return {hypot(at(select(at[0], -1, 0)), at(select(at[0], -1, 1)))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference out{.shape = in[0].shape};
    out.shape.erase(out.shape.size() - 1);
    for (std::size_t i = 0; i < in[0].values.size(); i += 2) {
      out.values.push_back(std::hypot(in[0].values[i], in[0].values[i + 1]));
    }
    return {out};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 2}, .low = 0.5}}},
            {.inputs = {{.shape = {2}, .low = 0.5}}},
            {.inputs = {{.shape = {0, 2}}}}};
  }
};

}  // namespace

void require_pairs(const Operand& x, const char* op) {
  const Shape& shape = body_of(x, op).shape;
  if (!shape.empty() && shape.back() == 2) return;
  throw ShapeError(
      op,
      fmt::format("the last axis of {} has no pairs of real and imaginary parts", to_string(shape)),
      {shape.to_vector()});
}

std::vector<const OpRecord*> fourier_composites() {
  return {&record<Fft2>(),       &record<Ifft2>(),       &record<Rfft2>(),
          &record<Irfft2>(),     &record<Fftshift>(),    &record<Ifftshift>(),
          &record<ComplexMul>(), &record<ComplexConj>(), &record<ComplexAbs>()};
}

}  // namespace tenure::ops

namespace tenure {
namespace {

template <class Op>
Tensor call_plane(const Operand& x, const Dims& sizes, FftNorm norm) {
  return ops::call(ops::record<Op>(), x, ops::Attributes(sizes, static_cast<std::int64_t>(norm)));
}

}  // namespace

Tensor fft2(const Operand& x, const Dims& sizes, FftNorm norm) {
  return call_plane<ops::Fft2>(x, sizes, norm);
}
Tensor ifft2(const Operand& x, const Dims& sizes, FftNorm norm) {
  return call_plane<ops::Ifft2>(x, sizes, norm);
}
Tensor rfft2(const Operand& x, const Dims& sizes, FftNorm norm) {
  return call_plane<ops::Rfft2>(x, sizes, norm);
}
Tensor irfft2(const Operand& x, const Dims& sizes, FftNorm norm) {
  return call_plane<ops::Irfft2>(x, sizes, norm);
}
Tensor fftshift(const Operand& x, int axis) {
  return ops::call(ops::record<ops::Fftshift>(), x, ops::Attributes(std::int64_t{axis}));
}
Tensor ifftshift(const Operand& x, int axis) {
  return ops::call(ops::record<ops::Ifftshift>(), x, ops::Attributes(std::int64_t{axis}));
}
Tensor complex_mul(const Operand& a, const Operand& b) {
  return ops::call(ops::record<ops::ComplexMul>(), {a, b}, {});
}
Tensor complex_conj(const Operand& x) { return ops::call(ops::record<ops::ComplexConj>(), x); }
Tensor complex_abs(const Operand& x) { return ops::call(ops::record<ops::ComplexAbs>(), x); }

}  // namespace tenure
