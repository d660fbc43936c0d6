#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::counting;
using test::make;

/// The same elements read through other shape, strides and offset.
Tensor strided(const Tensor& tensor, const Shape& shape, const Strides& strides,
               std::int64_t offset) {
  const Pin pin(tensor.body("strided()"), "strided()", Site::current());
  pin.storage()->retain();
  return make_tensor(mem::this_thread(), pin.storage(), tensor.dtype(), shape, strides, offset,
                     "strided", Site::current(), HolderKind::view);
}

TEST(Print, Scalars) {
  EXPECT_EQ(to_string(make<float>({}, {1.5F})), "1.5 float32[]");
  EXPECT_EQ(to_string(make<double>({}, {-3})), "-3. float64[]");
  EXPECT_EQ(to_string(make<std::int32_t>({}, {-7})), "-7 int32[]");
  EXPECT_EQ(to_string(make<std::uint8_t>({}, {200})), "200 uint8[]");
  EXPECT_EQ(to_string(make<std::int8_t>({}, {-100})), "-100 int8[]");
  EXPECT_EQ(to_string(make<bool>({}, {true})), "true bool[]");
  EXPECT_EQ(to_string(make<Half>({}, {Half(0.1F)})), "0.099976 float16[]");
  EXPECT_EQ(to_string(make<BFloat16>({}, {BFloat16(2.0F)})), "2. bfloat16[]");
}

TEST(Print, ColumnsLineUp) {
  EXPECT_EQ(to_string(make<float>({3}, {1, -2.5F, 100})), "[  1., -2.5, 100.] float32[3]");
  EXPECT_EQ(to_string(make<bool>({2}, {true, false})), "[ true, false] bool[2]");
  EXPECT_EQ(to_string(make<std::int64_t>({2, 2}, {1, 20, 300, 4})),
            "[[  1,  20],\n [300,   4]] int64[2, 2]");
}

TEST(Print, Nested) {
  EXPECT_EQ(to_string(counting({2, 2, 2})),
            "[[[0., 1.],\n  [2., 3.]],\n\n [[4., 5.],\n  [6., 7.]]] float32[2, 2, 2]");
  EXPECT_EQ(to_string(counting({1, 1})), "[[0.]] float32[1, 1]");
}

TEST(Print, NotFinite) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_string(make<float>({4}, {nan, inf, -inf, -0.0F})),
            "[ nan,  inf, -inf,  -0.] float32[4]");
}

TEST(Print, LargeAndSmallNumbers) {
  EXPECT_EQ(to_string(make<float>({3}, {1e-8F, 123456.0F, 1e20F})),
            "[  1e-08, 123456.,   1e+20] float32[3]");
  EXPECT_EQ(to_string(make<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()})),
            "[-9223372036854775808] int64[1]");
}

TEST(Print, Empty) {
  EXPECT_EQ(to_string(make<float>({0}, {})), "[] float32[0]");
  EXPECT_EQ(to_string(make<float>({2, 0}, {})), "[] float32[2, 0]");
  EXPECT_EQ(to_string(make<float>({0, 3}, {})), "[] float32[0, 3]");
  EXPECT_EQ(to_string(make<float>({1'000'000'000'000, 0}, {})), "[] float32[1000000000000, 0]")
      << "a million million rows of nothing";
}

TEST(Print, LargeTensorsAreShortened) {
  EXPECT_EQ(to_string(counting<std::int32_t>({1001})),
            "[   0,    1,    2, ...,  998,  999, 1000] int32[1001]");
  const std::string full = to_string(counting<std::int32_t>({1000}));
  EXPECT_EQ(full.find("..."), std::string::npos);
  EXPECT_EQ(to_string(counting<std::int32_t>({100, 20})),
            "[[   0,    1,    2, ...,   17,   18,   19],\n"
            " [  20,   21,   22, ...,   37,   38,   39],\n"
            " [  40,   41,   42, ...,   57,   58,   59],\n"
            " ...,\n"
            " [1940, 1941, 1942, ..., 1957, 1958, 1959],\n"
            " [1960, 1961, 1962, ..., 1977, 1978, 1979],\n"
            " [1980, 1981, 1982, ..., 1997, 1998, 1999]] int32[100, 20]");
}

TEST(Print, ReadsThroughStrides) {
  const Tensor base = counting<std::int32_t>({6});
  EXPECT_EQ(to_string(strided(base, {3, 2}, {1, 3}, 0)),
            "[[0, 3],\n [1, 4],\n [2, 5]] int32[3, 2]");
  EXPECT_EQ(to_string(strided(base, {3}, {-2}, 5)), "[5, 3, 1] int32[3]");
  EXPECT_EQ(to_string(strided(base, {2, 2}, {0, 1}, 4)), "[[4, 5],\n [4, 5]] int32[2, 2]");
}

