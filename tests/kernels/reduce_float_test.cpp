#include "tests/kernels/reduce_support.h"

namespace tenure::kernels::reduce_testing {
namespace {

long double mean_of(const Values& values) {
  long double sum = 0;
  for (long double v : values) sum += v;
  return sum / static_cast<long double>(values.size());
}

long double variance_of(const Values& values, double correction) {
  const long double mean = mean_of(values);
  long double sum = 0;
  for (long double v : values) sum += (v - mean) * (v - mean);
  return sum / std::max(static_cast<long double>(values.size()) - correction, 0.0L);
}

long double logsumexp_of(const Values& values) {
  const long double shift = *std::max_element(values.begin(), values.end());
  long double sum = 0;
  for (long double v : values) sum += std::exp(v - shift);
  return shift + std::log(sum);
}

long double norm_of(const Values& values, double order) {
  long double result = order < 0 && std::isinf(order) ? kInf : 0;
  for (long double v : values) {
    const long double magnitude = std::fabs(v);
    if (std::isinf(order)) {
      result = order > 0 ? std::max(result, magnitude) : std::min(result, magnitude);
    } else if (order == 0) {
      result += v != 0;
    } else {
      result += std::pow(magnitude, static_cast<long double>(order));
    }
  }
  if (std::isinf(order) || order == 0) return result;
  return std::pow(result, 1 / static_cast<long double>(order));
}

/// The rounding of the result, and of arithmetic in the type it is computed in.
long double tolerance(DType dtype, long double value, long double steps) {
  const DType compute = dtype == float64 ? float64 : float32;
  const long double subnormal = dtype == float16 ? 0x1p-25L : 0;
  return (epsilon(dtype) + steps * epsilon(compute)) * std::fabs(value) + subnormal;
}

long double mean_error(DType dtype, const Values& values) {
  return epsilon(dtype == float64 ? float64 : float32) * std::fabs(mean_of(values));
}

class ReduceFloatTest : public ::testing::TestWithParam<DType> {};

TEST_P(ReduceFloatTest, Variance) {
  const DType dtype = GetParam();
  for (double center : {0.0, 100.0}) {
    for_each_input(dtype, center, [&](const Array& in, const Axes& axes) {
      for (double correction : {0.0, 1.0}) {
        Array out(dtype, kept_shape(in.view.shape, axes));
        variance(in.view, axes, correction, false, out.view);
        check_outputs(in, axes, out, [&](const Values& terms, long double got) {
          const long double expected = variance_of(terms, correction);
          // A mean that is rounded by d moves the variance by d^2.
          const long double d = mean_error(dtype, terms);
          expect_close(got, expected, tolerance(dtype, expected, 4) + 2 * d * d);
        });
        variance(in.view, axes, correction, true, out.view);
        check_outputs(in, axes, out, [&](const Values& terms, long double got) {
          const long double expected = std::sqrt(variance_of(terms, correction));
          expect_close(got, expected, tolerance(dtype, expected, 4) + 2 * mean_error(dtype, terms));
        });
      }
    });
  }
}

TEST_P(ReduceFloatTest, Logsumexp) {
  const DType dtype = GetParam();
  for (double center : {0.0, 500.0, -500.0}) {
    for_each_input(dtype, center, [&](const Array& in, const Axes& axes) {
      Array out(dtype, kept_shape(in.view.shape, axes));
      logsumexp(in.view, axes, out.view);
      check_outputs(in, axes, out, [&](const Values& terms, long double got) {
        const long double expected = logsumexp_of(terms);
        expect_close(
            got, expected,
            tolerance(dtype, expected, 1) + 8 * epsilon(dtype == float64 ? float64 : float32));
      });
    });
  }
}

TEST_P(ReduceFloatTest, Norm) {
  const DType dtype = GetParam();
  for (double order : {1.0, 2.0, 3.0, 0.5, -1.0, 0.0, kInf, -kInf}) {
    SCOPED_TRACE(order);
    for_each_input(dtype, 0, [&](const Array& in, const Axes& axes) {
      Array out(dtype, kept_shape(in.view.shape, axes));
      norm(in.view, axes, order, out.view);
      check_outputs(in, axes, out, [&](const Values& terms, long double got) {
        const long double expected = norm_of(terms, order);
        if (dtype == float16 && expected > 65000) return;
        expect_close(got, expected, tolerance(dtype, expected, 6));
      });
    });
  }
}

TEST_P(ReduceFloatTest, SpecialValues) {
  const DType dtype = GetParam();
  const auto run = [&](const std::vector<double>& values, auto&& f) {
    const auto n = static_cast<std::int64_t>(values.size());
    Array in(dtype, {n});
    for (std::int64_t i = 0; i < n; ++i) {
      write(in.bytes.data(), dtype, i, values[static_cast<std::size_t>(i)]);
    }
    Array out(dtype, {});
    f(in.view, out.view);
    return element(out.view, 0);
  };
  const auto lse = [](const View& in, const View& out) { logsumexp(in, {0}, out); };
  EXPECT_EQ(run({-kInf, -kInf}, lse), -kInf);
  EXPECT_EQ(run({-kInf, 2}, lse), 2);
  EXPECT_EQ(run({1, kInf, -kInf}, lse), kInf);
  EXPECT_TRUE(std::isnan(run({1, kInf, kNaN}, lse)));
  EXPECT_EQ(run({}, lse), -kInf);
  const auto var = [](const View& in, const View& out) { variance(in, {0}, 1, false, out); };
  EXPECT_TRUE(std::isnan(run({}, var)));
  EXPECT_TRUE(std::isnan(run({3}, var)));
  EXPECT_TRUE(std::isnan(run({1, kInf}, var)));
  EXPECT_TRUE(std::isnan(run({1, kNaN}, var)));
  EXPECT_EQ(run({1, 3}, var), 2);
  for (double order : {0.5, 1.0, 2.0, 3.0, kInf}) {
    const auto norm_p = [&](const View& in, const View& out) { norm(in, {0}, order, out); };
    EXPECT_EQ(run({}, norm_p), 0);
    EXPECT_EQ(run({0, 0}, norm_p), 0);
    EXPECT_EQ(run({1, -kInf}, norm_p), kInf);
    EXPECT_TRUE(std::isnan(run({1, kNaN, kInf}, norm_p)));
  }
}

TEST_P(ReduceFloatTest, TheTwoNormNeitherOverflowsNorUnderflows) {
  const DType dtype = GetParam();
  const long double largest = dtype == float16 ? 40000.0L : dtype == float64 ? 1e308L : 2e38L;
  const long double smallest = dtype == float16   ? 0x1p-24L
                               : dtype == float64 ? 0x1p-1074L
                                                  : 0x1p-133L;
  for (long double scale : {largest, smallest}) {
    Array in(dtype, {2, 2});
    for (std::int64_t i = 0; i < 4; ++i)
      write(in.bytes.data(), dtype, i, i < 2 ? static_cast<double>(scale) : 0);
    Array out(dtype, {2});
    norm(in.view, {1}, 2, out.view);
    const long double expected = std::sqrt(2.0L) * element(in.view, 0);
    expect_close(element(out.view, 0), expected, epsilon(dtype) * expected + smallest / 2);
    EXPECT_EQ(element(out.view, 1), 0);
  }
}

TEST_P(ReduceFloatTest, SameBitsOnAnyNumberOfThreads) {
  const DType dtype = GetParam();
  std::mt19937 rng(5);
  for (const Case& c : {Case{{700000}, {0}}, Case{{1000, 700}, {0}}, Case{{1000, 700}, {1}},
                        Case{{300000, 3}, {0}}}) {
    const Array in = random_array(dtype, c.shape, LayoutKind::contiguous, rng, 1);
    const Shape kept = kept_shape(c.shape, c.axes);
    expect_same_bits(dtype, kept,
                     [&](const View& out) { variance(in.view, c.axes, 1, false, out); });
    expect_same_bits(dtype, kept, [&](const View& out) { logsumexp(in.view, c.axes, out); });
    expect_same_bits(dtype, kept, [&](const View& out) { norm(in.view, c.axes, 2, out); });
    Array out(dtype, kept);
    variance(in.view, c.axes, 1, false, out.view);
    check_outputs(in, c.axes, out, [&](const Values& terms, long double got) {
      const long double expected = variance_of(terms, 1);
      expect_close(got, expected, tolerance(dtype, expected, 4));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, ReduceFloatTest, ::testing::ValuesIn(kFloats),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tenure::kernels::reduce_testing
