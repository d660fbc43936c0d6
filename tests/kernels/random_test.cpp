#include "tenure/kernels/cpu/random/random.h"

#include <hwy/targets.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "tenure/base/error.h"
#include "tenure/kernels/cpu/random/dropout.h"
#include "tests/kernels/random_views.h"

namespace tenure::kernels::test {
namespace {

constexpr PhiloxStream kStream{0x123456789abcdef0, 0xfffffffe};

TEST(Philox, KnownAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox::block({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox::block({f, f, f, f}, {f, f}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, VectorsMatchScalars) {
  for (std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xfffffff0}, ~std::uint64_t{20}}) {
    for (std::int64_t counters : {0, 1, 2, 3, 7, 8, 9, 31, 64}) {
      std::vector<std::uint32_t> got(static_cast<std::size_t>(4 * counters) + 1, 42);
      philox::words(0x299f31d0a4093822, first, counters, got.data());
      EXPECT_EQ(got.back(), 42u);
      for (std::int64_t i = 0; i < counters; ++i) {
        const std::uint64_t c = first + static_cast<std::uint64_t>(i);
        const auto want = philox::block(
            {static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(c >> 32), 0, 0},
            {0xa4093822, 0x299f31d0});
        ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin() + 4 * i));
      }
    }
  }
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};

Moments moments_of(const std::vector<double>& x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  for (double v : x) m.mean += v / n;
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean) / n;
  const double s = std::sqrt(m.variance);
  for (double v : x) m.skew += std::pow((v - m.mean) / s, 3) / n;
  for (double v : x) m.kurtosis += std::pow((v - m.mean) / s, 4) / n;
  return m;
}

constexpr DType kFloats[] = {float16, bfloat16, float32, float64};

TEST(Uniform, MomentsAndRange) {
  for (DType dtype : kFloats) {
    const Owned out = make_dense(dtype, {200001});
    uniform(out, kStream, -2, 3);
    const auto x = values_of(out);
    EXPECT_GE(*std::min_element(x.begin(), x.end()), -2);
    EXPECT_LT(*std::max_element(x.begin(), x.end()), 3);
    const Moments m = moments_of(x);
    EXPECT_NEAR(m.mean, 0.5, 0.02);
    EXPECT_NEAR(m.variance, 25.0 / 12, 0.03);
    EXPECT_NEAR(m.kurtosis, 1.8, 0.03);
  }
}

TEST(Uniform, NeverReturnsTheUpperEnd) {
  for (DType dtype : kFloats) {
    // So narrow that rounding would reach the end often.
    for (double low : {1.0, -1.0, 0.0, 100.0, -256.0}) {
      const double high = low + (dtype == float64 ? 4e-16 : 1e-2) * std::max(std::abs(low), 1e-3);
      const Owned out = make_dense(dtype, {20000});
      uniform(out, kStream, low, high);
      for (double v : values_of(out)) ASSERT_TRUE(v >= low && v < high) << low << ' ' << v;
    }
    const Owned constant = make_dense(dtype, {5});
    uniform(constant, kStream, 2, 2);
    EXPECT_EQ(values_of(constant), std::vector<double>(5, 2));
  }
  const Owned first = make_dense(float32, {8});
  uniform(first, {0, 0}, 0, 1);
  EXPECT_EQ(first.as<float>()[0], static_cast<float>(0x6627e8) * 0x1p-24F);
}

TEST(Normal, MomentsAndTails) {
  for (DType dtype : kFloats) {
    const Owned out = make_dense(dtype, {1000003});
    normal(out, kStream, 1, 2);
    const auto x = values_of(out);
    const Moments m = moments_of(x);
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.variance, 4, 0.03);
    EXPECT_NEAR(m.skew, 0, 0.02);
    EXPECT_NEAR(m.kurtosis, 3, 0.05);
    const auto beyond = std::count_if(x.begin(), x.end(), [](double v) { return v > 1 + 2 * 4; });
    EXPECT_NEAR(static_cast<double>(beyond), 31.7, 25);
    const auto within = std::count_if(x.begin(), x.end(), [](double v) { return v < 1 + 2; });
    EXPECT_NEAR(static_cast<double>(within) / 1e6, 0.8413, 0.003);
  }
}

