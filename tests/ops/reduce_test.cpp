#include "tenure/ops/reduce_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/ops/core/record.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

namespace tenure {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::make;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Reduce, SumsOverAxes) {
  const Tensor x = counting({2, 3});
  expect_elements<float>(sum(x), {}, {15});
  expect_elements<float>(sum(x, {0}), {3}, {3, 5, 7});
  expect_elements<float>(sum(x, {1}), {2}, {3, 12});
  expect_elements<float>(sum(x, {-1}), {2}, {3, 12});
  expect_elements<float>(sum(x, {1, 0}), {}, {15});
  const Tensor y = counting({2, 3, 4});
  expect_elements<float>(sum(y, {0, 2}), {3}, {60, 92, 124});
  expect_elements<float>(sum(y, {-3, -1}), {3}, {60, 92, 124});
}

TEST(Reduce, KeepsDimensions) {
  const Tensor x = counting({2, 3});
  expect_elements<float>(sum(x, {}, true), {1, 1}, {15});
  expect_elements<float>(sum(x, {0}, true), {1, 3}, {3, 5, 7});
  expect_elements<float>(mean(x, {-1}, true), {2, 1}, {1, 4});
  expect_elements<float>(max(x, {0}, true), {1, 3}, {3, 4, 5});
  expect_elements<std::int64_t>(argmax(x, 1, true), {2, 1}, {2, 2});
  expect_elements<std::int64_t>(argmax(x, {}, true), {1, 1}, {5});
  EXPECT_EQ(norm(x, 2, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(var(x, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(logsumexp(x, {0, 1}, true).shape(), (Shape{1, 1}));
}

TEST(Reduce, ReadsViews) {
  const Tensor x = counting({2, 3});
  expect_elements<float>(sum(transpose(x), {0}), {2}, {3, 12});
  expect_elements<float>(max(flip(x), {1}), {2}, {5, 2});
  expect_elements<std::int64_t>(argmax(flip(x)), {}, {0});
  expect_elements<float>(sum(broadcast_to(x, {4, 2, 3}), {0}), {2, 3}, {0, 4, 8, 12, 16, 20});
  expect_elements<float>(cumsum(transpose(x), 0), {3, 2}, {0, 3, 1, 7, 3, 12});
}

TEST(Reduce, GivesTheseTypes) {
  const Tensor bytes = make<std::uint8_t>({2}, {255, 255});
  const Tensor ints = make<std::int32_t>({2}, {2147483647, 3});
  const Tensor flags = make<bool>({3}, {true, false, true});
  const Tensor halves = make<Half>({2}, {Half(2.0f), Half(4.0f)});
  expect_elements<std::int64_t>(sum(bytes), {}, {510});
  expect_elements<std::int64_t>(sum(ints), {}, {2147483650});
  expect_elements<std::int64_t>(sum(flags), {}, {2});
  expect_elements<std::int64_t>(prod(ints), {}, {6442450941});
  expect_elements<std::int64_t>(prod(flags), {}, {0});
  expect_elements<Half>(sum(halves), {}, {Half(6.0f)});
  expect_elements<Half>(prod(halves), {}, {Half(8.0f)});
  expect_elements<float>(mean(bytes), {}, {255});
  expect_elements<float>(mean(make<bool>({4}, {true, false, false, false})), {}, {0.25f});
  expect_elements<Half>(mean(halves), {}, {Half(3.0f)});
  expect_elements<std::uint8_t>(max(bytes), {}, {255});
  expect_elements<std::int32_t>(min(ints), {}, {3});
  expect_elements<bool>(max(flags), {}, {true});
  expect_elements<bool>(min(flags), {}, {false});
  expect_elements<std::int64_t>(argmin(flags), {}, {1});
  expect_elements<bool>(any(ints), {}, {true});
  expect_elements<bool>(all(flags), {}, {false});
  expect_elements<std::int64_t>(cumsum(flags, 0), {3}, {1, 1, 2});
  expect_elements<std::int64_t>(cumprod(bytes, 0), {2}, {255, 65025});
  expect_elements<Half>(cumsum(halves, 0), {2}, {Half(2.0f), Half(6.0f)});
  expect_elements<double>(softmax(make<double>({2}, {1, 1})), {2}, {0.5, 0.5});
}

TEST(Reduce, RefusesTypes) {
  const Tensor ints = counting<std::int32_t>({2, 3});
  EXPECT_THROW(var(ints), DTypeError);
  EXPECT_THROW(stddev(ints), DTypeError);
  EXPECT_THROW(norm(ints), DTypeError);
  EXPECT_THROW(logsumexp(ints), DTypeError);
  expect_throws<DTypeError>([&] { softmax(ints); }, {"softmax", "int32"});
  EXPECT_THROW(log_softmax(make<bool>({1}, {true})), DTypeError);
}

TEST(Reduce, IntegersWrapAround) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = make<std::int64_t>({2}, {most, 1});
  expect_elements<std::int64_t>(sum(x), {}, {std::numeric_limits<std::int64_t>::min()});
  expect_elements<std::int64_t>(cumsum(x, 0), {2},
                                {most, std::numeric_limits<std::int64_t>::min()});
}

TEST(Reduce, ChecksAxes) {
  const Tensor x = counting({2, 3});
  expect_throws<ValueError>([&] { sum(x, {0, 0}); }, {"sum", "[0, 0]"});
  EXPECT_THROW(sum(x, {1, -1}), ValueError);
  expect_throws<IndexError>([&] { mean(x, {2}); }, {"mean", "2"});
  EXPECT_THROW(max(x, {-3}), IndexError);
  EXPECT_THROW(argmax(x, 2), IndexError);
  EXPECT_THROW(norm(x, 2, {0, -2}), ValueError);
  EXPECT_THROW(cumsum(x, 2), IndexError);
  EXPECT_THROW(softmax(x, -3), IndexError);
}

TEST(Reduce, TakesTensorsWithoutAxes) {
  const Tensor x = make<float>({}, {3});
  expect_elements<float>(sum(x), {}, {3});
  expect_elements<float>(sum(x, {0}, true), {}, {3});
  expect_elements<float>(max(x, {-1}), {}, {3});
  expect_elements<std::int64_t>(argmax(x), {}, {0});
  expect_elements<std::int64_t>(argmin(x, 0), {}, {0});
  expect_elements<float>(cumprod(x, 0), {}, {3});
  expect_elements<float>(softmax(x), {}, {1});
  expect_elements<float>(log_softmax(x), {}, {0});
  EXPECT_THROW(sum(x, {1}), IndexError);
  EXPECT_THROW(softmax(x, 1), IndexError);
  expect_elements<float>(sum(2.5), {}, {2.5f});
}

TEST(Reduce, OverNoElements) {
  const Tensor x = make<float>({0, 3}, {});
  expect_elements<float>(sum(x, {0}), {3}, {0, 0, 0});
  expect_elements<float>(sum(x, {1}), {0}, {});
  expect_elements<float>(prod(x), {}, {1});
  expect_elements<float>(mean(x), {}, {kNan});
  expect_elements<float>(var(x), {}, {kNan});
  expect_elements<float>(logsumexp(x, {0}), {3}, {-kInf, -kInf, -kInf});
  expect_elements<float>(norm(x), {}, {0});
  expect_elements<float>(norm(x, kInf), {}, {0});
  expect_elements<bool>(any(x), {}, {false});
  expect_elements<bool>(all(x), {}, {true});
  expect_elements<float>(softmax(x, 0), {0, 3}, {});
  expect_elements<float>(cumsum(x, 1), {0, 3}, {});
  expect_elements<float>(max(x, {1}), {0}, {});
  expect_elements<std::int64_t>(argmin(x, 1), {0}, {});
  expect_throws<ShapeError>([&] { max(x, {0}); }, {"max", "axis 0", "[0, 3]"});
  expect_throws<ShapeError>([&] { min(x); }, {"min", "axis 0"});
  expect_throws<ShapeError>([&] { argmax(x, 0); }, {"argmax", "axis 0"});
  expect_throws<ShapeError>([&] { argmin(x); }, {"argmin", "axis 0"});
  EXPECT_THROW(norm(x, -1), ShapeError);
  EXPECT_THROW(norm(x, -kInf), ShapeError);
}

TEST(Reduce, PassesNanOn) {
  const Tensor x = make<float>({2, 3}, {1, kNan, 3, 4, 5, 6});
  expect_elements<float>(sum(x, {1}), {2}, {kNan, 15});
  expect_elements<float>(max(x, {1}), {2}, {kNan, 6});
  expect_elements<float>(min(x, {1}), {2}, {kNan, 4});
  expect_elements<std::int64_t>(argmax(x, 1), {2}, {1, 2});
  expect_elements<std::int64_t>(argmin(x, 1), {2}, {1, 0});
  expect_elements<float>(cumsum(x, 1), {2, 3}, {1, kNan, kNan, 4, 9, 15});
  expect_elements<float>(norm(x, kInf, {1}), {2}, {kNan, 6});
  expect_elements<bool>(any(make<float>({2}, {0, kNan})), {}, {true});
  expect_elements<bool>(all(make<float>({2}, {1, kNan})), {}, {true});
  EXPECT_TRUE(std::isnan(logsumexp(x).item<float>()));
  EXPECT_TRUE(std::isnan(softmax(x).to_vector<float>()[0]));
}

TEST(Reduce, FindsTheFirstOfEquals) {
  const Tensor x = make<std::int16_t>({2, 4}, {7, 9, 9, 7, 1, 1, 1, 1});
  expect_elements<std::int64_t>(argmax(x, -1), {2}, {1, 0});
  expect_elements<std::int64_t>(argmin(x, 1), {2}, {0, 0});
  expect_elements<std::int64_t>(argmax(x, 0), {4}, {0, 0, 0, 0});
  expect_elements<std::int64_t>(argmin(x), {}, {4});
}

TEST(Reduce, VariesAroundTheMean) {
  const Tensor x = make<float>({2, 4}, {1, 2, 3, 6, 5, 5, 5, 5});
  expect_elements<float>(var(x, {1}, false, 0), {2}, {3.5f, 0});
  expect_elements<float>(var(x, {1}), {2}, {14.0f / 3, 0});
  expect_elements<float>(stddev(make<float>({2}, {1, 5}), {}, false, 0), {}, {2});
  expect_elements<float>(var(make<float>({1}, {3})), {}, {kNan});
  const Tensor far = make<float>({4}, {1e6f, 1e6f + 1, 1e6f + 2, 1e6f + 3});
  expect_elements<float>(var(far, {}, false, 0), {}, {1.25f});
}

TEST(Reduce, HasNormsOfEveryOrder) {
  const Tensor x = make<float>({4}, {3, -4, 0, 0});
  expect_elements<float>(norm(x), {}, {5});
  expect_elements<float>(norm(x, 1), {}, {7});
  expect_elements<float>(norm(x, 0), {}, {2});
  expect_elements<float>(norm(x, kInf), {}, {4});
  expect_elements<float>(norm(x, -kInf), {}, {0});
  EXPECT_NEAR(norm(x, 3).item<float>(), std::cbrt(91.0), 1e-6);
  EXPECT_NEAR(norm(make<float>({2}, {2, -2}), -1).item<float>(), 1, 1e-6);
  expect_elements<float>(norm(make<float>({2}, {3e30f, 4e30f})), {}, {5e30f});
  expect_throws<ValueError>([&] { norm(x, kNan); }, {"norm", "NaN"});
}

TEST(Reduce, DoesNotOverflowInExponentials) {
  const Tensor x = make<float>({2, 2}, {1000, 1000, -1000, -1000});
  EXPECT_FLOAT_EQ(logsumexp(x, {1}).to_vector<float>()[0], 1000 + std::log(2.0f));
  EXPECT_FLOAT_EQ(logsumexp(x, {1}).to_vector<float>()[1], -1000 + std::log(2.0f));
  expect_elements<float>(softmax(x), {2, 2}, {0.5f, 0.5f, 0.5f, 0.5f});
  expect_elements<float>(softmax(x, 0), {2, 2}, {1, 1, 0, 0});
  expect_elements<float>(log_softmax(x, 0), {2, 2}, {0, 0, -2000, -2000});
  expect_elements<float>(softmax(make<float>({2}, {-kInf, 7})), {2}, {0, 1});
  expect_elements<float>(softmax(make<float>({2}, {-kInf, -kInf})), {2}, {kNan, kNan});
  expect_elements<float>(logsumexp(make<float>({2}, {-kInf, -kInf})), {}, {-kInf});
  expect_elements<float>(logsumexp(make<float>({2}, {1, kInf})), {}, {kInf});
}

TEST(Reduce, Accumulates) {
  const Tensor x = make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_elements<float>(cumsum(x, 0), {2, 3}, {1, 2, 3, 5, 7, 9});
  expect_elements<float>(cumsum(x, -1), {2, 3}, {1, 3, 6, 4, 9, 15});
  expect_elements<float>(cumprod(x, 1), {2, 3}, {1, 2, 6, 4, 20, 120});
}

TEST(Reduce, ComputesInPlaceInMovedInputs) {
  const auto allocations = [](const auto& f) {
    const std::int64_t before = memory().allocations;
    f();
    return memory().allocations - before;
  };
  Tensor x = counting({3, 50});
  const std::vector<float> expected = log_softmax(softmax(x), 0).to_vector<float>();
  Tensor y;
  EXPECT_EQ(allocations([&] { y = log_softmax(softmax(std::move(x)), 0); }), 0);
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(y.to_vector<float>(), expected);
  EXPECT_EQ(allocations([&] { y = cumprod(cumsum(std::move(y), 0), 1); }), 0);

  Tensor wide = make<std::int64_t>({3}, {1, 2, 3});
  EXPECT_EQ(allocations([&] { wide = cumsum(std::move(wide), 0); }), 0);
  expect_elements<std::int64_t>(wide, {3}, {1, 3, 6});
  Tensor narrow = make<std::int32_t>({3}, {1, 2, 3});
  Tensor sums;
  EXPECT_EQ(allocations([&] { sums = cumsum(std::move(narrow), 0); }), 1);
  expect_elements<std::int64_t>(sums, {3}, {1, 3, 6});
  EXPECT_FALSE(narrow.defined());
}

TEST(Reduce, LeavesWhatOthersHold) {
  Tensor x = make<float>({2}, {1, 1});
  const Tensor view = reshape(x, {2, 1});
  expect_elements<float>(softmax(x), {2}, {0.5f, 0.5f});
  expect_elements<float>(softmax(std::move(x)), {2}, {0.5f, 0.5f});
  expect_elements<float>(view, {2, 1}, {1, 1});
  Tensor y = make<float>({2}, {1, 1});
  EXPECT_THROW(softmax(std::move(y), 4), IndexError);
  expect_elements<float>(y, {2}, {1, 1});  // NOLINT(bugprone-use-after-move): it threw
}

TEST(Reduce, RefusesDisposedTensors) {
  const Tensor x = counting({2, 3});
  x.dispose();
  expect_throws<DisposedError>([&] { sum(x); }, {"sum"});
  EXPECT_THROW(argmax(x, 0), DisposedError);
  EXPECT_THROW(softmax(x), DisposedError);
  EXPECT_THROW(sum(Tensor()), EmptyTensorError);
}

TEST(Reduce, KnowsWhereResultsComeFrom) {
  const Tensor x = counting({2, 3});
  const auto line = static_cast<unsigned>(__LINE__) + 1;
  const Tensor s = sum(x, {0});
  EXPECT_EQ(s.op(), "sum");
  EXPECT_EQ(s.created().line(), line);
  EXPECT_EQ(stddev(x).op(), "stddev");
  EXPECT_EQ(argmin(x).op(), "argmin");
  EXPECT_EQ(log_softmax(x).op(), "log_softmax");
}

TEST(Reduce, IsInTheListOfOps) {
  for (const char* name :
       {"sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "var", "stddev",
        "logsumexp", "norm", "cumsum", "cumprod", "softmax", "log_softmax"}) {
    EXPECT_NE(ops::find_op(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace tenure
