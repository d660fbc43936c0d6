#include "tests/kernels/reduce_support.h"

namespace tenure::kernels::reduce_testing {
namespace {

DType scan_type(DType in) { return is_floating(in) ? in : DType::int64; }

/// Checks one output element for each element of `in`.
void check(Scan kind, const Array& in, int axis, const Array& out) {
  const Axes axes = in.view.shape.empty() ? Axes{} : Axes{axis};
  SCOPED_TRACE(describe(in, axes));
  for (const auto& line : terms_of(in.view.shape, axes)) {
    long double running = kind == Scan::sum ? 0 : 1;
    std::uint64_t wrapped = kind == Scan::sum ? 0 : 1;
    long double magnitude = 0;
    for (std::int64_t index : line) {
      const long double x = element(in.view, index);
      const long double got = element(out.view, index);
      if (!is_floating(in.view.dtype)) {
        const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
        wrapped = kind == Scan::sum ? wrapped + bits : wrapped * bits;
        ASSERT_EQ(static_cast<std::int64_t>(got), static_cast<std::int64_t>(wrapped));
        continue;
      }
      running = kind == Scan::sum ? running + x : running * x;
      magnitude = kind == Scan::sum ? magnitude + std::fabs(x) : std::fabs(running);
      if (std::fabs(running) > 60000 || std::fabs(running) < 1e-30L) continue;  // out of range
      const auto n = static_cast<long double>(line.size());
      expect_close(got, running,
                   epsilon(out.view.dtype) * std::fabs(running) + n * epsilon(float64) * magnitude +
                       (in.view.dtype == float16 ? 0x1p-24L : 0));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

class ScanTest : public ::testing::TestWithParam<DType> {};

TEST_P(ScanTest, MatchesReference) {
  const DType dtype = GetParam();
  for_each_input(dtype, 0.5, [&](const Array& in, const Axes&) {
    for (int axis = 0; axis < std::max(in.view.shape.size(), 1); ++axis) {
      for (Scan kind : {Scan::sum, Scan::prod}) {
        Array out(scan_type(dtype), in.view.shape);
        scan(kind, in.view, axis, out.view);
        check(kind, in, axis, out);
      }
    }
  });
}

TEST_P(ScanTest, OfNothing) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) {
    Array in(GetParam(), shape);
    Array out(scan_type(GetParam()), shape);
    for (int axis = 0; axis < shape.size(); ++axis) scan(Scan::sum, in.view, axis, out.view);
  }
}

TEST_P(ScanTest, InPlaceAndOnAnyNumberOfThreads) {
  const DType dtype = GetParam();
  if (scan_type(dtype) != dtype) return;
  std::mt19937 rng(4);
  for (const Shape& shape : {Shape{10000}, Shape{300, 400}, Shape{20, 30, 200}, Shape{1 << 15},
                             Shape{100003}, Shape{40000, 3}, Shape{2, 70001}}) {
    for (int axis = 0; axis < shape.size(); ++axis) {
      const Array in = random_array(dtype, shape, LayoutKind::contiguous, rng);
      Array expected(dtype, shape);
      scan(Scan::sum, in.view, axis, expected.view);
      check(Scan::sum, in, axis, expected);
      expect_same_bits(dtype, shape, [&](const View& out) {
        std::memcpy(out.data, in.bytes.data(), in.bytes.size());
        scan(Scan::sum, out, axis, out);
        EXPECT_EQ(std::memcmp(out.data, expected.bytes.data(), in.bytes.size()), 0);
      });
    }
  }
}

TEST(Scan, SumsOfWhatIsNotNegativeNeverFall) {
  std::mt19937 rng(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const std::int64_t size : {std::int64_t{32768}, std::int64_t{99999}, std::int64_t{200001}}) {
    Array sums(float64, {size});
    double* const data = sums.view.as<double>();
    for (std::int64_t i = 0; i < size; ++i) data[i] = std::exp(-40 * uniform(rng));
    scan(Scan::sum, sums.view, 0, sums.view);
    EXPECT_TRUE(std::is_sorted(data, data + size)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ScanTest, ::testing::ValuesIn(kAllTypes),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tenure::kernels::reduce_testing
