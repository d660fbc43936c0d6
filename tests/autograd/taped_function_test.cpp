#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tenure/tenure.h"

// Traces that serve calls under a tape are among the function's own.

namespace tenure {
namespace {

template <class F>
Tensor gradient_of(const F& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(f(x)), x, {.unconnected = Unconnected::zero});
}

template <class F>
void expect_gradient_like(const F& f, const std::function<Tensor(const Tensor&)>& plain,
                          const Tensor& x) {
  const auto got = gradient_of(f, x).template to_vector<double>();
  const auto expected = gradient_of(plain, x).to_vector<double>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-9);
}

TEST(TapedFunction, IsListedWithItsReason) {
  const auto f = function([](const Tensor& x, const Tensor& y) { return sum(tanh(x) * y); });
  const Tensor x = ones({4});
  const Tensor y = ones({4});
  static_cast<void>(f(x, y));
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    tape.watch(x);
    static_cast<void>(tape.gradient(f(x, y), x));
  }
  const std::vector<TraceInfo> traces = f.traces();
  ASSERT_EQ(traces.size(), 3u) << f.explain();
  EXPECT_EQ(traces[0].calls, 1);
  EXPECT_EQ(traces[1].reason, "called under a gradient tape");
  EXPECT_EQ(traces[1].signature, "float32[4], float32[4]");
  EXPECT_EQ(traces[1].calls, 3);
  EXPECT_GT(traces[1].bytes, traces[0].bytes);
  EXPECT_EQ(traces[2].reason, "the way back of a call under a gradient tape");
  EXPECT_EQ(traces[2].calls, 3);
  GradientTape tape;
  tape.watch(y);
  static_cast<void>(f(x, y));
  EXPECT_EQ(f.traces().back().reason,
            "called under a gradient tape; the tape watches others of its arguments");
}

TEST(TapedFunction, OneTraceServesBatchesOfEverySize) {
  const Tensor w = normal({4, 3}, 0, 1, DType::float64);
  const auto model = [&](const Tensor& x) {
    return mean(square(softmax(matmul(x, w)))) + sum(x, {0}) * mean(x);
  };
  int traced = 0;
  const auto f = function([&](const Tensor& x) { return ++traced, model(x); }, {.batched = {0}});
  for (const std::int64_t n : {2, 5, 1, 2}) {
    expect_gradient_like(f, model, normal({n, 4}, 0, 1, DType::float64));
  }
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(f.traces().size(), 6u) << f.explain();  // three sizes, with their ways back
}

TEST(TapedFunction, OneTraceServesSlicesOfBatches) {
  const auto model = [](const Tensor& x) { return square(slice(x, 0, 0, 3)) * var(x); };
  int traced = 0;
  const auto f = function([&](const Tensor& x) { return ++traced, model(x); }, {.batched = {0}});
  for (const std::int64_t n : {2, 5, 2, 3}) {
    expect_gradient_like(f, model, normal({n, 4}, 0, 1, DType::float64));
  }
  EXPECT_EQ(traced, 1);
}

TEST(TapedFunction, ABatchWhoseSizeTheGradientNeedsIsTracedForEach) {
  const auto rows = custom_gradient([](Saves&, const Tensor& x) { return x * 2; },
                                    [](const std::vector<Tensor>&, const Tensor& gradient) {
                                      return gradient * static_cast<double>(gradient.dim(0));
                                    });
  const auto model = [&](const Tensor& x) { return rows(x); };
  int traced = 0;
  const auto f = function([&](const Tensor& x) { return ++traced, model(x); }, {.batched = {0}});
  for (const std::int64_t n : {2, 5, 2, 3}) {
    expect_gradient_like(f, model, normal({n, 4}, 0, 1, DType::float64));
  }
  EXPECT_EQ(traced, 4);  // for an unknown size and for three known ones
  EXPECT_EQ(f.traces()[0].reason,
            "called under a gradient tape; it has to know the size of the batch");
}

TEST(TapedFunction, RulesThatReadSizesDoNotTakeUnknownOnesForNumbers) {
  const auto moments = [](const Tensor& x) {
    const auto [y, mean, variance] = batch_norm(x, ones({3}, x.dtype()), zeros({3}, x.dtype()));
    return mean + variance * 2;
  };
  const auto largest = [](const Tensor& x) {
    const Tensor places = cast(x * 0, DType::int64);
    return scatter(zeros({2, 3}, x.dtype()), 0, places, x, ScatterMode::maximum);
  };
  for (const std::function<Tensor(const Tensor&)>& model :
       {std::function<Tensor(const Tensor&)>(moments),
        std::function<Tensor(const Tensor&)>(largest)}) {
    const auto f = function(model, {.batched = {0}});
    for (const std::int64_t n : {2, 5}) {
      expect_gradient_like(f, model, uniform({n, 3}, 1, 2, DType::float64));
    }
  }
}

TEST(TapedFunction, CountsInTheLimitOfTheCache) {
  constexpr std::int64_t kLimit = 40'000;
  const auto f = function([](const Tensor& x) { return tanh(x) * x; },
                          {.cache_limit = kLimit, .warn_after = 0});
  for (std::int64_t n = 1; n <= 40; ++n) static_cast<void>(gradient_of(f, ones({n})));
  std::int64_t bytes = 0;
  for (const TraceInfo& trace : f.traces()) bytes += trace.bytes;
  EXPECT_LE(bytes, kLimit);
  EXPECT_LT(f.traces().size(), 40u);
  EXPECT_GT(f.traces().size(), 1u);
}

TEST(TapedFunction, WarnsWithTheReason) {
  std::vector<std::string> warnings;
  const auto f = function(
      [](const Tensor& x) { return exp(x); },
      {.warn_after = 2, .warn = [&](const std::string& text) { warnings.push_back(text); }});
  for (std::int64_t n = 1; n <= 3; ++n) static_cast<void>(gradient_of(f, ones({n})));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("traced 3 times, now because: called under a gradient tape; tensor 0 "
                             "has shape [3], had [2]"),
            std::string::npos)
      << warnings[0];
}

TEST(TapedFunction, IsSeenByALeakGuard) {
  const auto make = [] { return function([](const Tensor& x) { return exp(x); }); };
  std::vector<decltype(make())> kept;
  LeakGuard guard("loop");
  std::string found;
  try {
    for (int i = 0; i < 60; ++i) {
      kept.push_back(make());
      GradientTape tape;
      const Tensor x = ones({3});
      tape.watch(x);
      static_cast<void>(kept.back()(x));  // no way back is made
      guard.mark();
    }
  } catch (const LeakError& error) {
    found = error.what();
  }
  EXPECT_NE(found.find("functions made at taped_function_test.cpp"), std::string::npos) << found;
}

TEST(TapedFunction, GoesBackAfterTheFunctionHasGoneAndUnderATapeMadeLater) {
  const Tensor x = tensor({1.0, 2.0}, DType::float64);
  GradientTape first({.persistent = true});
  first.watch(x);
  Tensor y;
  {
    const auto f = function([](const Tensor& v) { return square(v); });
    y = f(x);
  }
  EXPECT_EQ(first.gradient(y, x).to_vector<double>(), (std::vector<double>{2, 4}));
  const auto stopped = first.stop_recording();
  GradientTape second;
  second.watch(x);
  const Tensor dx = first.gradient(y, x);
  EXPECT_EQ(second.gradient(dx, x).to_vector<double>(), (std::vector<double>{2, 2}));
}

}  // namespace
}  // namespace tenure
