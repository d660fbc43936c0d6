#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/random/attributes.h"
#include "tenure/ops/random/definition.h"
#include "tenure/ops/random/domain.h"
#include "tenure/ops/random_ops.h"

namespace tenure::ops {
namespace {

/// What all random ops share. The last two attributes are the seed and the offset, so that a call
/// can be repeated from its record. Each defines spec(attributes), counters(dtype, n),
/// check(attributes) and element(words, i, attributes), its definition.
template <class Op>
struct RandomOp {
  static constexpr auto family = "random";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;

  static Specs infer(const Kernel& k) {
    const Spec spec = Op::spec(k.attributes);
    Op::check(k.attributes);
    return {spec};
  }
  static std::uint64_t draws(const Attributes& a) {
    Op::check(a);  // before the generator moves on
    const Spec spec = Op::spec(a);
    return Op::counters(spec.dtype, check_shape(spec.shape, size_of(spec.dtype), Op::name));
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const RandomWords words(stream_of(a));
    std::int64_t i = 0;
    return {
        make_reference(Op::spec(a).shape, [&](const Dims&) { return Op::element(words, i++, a); })};
  }
  template <class... Values>
  static Sample sample(const Values&... values) {
    return {.attributes = Attributes(values..., std::int64_t{0x1234567890abcdef},
                                     (std::int64_t{1} << 32) - 3)};
  }
};

struct Uniform : RandomOp<Uniform> {
  static constexpr auto name = "uniform";
  static constexpr auto signature =
      "uniform(shape, low = 0, high = 1, dtype = float32, generator = default)";
  static constexpr auto doc = "random numbers, uniform in [low, high)";
  static constexpr auto ulp = 2.0;  // a product and a sum
  static Spec spec(const Attributes& a) {
    return {a.dtype(UniformAttributes::dtype), a.dims(UniformAttributes::shape)};
  }
  static std::uint64_t counters(DType dtype, std::int64_t n) { return floating_counters(dtype, n); }
  static void check(const Attributes& a) {
    check_uniform(a.dtype(UniformAttributes::dtype), a.number(UniformAttributes::low),
                  a.number(UniformAttributes::high));
  }
  static long double element(const RandomWords& words, std::int64_t i, const Attributes& a) {
    const long double unit = a.dtype(UniformAttributes::dtype) == DType::float64
                                 ? std::ldexp(static_cast<long double>(words.wide(i) >> 11), -53)
                                 : std::ldexp(static_cast<long double>(words.narrow(i) >> 8), -24);
    const long double low = a.number(UniformAttributes::low);
    return low + unit * (a.number(UniformAttributes::high) - low);
  }
  static std::vector<Sample> samples() {
    return {
        sample(Dims{5, 41}, 0.0, 1.0, DType::float32), sample(Dims{67}, 2.0, 5.0, DType::float64),
        sample(Dims{3, 0}, 0.0, 1.0, DType::float32), sample(Dims{70}, -4.0, -1.5, DType::float16),
        sample(Dims{}, 1.0, 2.0, DType::bfloat16)};
  }
};

struct Normal : RandomOp<Normal> {
  static constexpr auto name = "normal";
  static constexpr auto signature =
      "normal(shape, mean = 0, deviation = 1, dtype = float32, generator = default)";
  static constexpr auto doc = "normally distributed random numbers, by Box and Muller";
  static constexpr auto ulp = 8.0;  // logarithm, root, sine and cosine of the SIMD kernel
  static Spec spec(const Attributes& a) {
    return {a.dtype(NormalAttributes::dtype), a.dims(NormalAttributes::shape)};
  }
  static std::uint64_t counters(DType dtype, std::int64_t n) { return floating_counters(dtype, n); }
  static void check(const Attributes& a) {
    check_normal(a.dtype(NormalAttributes::dtype), a.number(NormalAttributes::deviation));
  }
  static long double element(const RandomWords& words, std::int64_t i, const Attributes& a) {
    return a.number(NormalAttributes::mean) +
           a.number(NormalAttributes::deviation) *
               standard_normal(words, a.dtype(NormalAttributes::dtype), i);
  }
  static std::vector<Sample> samples() {
    return {
        sample(Dims{5, 41}, 0.0, 1.0, DType::float32), sample(Dims{67}, 0.0, 0.5, DType::float64),
        sample(Dims{67}, 100.0, 2.0, DType::float32),  sample(Dims{0, 3}, 0.0, 1.0, DType::float32),
        sample(Dims{35}, 0.0, 1.0, DType::bfloat16),   sample(Dims{}, 0.0, 1.0, DType::float16)};
  }
};

struct Bernoulli : RandomOp<Bernoulli> {
  static constexpr auto name = "bernoulli";
  static constexpr auto signature = "bernoulli(shape, p, dtype = bool, generator = default)";
  static constexpr auto doc = "one with probability p, else zero";
  static Spec spec(const Attributes& a) {
    return {a.dtype(BernoulliAttributes::dtype), a.dims(BernoulliAttributes::shape)};
  }
  static std::uint64_t counters(DType, std::int64_t n) { return narrow_counters(n); }
  static void check(const Attributes& a) {
    check_bernoulli(a.number(BernoulliAttributes::probability));
  }
  static long double element(const RandomWords& words, std::int64_t i, const Attributes& a) {
    return words.narrow(i) < std::round(std::ldexp(a.number(BernoulliAttributes::probability), 32))
               ? 1
               : 0;
  }
  static std::vector<Sample> samples() {
    return {sample(Dims{9, 33}, 0.25, DType::boolean), sample(Dims{50}, 0.75, DType::float32),
            sample(Dims{10}, 0.0, DType::int8), sample(Dims{10}, 1.0, DType::float16),
            sample(Dims{0}, 0.5, DType::boolean)};
  }
};

struct Randint : RandomOp<Randint> {
  static constexpr auto name = "randint";
  static constexpr auto signature = "randint(low, high, shape, dtype = int64, generator = default)";
  static constexpr auto doc = "random integers in [low, high)";
  static Spec spec(const Attributes& a) {
    return {a.dtype(RandintAttributes::dtype), a.dims(RandintAttributes::shape)};
  }
  static std::uint64_t counters(DType, std::int64_t n) { return wide_counters(n); }
  static void check(const Attributes& a) {
    check_randint(a.dtype(RandintAttributes::dtype), a.integer(RandintAttributes::low),
                  a.integer(RandintAttributes::high));
  }
  static long double element(const RandomWords& words, std::int64_t i, const Attributes& a) {
    const auto low = static_cast<std::uint64_t>(a.integer(RandintAttributes::low));
    const auto width = static_cast<std::uint64_t>(a.integer(RandintAttributes::high)) - low;
    return static_cast<std::int64_t>(low + scaled(words.wide(i), width));
  }
  static std::vector<Sample> samples() {
    using I = std::int64_t;
    return {sample(I{-10}, I{10}, Dims{4, 30}, DType::int64),
            sample(I{0}, I{256}, Dims{65}, DType::uint8),
            sample(INT64_MIN, INT64_MAX, Dims{9}, DType::int64),
            sample(I{7}, I{8}, Dims{}, DType::int16), sample(I{0}, I{2}, Dims{0}, DType::int32)};
  }
};

struct Permutation : RandomOp<Permutation> {
  static constexpr auto name = "permutation";
  static constexpr auto signature = "permutation(n, dtype = int64, generator = default)";
  static constexpr auto doc = "the integers [0, n) in random order";
  static Spec spec(const Attributes& a) {
    if (a.integer(PermutationAttributes::size) < 0)
      throw ValueError(
          fmt::format("permutation: {} is negative", a.integer(PermutationAttributes::size)));
    return {a.dtype(PermutationAttributes::dtype), {a.integer(PermutationAttributes::size)}};
  }
  static std::uint64_t counters(DType, std::int64_t n) { return wide_counters(n); }
  static void check(const Attributes& a) {
    check_permutation(a.dtype(PermutationAttributes::dtype),
                      a.integer(PermutationAttributes::size));
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const RandomWords words(stream_of(a));
    Reference out{.shape = spec(a).shape};
    for (std::int64_t i = 0; i < out.shape[0]; ++i) {
      const std::uint64_t j = scaled(words.wide(i), static_cast<std::uint64_t>(i) + 1);
      out.values.push_back(i);
      std::swap(out.values[j], out.values.back());
    }
    return {out};
  }
  static std::vector<Sample> samples() {
    using I = std::int64_t;
    return {sample(I{100}, DType::int64), sample(I{37}, DType::int32), sample(I{1}, DType::int64),
            sample(I{0}, DType::int32)};
  }
};

/// Calls a random op with the next counters of the generator. In a trace every run draws anew.
Tensor draw(const OpRecord& op, Generator* generator, Site site, const Attributes& attributes) {
  if (current_trace() != nullptr) {
    if (generator == nullptr) return create(op, attributes, site);
    in_call(op.name, site, [&] {
      throw ValueError(
          fmt::format("{}: in a trace random numbers come from the default generator", op.name));
    });
  }
  const std::uint64_t counters = in_call(op.name, site, [&] { return op.draws(attributes); });
  const Generator::State begin =
      (generator == nullptr ? default_generator() : *generator).reserve(counters);
  return create(op,
                attributes.with_last(static_cast<std::int64_t>(begin.seed),
                                     static_cast<std::int64_t>(begin.offset)),
                site);
}

template <class Op, class... Values>
Tensor draw(Generator* generator, Site site, const Values&... values) {
  const Attributes attributes(values..., std::int64_t{0}, std::int64_t{0});
  return draw(record<Op>(), generator, site, attributes);
}

}  // namespace

std::vector<const OpRecord*> random_ops() {
  return {&record<Uniform>(), &record<Normal>(), &record<Bernoulli>(), &record<Randint>(),
          &record<Permutation>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::draw;

Tensor uniform(const Shape& shape, double low, double high, DType dtype, Generator* generator,
               Site site) {
  return draw<ops::Uniform>(generator, site, shape, low, high, dtype);
}

Tensor normal(const Shape& shape, double mean, double deviation, DType dtype, Generator* generator,
              Site site) {
  return draw<ops::Normal>(generator, site, shape, mean, deviation, dtype);
}

Tensor bernoulli(const Shape& shape, double p, DType dtype, Generator* generator, Site site) {
  return draw<ops::Bernoulli>(generator, site, shape, p, dtype);
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, DType dtype,
               Generator* generator, Site site) {
  return draw<ops::Randint>(generator, site, low, high, shape, dtype);
}

Tensor permutation(std::int64_t n, DType dtype, Generator* generator, Site site) {
  return draw<ops::Permutation>(generator, site, n, dtype);
}

}  // namespace tenure