TEST(Normal, IsBoxMuller) {
  const Owned out = make_dense(float64, {1001});
  normal(out, {7, 3}, 0, 1);
  const Owned narrow = make_dense(float32, {1001});
  normal(narrow, {7, 3}, 0, 1);
  const double turn = 2 * std::acos(-1.0);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    auto w = philox::block({3 + i / 2, 0, 0, 0}, {7, 0});
    const auto word = [&](std::size_t k) {
      return (static_cast<std::uint64_t>(w[2 * k + 1]) << 32) | w[2 * k];
    };
    const double u = static_cast<double>((word(0) >> 11) + 1) * 0x1p-53;
    const double angle = turn * (static_cast<double>(word(1)) * 0x1p-64);
    const double radius = std::sqrt(-2 * std::log(u));
    const double want = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    ASSERT_NEAR(out.as<double>()[i], want, 1e-14) << i;

    w = philox::block({3 + i / 4, 0, 0, 0}, {7, 0});
    const std::size_t pair = i % 4 / 2 * 2;
    const double v = (static_cast<double>(w[pair] >> 1) + 1) * 0x1p-31;
    const double turns = static_cast<double>(w[pair + 1]) * 0x1p-32;
    const double about = std::sqrt(-2 * std::log(v)) *
                         (i % 2 == 0 ? std::cos(turn * turns) : std::sin(turn * turns));
    ASSERT_NEAR(narrow.as<float>()[i], about, 2e-6) << i;
  }
}

TEST(Bernoulli, FrequenciesInAllTypes) {
  for (int d = 0; d < kDTypes; ++d) {
    for (double p : {0.0, 0.25, 0.9, 1.0}) {
      const Owned out = make_dense(static_cast<DType>(d), {40001});
      bernoulli(out, kStream, p);
      double ones = 0;
      for (double v : values_of(out)) {
        ASSERT_TRUE(v == 0 || v == 1);
        ones += v;
      }
      EXPECT_NEAR(ones / 40001, p, p == 0 || p == 1 ? 0 : 0.01);
    }
  }
}

TEST(Randint, RangesAndFrequencies) {
  for (DType dtype : {uint8, int8, int16, int32, int64}) {
    const std::int64_t low = dtype == uint8 ? 0 : -5;
    const Owned out = make_dense(dtype, {50001});
    randint(out, kStream, low, low + 10);
    std::vector<int> seen(10);
    for (double v : values_of(out))
      ++seen.at(static_cast<std::size_t>(v - static_cast<double>(low)));
    for (int n : seen) EXPECT_NEAR(n, 5000, 400);
  }
  const Owned all = make_dense(int8, {20000});
  randint(all, kStream, -128, 128);
  const auto values = values_of(all);
  EXPECT_EQ(std::set<double>(values.begin(), values.end()).size(), 256u);
  randint(make_dense(int64, {10}), kStream, INT64_MIN, INT64_MAX);
}

TEST(Permutation, IsOneAndIsUniform) {
  const Owned out = make_dense(int32, {5000});
  permutation(out, kStream);
  auto values = values_of(out);
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i));

  std::vector<int> seen(27);  // of the orders of three
  for (std::uint64_t i = 0; i < 6000; ++i) {
    const Owned small = make_dense(int64, {3});
    permutation(small, {5, i * ops::wide_counters(3)});
    const auto p = values_of(small);
    ++seen[static_cast<std::size_t>(9 * p[0] + 3 * p[1] + p[2])];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 21);
  for (int n : seen) {
    if (n == 0) continue;
    EXPECT_NEAR(n, 1000, 150);
  }
}

