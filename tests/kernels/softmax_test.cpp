#include "tests/kernels/reduce_support.h"

namespace tenure::kernels::reduce_testing {
namespace {

void apply(bool log, const View& in, int axis, const View& out) {
  if (log) {
    log_softmax(in, axis, out);
  } else {
    softmax(in, axis, out);
  }
}

void check(bool log, const Array& in, int axis, const Array& out) {
  const Axes axes = in.view.shape.empty() ? Axes{} : Axes{axis};
  SCOPED_TRACE(describe(in, axes) + (log ? " log" : ""));
  const DType dtype = in.view.dtype;
  const long double step = epsilon(dtype == float64 ? float64 : float32);
  for (const auto& line : terms_of(in.view.shape, axes)) {
    long double shift = -kInf;
    for (std::int64_t index : line) shift = std::max(shift, element(in.view, index));
    long double sum = 0;
    for (std::int64_t index : line) sum += std::exp(element(in.view, index) - shift);
    for (std::int64_t index : line) {
      const long double x = element(in.view, index) - shift;
      const long double expected = log ? x - std::log(sum) : std::exp(x) / sum;
      // The rounding of x - shift, of exp and of the quotient; float16 has few subnormals.
      const long double relative = log ? 2 : 4 + std::fabs(x);
      const long double absolute = log ? 4 * step : dtype == float16 ? 0x1p-24L : 1e-37L;
      expect_close(element(out.view, index), expected,
                   (epsilon(dtype) + relative * step) * std::fabs(expected) + absolute);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

class SoftmaxTest : public ::testing::TestWithParam<DType> {};

TEST_P(SoftmaxTest, MatchesReference) {
  const DType dtype = GetParam();
  for (double center : {0.0, 1000.0}) {
    for_each_input(dtype, center, [&](const Array& in, const Axes&) {
      for (int axis = 0; axis < std::max(in.view.shape.size(), 1); ++axis) {
        for (bool log : {false, true}) {
          Array out(dtype, in.view.shape);
          apply(log, in.view, axis, out.view);
          check(log, in, axis, out);
        }
      }
    });
  }
}

TEST_P(SoftmaxTest, LongRows) {
  const DType dtype = GetParam();
  std::mt19937 rng(21);
  for (const Case& c : {Case{{2, 20000}, {1}}, Case{{20000, 2}, {0}}, Case{{300, 300}, {0}},
                        Case{{300, 300}, {1}}, Case{{3, 100, 100}, {1}}}) {
    for (LayoutKind layout : {LayoutKind::contiguous, LayoutKind::strided}) {
      for (bool log : {false, true}) {
        const Array in = random_array(dtype, c.shape, layout, rng);
        const int axis = static_cast<int>(c.axes[0]);
        Array out(dtype, c.shape);
        apply(log, in.view, axis, out.view);
        check(log, in, axis, out);
        expect_same_bits(dtype, c.shape, [&](const View& again) {
          if (layout == LayoutKind::contiguous) {  // in place as well
            std::memcpy(again.data, in.bytes.data(), in.bytes.size());
            apply(log, again, axis, again);
          } else {
            apply(log, in.view, axis, again);
          }
          EXPECT_EQ(std::memcmp(again.data, out.bytes.data(), out.bytes.size()), 0);
        });
      }
    }
  }
}

TEST_P(SoftmaxTest, SpecialValues) {
  const DType dtype = GetParam();
  // Rows of one shape, columns of another: every way through the kernel sees them.
  const std::vector<std::vector<double>> rows = {
      {0, -kInf, 0, -kInf}, {-kInf, -kInf, -kInf, -kInf}, {0, kInf, 1, 2}, {0, kNaN, 1, 2}};
  for (bool transposed : {false, true}) {
    for (bool log : {false, true}) {
      Array in(dtype, {4, 4});
      Array out(dtype, {4, 4});
      for (std::int64_t i = 0; i < 16; ++i) {
        const auto row = static_cast<std::size_t>(transposed ? i % 4 : i / 4);
        const auto column = static_cast<std::size_t>(transposed ? i / 4 : i % 4);
        write(in.bytes.data(), dtype, i, rows[row][column]);
      }
      apply(log, in.view, transposed ? 0 : 1, out.view);
      for (std::int64_t i = 0; i < 16; ++i) {
        const std::int64_t row = transposed ? i % 4 : i / 4;
        const std::int64_t column = transposed ? i / 4 : i % 4;
        const long double got = element(out.view, i);
        if (row > 0) {
          EXPECT_TRUE(std::isnan(got)) << row << ", " << column;
        } else if (log) {
          expect_close(got, column % 2 == 0 ? std::log(0.5L) : -kInf, epsilon(dtype));
        } else {
          EXPECT_EQ(got, column % 2 == 0 ? 0.5L : 0.0L);
        }
      }
    }
  }
}

TEST_P(SoftmaxTest, OfNothing) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) {
    Array in(GetParam(), shape);
    Array out(GetParam(), shape);
    for (int axis = 0; axis < shape.size(); ++axis) softmax(in.view, axis, out.view);
  }
}

TEST(SoftmaxGradientTest, SameBitsOnAnyNumberOfThreadsAndInPlace) {
  std::mt19937 rng(22);
  for (const Case& c : {Case{{300, 300}, {0}}, Case{{300, 300}, {1}}, Case{{70, 3000}, {0}},
                        Case{{3, 100, 100}, {1}}, Case{{20000, 2}, {0}}}) {
    const int axis = static_cast<int>(c.axes[0]);
    const Array dy = random_array(float32, c.shape, LayoutKind::contiguous, rng);
    const Array y = random_array(float32, c.shape, LayoutKind::contiguous, rng);
    for (const auto gradient : {softmax_gradient, log_softmax_gradient}) {
      Array dx(float32, c.shape);
      gradient(dy.view, y.view, axis, dx.view);
      expect_same_bits(float32, c.shape,
                       [&](const View& out) { gradient(dy.view, y.view, axis, out); });
      for (const bool first : {true, false}) {
        Array place(float32, c.shape);
        std::memcpy(place.bytes.data(), (first ? dy : y).bytes.data(), dx.bytes.size());
        gradient(first ? place.view : dy.view, first ? y.view : place.view, axis, place.view);
        EXPECT_TRUE(place.bytes == dx.bytes);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, SoftmaxTest, ::testing::ValuesIn(kFloats),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tenure::kernels::reduce_testing