TEST(Accessors, ReadThroughStridesAndConvert) {
  const Tensor base = counting<std::int32_t>({6});
  const Tensor columns = strided(base, {3, 2}, {1, 3}, 0);
  EXPECT_EQ(columns.to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(columns.to_vector<bool>(), (std::vector<bool>{false, true, true, true, true, true}));
  EXPECT_EQ(static_cast<float>(columns.to_vector<Half>()[1]), 3.0F);
  EXPECT_EQ(strided(base, {1, 1}, {7, 7}, 4).item<double>(), 4.0);
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_THROW(columns.span<std::int32_t>(), ShapeError);
  EXPECT_THROW(base.span<float>(), DTypeError);
  EXPECT_THROW(base.item<float>(), ShapeError);
  EXPECT_THROW(make<float>({0}, {}).item<float>(), ShapeError);
  const Tensor nothing = make<float>({0}, {});
  EXPECT_TRUE(nothing.span<float>().empty());
  EXPECT_TRUE(make<float>({3, 0}, {}).to_vector<float>().empty());
  const Tensor tail = strided(base, {2}, {1}, 3);
  EXPECT_EQ(tail.span<std::int32_t>()[0], 3);
}

TEST(Accessors, WritingShowsInEveryViewAndHandle) {
  const Tensor base = counting({4});
  const Tensor copy = base;
  const Tensor view = test::share(base);
  base.mutable_span<float>()[2] = 42;
  EXPECT_EQ(copy.to_vector<float>()[2], 42);
  EXPECT_EQ(view.to_vector<float>()[2], 42);
}

TEST(Accessors, NumbersThatDoNotFitSaturate) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor tensor = make<double>({4}, {1e30, -1e30, nan, 300.7});
  EXPECT_EQ(tensor.to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int32_t>::min(), 0, 300}));
  EXPECT_EQ(tensor.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 0, 0, 255}));
  EXPECT_EQ(make<float>({}, {0x1p63F}).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Accessors, Dim) {
  const Tensor tensor = counting({2, 3});
  EXPECT_EQ(tensor.dim(0), 2);
  EXPECT_EQ(tensor.dim(-1), 3);
  EXPECT_THROW(tensor.dim(2), IndexError);
  EXPECT_THROW(counting({}).dim(0), IndexError);
}

template <class T>
concept HasSpan = requires(T&& tensor) {
  std::forward<T>(tensor).template span<float>();
  std::forward<T>(tensor).template mutable_span<float>();
};

TEST(Accessors, TemporariesHaveNoSpan) {
  static_assert(HasSpan<const Tensor&> && HasSpan<Tensor&>);
  static_assert(!HasSpan<Tensor> && !HasSpan<const Tensor>);
  const Tensor columns = strided(counting({6}), {3, 2}, {1, 3}, 0);
  test::expect_throws<ShapeError>([&] { columns.span<float>(); },
                                  {"keep the result of contiguous() in a variable"});
}

TEST(Accessors, MoreElementsThanMemoryHolds) {
  const Tensor one = counting({1});
  const Tensor many = strided(one, {std::int64_t{1} << 58}, {0}, 0);
  EXPECT_THROW(many.to_vector<float>(), OutOfMemory);
  EXPECT_THROW(many.to_vector<double>(), OutOfMemory);
  const Tensor more = strided(one, {std::int64_t{1} << 60}, {0}, 0);
  EXPECT_THROW(more.to_vector<double>(), OutOfMemory);
  EXPECT_THROW(more.to_vector<bool>(), OutOfMemory);
}

TEST(Accessors, SixteenBitsAreRoundedOnce) {
  const Tensor x = make<double>({2}, {65519.999999, 1 + 0x1p-11 + 0x1p-40});
  const std::vector<Half> halves = x.to_vector<Half>();
  EXPECT_EQ(static_cast<float>(halves[0]), 65504);
  EXPECT_EQ(static_cast<float>(halves[1]), 1.0009765625F);
  const std::int64_t above_tie = (std::int64_t{1} << 32) + (std::int64_t{1} << 24) + 1;
  EXPECT_EQ(static_cast<float>(make<std::int64_t>({}, {above_tie}).item<BFloat16>()), 4328521728.F);
}

/// The line that an error names for a use of an empty handle.
template <class F>
std::uint_least32_t line_of_misuse(const F& f) {
  try {
    f(Tensor());
  } catch (const EmptyTensorError& error) {
    EXPECT_NE(std::string(error.what()).find("print_test.cpp"), std::string::npos) << error.what();
    return error.used().line();
  }
  return 0;
}

TEST(Accessors, EmptyHandlesNameTheCallersLine) {
  const auto here = Site::current().line();
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.shape(); }), here + 1);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.strides(); }), here + 2);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.dtype(); }), here + 3);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.device(); }), here + 4);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.rank(); }), here + 5);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.size(); }), here + 6);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.dim(0); }), here + 7);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.nbytes(); }), here + 8);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.is_contiguous(); }), here + 9);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.id(); }), here + 10);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.name(); }), here + 11);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.op(); }), here + 12);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.created(); }), here + 13);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.scope(); }), here + 14);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.is_disposed(); }), here + 15);
  EXPECT_EQ(line_of_misuse([](const Tensor& t) { t.is_sole_holder(); }), here + 16);
}

TEST(Print, FractionsKeepTheirPoint) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_string(make<float>({}, {0.99999994F})), "1. float32[]");
  EXPECT_EQ(to_string(make<float>({}, {-12345.6F})), "-12346. float32[]");
  EXPECT_EQ(to_string(make<float>({2}, {nan, -nan})), "[nan, nan] float32[2]");
  EXPECT_EQ(to_string(make<double>({}, {1e30})), "1e+30 float64[]");
}

}  // namespace
}  // namespace tenure