struct Fill {
  DType dtype;
  void (*run)(const View&, PhiloxStream);
  bool wide = dtype == float64 || dtype == int32;  // a 64-bit word for each element
};
/// The last is a permutation, whose elements depend on how many there are.
constexpr Fill kFills[] = {
    {float32, [](const View& v, PhiloxStream s) { uniform(v, s, -1, 1.1); }},
    {float64, [](const View& v, PhiloxStream s) { uniform(v, s, -1, 1.1); }},
    {bfloat16, [](const View& v, PhiloxStream s) { uniform(v, s, -1, 1.1); }},
    {float32, [](const View& v, PhiloxStream s) { normal(v, s, 0.3, 1.7); }},
    {float64, [](const View& v, PhiloxStream s) { normal(v, s, 0.3, 1.7); }},
    {float16, [](const View& v, PhiloxStream s) { normal(v, s, 0.3, 1.7); }},
    {int8, [](const View& v, PhiloxStream s) { bernoulli(v, s, 0.5); }},
    {int32, [](const View& v, PhiloxStream s) { randint(v, s, 0, 1000); }},
    {float32,
     [](const View& v, PhiloxStream s) {
       std::fill_n(v.as<float>(), v.count(), 1.1F);
       dropout(v.dtype, v.count(), v.data, s, 0.3, v.data);
     }},
    {float64,
     [](const View& v, PhiloxStream s) {
       std::fill_n(v.as<double>(), v.count(), 1.1);
       dropout(v.dtype, v.count(), v.data, s, 0.3, v.data);
     },
     false},
    {int64, [](const View& v, PhiloxStream s) { permutation(v, s); }}};

#ifdef __x86_64__
TEST(RandomFills, SameBitsOnEveryInstructionSet) {
  const auto bytes_of = [](const Fill& fill) {
    const Owned out = make_dense(fill.dtype, {100003});
    fill.run(out, kStream);
    return out.bytes();
  };
  std::vector<decltype(bytes_of(kFills[0]))> expected;
  for (const Fill& fill : kFills) expected.push_back(bytes_of(fill));
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & target) == 0) continue;
    hwy::GetChosenTarget().Update(target);
    for (std::size_t i = 0; i < std::size(kFills); ++i) {
      EXPECT_EQ(bytes_of(kFills[i]), expected[i]) << hwy::TargetName(target) << ", fill " << i;
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
#endif

TEST(RandomFills, ElementsDependOnTheirPlaceAlone) {
  for (const auto& [dtype, fill, wide] : kFills) {
    const Owned whole = make_dense(dtype, {100003});
    fill(whole, kStream);
    if (fill == std::end(kFills)[-1].run) continue;
    // A shorter fill, and one that starts at a later counter, agree with the long one.
    const Owned part = make_dense(dtype, {1237});
    fill(part, kStream);
    const std::size_t bytes = 1237 * size_of(dtype);
    EXPECT_EQ(std::memcmp(part.data, whole.data, bytes), 0);
    fill(part, {kStream.seed, kStream.offset + (wide ? 500 : 250)});
    EXPECT_EQ(std::memcmp(part.data, whole.as<std::byte>() + 1000 * size_of(dtype), bytes), 0);
  }
  for (const auto& [dtype, fill, wide] : kFills) {
    expect_same_on_threads([dtype = dtype, fill = fill] {
      const Owned out = make_dense(dtype, {100003});
      fill(out, kStream);
      return out.bytes();
    });
    fill(make_dense(dtype, {0}), kStream);
    fill(make_dense(dtype, {}), kStream);
  }
  EXPECT_EQ(ops::floating_counters(float32, 5), 2u);
  EXPECT_EQ(ops::floating_counters(float64, 5), 3u);
  EXPECT_EQ(ops::narrow_counters(0), 0u);
}

TEST(RandomFills, RefuseBadParameters) {
  const Owned floats = make_dense(float32, {4});
  const Owned integers = make_dense(int8, {4});
  const auto before = floats.bytes();
  EXPECT_THROW(uniform(floats, kStream, 1, 0), ValueError);
  EXPECT_THROW(uniform(floats, kStream, 0, NAN), ValueError);
  EXPECT_THROW(uniform(floats, kStream, -3e38, 3e38), ValueError);
  EXPECT_THROW(uniform(integers, kStream, 0, 1), DTypeError);
  EXPECT_THROW(normal(floats, kStream, 0, -1), ValueError);
  EXPECT_THROW(normal(integers, kStream, 0, 1), DTypeError);
  EXPECT_THROW(bernoulli(floats, kStream, 1.5), ValueError);
  EXPECT_THROW(randint(integers, kStream, 3, 3), ValueError);
  EXPECT_THROW(randint(integers, kStream, 0, 129), ValueError);
  EXPECT_THROW(randint(floats, kStream, 0, 5), DTypeError);
  EXPECT_THROW(permutation(floats, kStream), DTypeError);
  EXPECT_EQ(floats.bytes(), before);
}

}  // namespace
}  // namespace tenure::kernels::test
