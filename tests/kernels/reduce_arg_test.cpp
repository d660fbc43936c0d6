#include "tests/kernels/reduce_support.h"

namespace tenure::kernels::reduce_testing {
namespace {

std::int64_t first_extremum(Extremum kind, const Values& terms) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (std::isnan(terms[best])) break;
    const bool better = kind == Extremum::max ? terms[i] > terms[best] : terms[i] < terms[best];
    if (better || std::isnan(terms[i])) best = i;
  }
  return static_cast<std::int64_t>(best);
}

void check(const Array& in, const Axes& axes) {
  for (Extremum kind : {Extremum::max, Extremum::min}) {
    Array out(int64, kept_shape(in.view.shape, axes));
    arg_reduce(kind, in.view, axes, out.view);
    check_outputs(in, axes, out, [&](const Values& terms, long double got) {
      EXPECT_EQ(got, first_extremum(kind, terms));
    });
  }
}

class ArgReduceTest : public ::testing::TestWithParam<DType> {};

TEST_P(ArgReduceTest, FindsTheFirst) {
  for_each_input(GetParam(), 0, [](const Array& in, const Axes& axes) {
    const bool all = axes.size() == in.view.shape.size();
    if (all || axes.size() == 1) check(in, axes);
  });
}

TEST_P(ArgReduceTest, FindsTheFirstOfManyEquals) {
  std::mt19937 rng(7);
  for (const Case& c : {Case{{500}, {0}}, Case{{30, 100}, {0}}, Case{{30, 100}, {1}},
                        Case{{300, 8}, {1}}, Case{{4, 5, 6}, {0, 1, 2}}}) {
    for (LayoutKind layout : {LayoutKind::contiguous, LayoutKind::strided}) {
      Array in = random_array(GetParam(), c.shape, layout, rng);
      for (std::int64_t i = 0; i < in.elements(); ++i) {
        write(in.bytes.data(), GetParam(), i, static_cast<double>(rng() % 2));
      }
      check(in, c.axes);
    }
  }
}

TEST_P(ArgReduceTest, LongInputsOnAnyNumberOfThreads) {
  std::mt19937 rng(9);
  for (const Case& c : {Case{{400000}, {0}}, Case{{400, 1000}, {0, 1}}, Case{{2, 300000}, {1}},
                        Case{{50000, 10}, {1}}, Case{{3000, 100}, {0}}}) {
    for (LayoutKind layout : {LayoutKind::contiguous, LayoutKind::strided}) {
      const Array in = random_array(GetParam(), c.shape, layout, rng);
      check(in, c.axes);
      expect_same_bits(int64, kept_shape(c.shape, c.axes),
                       [&](const View& out) { arg_reduce(Extremum::max, in.view, c.axes, out); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ArgReduceTest, ::testing::ValuesIn(kAllTypes),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ArgReduceSpecialTest, TheFirstNaNWins) {
  for (DType dtype : kFloats) {
    for (const Case& c : {Case{{150}, {0}}, Case{{15, 10}, {0}}, Case{{15, 10}, {1}}}) {
      for (std::int64_t at = 0; at < 150; ++at) {
        Array in(dtype, c.shape);
        for (std::int64_t i = 0; i < 150; ++i) {
          const bool nan = i == at || i == (at * 37 + 5) % 150;
          write(in.bytes.data(), dtype, i, nan ? kNaN : static_cast<double>(i % 7));
        }
        check(in, c.axes);
      }
    }
  }
}

TEST(ArgReduceSpecialTest, NeedsElements) {
  Array in(float32, {3, 0});
  Array out(int64, {3});
  EXPECT_THROW(arg_reduce(Extremum::max, in.view, {1}, out.view), InternalError);
  Array none(int64, {0});
  arg_reduce(Extremum::max, in.view, {0}, none.view);
}

}  // namespace
}  // namespace tenure::kernels::reduce_testing
