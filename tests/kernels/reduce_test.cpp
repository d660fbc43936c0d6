#include "tests/kernels/reduce_support.h"

namespace tenure::kernels::reduce_testing {
namespace {

DType sum_type(DType in) { return is_floating(in) ? in : DType::int64; }

long double sum_of(const Values& values) {
  long double sum = 0;
  for (long double v : values) sum += v;
  return sum;
}

long double magnitude_of(const Values& values) {
  long double sum = 0;
  for (long double v : values) sum += std::fabs(v);
  return sum;
}

/// What float32 or float64 arithmetic may lose on sums of this magnitude.
long double sum_error(DType dtype, const Values& values) {
  const DType compute = dtype == float64 ? float64 : float32;
  return 2 * epsilon(compute) * magnitude_of(values) + epsilon(dtype) * std::fabs(sum_of(values));
}

class ReduceTest : public ::testing::TestWithParam<DType> {};

TEST_P(ReduceTest, Sum) {
  const DType dtype = GetParam();
  for_each_input(dtype, 0.5, [&](const Array& in, const Axes& axes) {
    Array out(sum_type(dtype), kept_shape(in.view.shape, axes));
    reduce_axes(Reduction::sum, in.view, axes, out.view);
    check_outputs(in, axes, out, [&](const Values& terms, long double got) {
      expect_close(got, sum_of(terms), is_floating(dtype) ? sum_error(dtype, terms) : 0);
    });
  });
}

TEST_P(ReduceTest, Mean) {
  const DType dtype = GetParam();
  const DType to = is_floating(dtype) ? dtype : float32;
  for_each_input(dtype, 0.5, [&](const Array& in, const Axes& axes) {
    Array out(to, kept_shape(in.view.shape, axes));
    reduce_axes(Reduction::mean, in.view, axes, out.view);
    check_outputs(in, axes, out, [&](const Values& terms, long double got) {
      const auto n = static_cast<long double>(terms.size());
      expect_close(got, sum_of(terms) / n, sum_error(to, terms) / n);
    });
  });
}

TEST_P(ReduceTest, Prod) {
  const DType dtype = GetParam();
  for_each_input(dtype, 1, [&](const Array& in, const Axes& axes) {
    Array out(sum_type(dtype), kept_shape(in.view.shape, axes));
    reduce_axes(Reduction::prod, in.view, axes, out.view);
    check_outputs(in, axes, out, [&](const Values& terms, long double got) {
      if (!is_floating(dtype)) {
        std::uint64_t product = 1;
        for (long double v : terms)
          product *= static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
        EXPECT_EQ(static_cast<std::int64_t>(got), static_cast<std::int64_t>(product));
        return;
      }
      long double product = 1;
      for (long double v : terms) product *= v;
      if (std::fabs(product) > 60000) return;  // may have overflowed to inf in between
      const auto n = static_cast<long double>(terms.size());
      const long double least = dtype == float16   ? 0x1p-24L
                                : dtype == float64 ? 1e-300L
                                                   : 0x1p-133L;
      expect_close(got, product,
                   (epsilon(dtype) + n * epsilon(float64)) * std::fabs(product) + least);
    });
  });
}

TEST_P(ReduceTest, MaxAndMin) {
  const DType dtype = GetParam();
  for_each_input(dtype, 0, [&](const Array& in, const Axes& axes) {
    Array largest(dtype, kept_shape(in.view.shape, axes));
    Array smallest(dtype, kept_shape(in.view.shape, axes));
    reduce_axes(Reduction::max, in.view, axes, largest.view);
    reduce_axes(Reduction::min, in.view, axes, smallest.view);
    check_outputs(in, axes, largest, [](const Values& terms, long double got) {
      EXPECT_EQ(got, *std::max_element(terms.begin(), terms.end()));
    });
    check_outputs(in, axes, smallest, [](const Values& terms, long double got) {
      EXPECT_EQ(got, *std::min_element(terms.begin(), terms.end()));
    });
  });
}

TEST_P(ReduceTest, AnyAndAll) {
  const DType dtype = GetParam();
  std::mt19937 rng(3);
  for (const Case& c : cases()) {
    for (int zeros : {1, 2, 40}) {  // mostly zeros, half of them, few
      Array in = random_array(dtype, c.shape, LayoutKind::strided, rng, 5);
      for (std::int64_t i = 0; i < in.elements(); ++i) {
        if (zeros == 1 ? rng() % 40 != 0 : rng() % static_cast<unsigned>(zeros) == 0) {
          write(in.bytes.data(), dtype, i, 0);
        }
      }
      Array any(boolean, kept_shape(c.shape, c.axes));
      Array all(boolean, kept_shape(c.shape, c.axes));
      reduce_axes(Reduction::any, in.view, c.axes, any.view);
      reduce_axes(Reduction::all, in.view, c.axes, all.view);
      const auto is_true = [](long double v) { return v != 0; };
      check_outputs(in, c.axes, any, [&](const Values& terms, long double got) {
        EXPECT_EQ(got != 0, std::any_of(terms.begin(), terms.end(), is_true));
      });
      check_outputs(in, c.axes, all, [&](const Values& terms, long double got) {
        EXPECT_EQ(got != 0, std::all_of(terms.begin(), terms.end(), is_true));
      });
    }
  }
}

TEST_P(ReduceTest, OfNothing) {
  const DType dtype = GetParam();
  for (const Case& c : {Case{{0}, {0}}, Case{{3, 0}, {1}}, Case{{0, 3}, {0}}, Case{{2, 0, 3}, {1}},
                        Case{{2, 0, 3}, {0, 1, 2}}}) {
    Array in(dtype, c.shape);
    const auto expect_all = [&](Reduction kind, DType to, long double expected) {
      Array out(to, kept_shape(c.shape, c.axes));
      reduce_axes(kind, in.view, c.axes, out.view);
      for (std::int64_t i = 0; i < out.view.count(); ++i) {
        expect_close(element(out.view, i), expected, 0);
      }
    };
    expect_all(Reduction::sum, sum_type(dtype), 0);
    expect_all(Reduction::prod, sum_type(dtype), 1);
    expect_all(Reduction::mean, float32, kNaN);
    expect_all(Reduction::any, boolean, 0);
    expect_all(Reduction::all, boolean, 1);
    Array out(dtype, kept_shape(c.shape, c.axes));
    EXPECT_THROW(reduce_axes(Reduction::max, in.view, c.axes, out.view), InternalError);
  }
  Array in(dtype, {0, 3});  // no outputs: nothing to do
  Array out(dtype, {0});
  reduce_axes(Reduction::max, in.view, {1}, out.view);
}

TEST_P(ReduceTest, SameBitsOnAnyNumberOfThreads) {
  const DType dtype = GetParam();
  std::mt19937 rng(5);
  for (const Case& c : {Case{{700000}, {0}}, Case{{1000, 700}, {0}}, Case{{1000, 700}, {1}},
                        Case{{300000, 3}, {0}}, Case{{3, 300000}, {1}}, Case{{70000, 9}, {1}}}) {
    for (LayoutKind layout : {LayoutKind::contiguous, LayoutKind::strided}) {
      const Array in = random_array(dtype, c.shape, layout, rng, 0.1);
      const Shape kept = kept_shape(c.shape, c.axes);
      for (Reduction kind : {Reduction::sum, Reduction::prod}) {
        expect_same_bits(sum_type(dtype), kept,
                         [&](const View& out) { reduce_axes(kind, in.view, c.axes, out); });
      }
      Array out(sum_type(dtype), kept);
      reduce_axes(Reduction::sum, in.view, c.axes, out.view);
      check_outputs(in, c.axes, out, [&](const Values& terms, long double got) {
        if (dtype == float16 && std::fabs(sum_of(terms)) > 65000) return;
        expect_close(got, sum_of(terms), is_floating(dtype) ? sum_error(dtype, terms) : 0);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceTest, ::testing::ValuesIn(kAllTypes),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ReduceSpecialTest, NaNWinsWhereverItIs) {
  for (DType dtype : kFloats) {
    for (const Case& c : {Case{{100}, {0}}, Case{{5, 20}, {0}}, Case{{5, 20}, {1}}}) {
      for (std::int64_t at = 0; at < 100; ++at) {
        Array in(dtype, c.shape);
        for (std::int64_t i = 0; i < 100; ++i) {
          write(in.bytes.data(), dtype, i, i == at ? kNaN : i % 3 == 0 ? kInf : -kInf);
        }
        for (Reduction kind : {Reduction::max, Reduction::min, Reduction::sum, Reduction::prod}) {
          Array out(dtype, kept_shape(c.shape, c.axes));
          reduce_axes(kind, in.view, c.axes, out.view);
          check_outputs(in, c.axes, out, [&](const Values& terms, long double got) {
            const bool has_nan = std::any_of(terms.begin(), terms.end(),
                                             [](long double v) { return std::isnan(v); });
            EXPECT_TRUE(!has_nan || std::isnan(got));
          });
        }
        Array all(boolean, kept_shape(c.shape, c.axes));
        reduce_axes(Reduction::all, in.view, c.axes, all.view);
        for (std::int64_t i = 0; i < all.view.count(); ++i) EXPECT_EQ(element(all.view, i), 1);
      }
    }
  }
}

TEST(ReduceSpecialTest, InfinitySumsToInfinity) {
  for (DType dtype : kFloats) {
    for (std::int64_t n : {1, 5, 100, 20000}) {
      Array in(dtype, {n});
      for (std::int64_t i = 0; i < n; ++i) write(in.bytes.data(), dtype, i, 0.25);
      write(in.bytes.data(), dtype, n / 2, -kInf);
      Array out(dtype, {});
      reduce_axes(Reduction::sum, in.view, {0}, out.view);
      EXPECT_EQ(element(out.view, 0), -kInf);
      reduce_axes(Reduction::mean, in.view, {0}, out.view);
      EXPECT_EQ(element(out.view, 0), -kInf);
    }
  }
}

TEST(ReduceSpecialTest, LongSumsAreAccurate) {
  const std::int64_t n = 10'000'000;
  for (DType dtype : {float32, float64}) {
    Array in(dtype, {n});
    for (std::int64_t i = 0; i < n; ++i) write(in.bytes.data(), dtype, i, 0.1);
    const long double exact = n * element(in.view, 0);
    for (const Shape& shape : {Shape{n}, Shape{n, 1}, Shape{n / 1000, 1000}, Shape{n / 2, 2}}) {
      View view = in.view;
      view.shape = shape;
      view.strides = contiguous_strides(shape);
      Array out(dtype, {shape.size() > 1 ? shape[1] : 1});
      reduce_axes(Reduction::sum, view, {0}, out.view);
      const long double expected = exact / static_cast<long double>(out.view.count());
      for (std::int64_t i = 0; i < out.view.count(); ++i) {
        expect_close(element(out.view, i), expected, 1.5L * epsilon(dtype) * expected);
      }
    }
  }
}

TEST(ReduceSpecialTest, RefusesOtherTypes) {
  Array in(int32, {4});
  Array out(float32, {});
  EXPECT_THROW(reduce_axes(Reduction::sum, in.view, {0}, out.view), DTypeError);
  EXPECT_THROW(variance(in.view, {0}, 1, false, out.view), DTypeError);
  EXPECT_THROW(logsumexp(in.view, {0}, out.view), DTypeError);
  EXPECT_THROW(norm(in.view, {0}, 2, out.view), DTypeError);
  EXPECT_THROW(softmax(in.view, 0, in.view), DTypeError);
  EXPECT_THROW(arg_reduce(Extremum::max, in.view, {0}, out.view), Error);
  Array indices(int32, {4});
  EXPECT_THROW(scan(Scan::sum, in.view, 0, indices.view), DTypeError);
}

}  // namespace
}  // namespace tenure::kernels::reduce_testing
