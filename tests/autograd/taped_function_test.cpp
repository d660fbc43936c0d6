#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tenure/tenure.h"
#include "tests/support/put.h"

// Traces that serve calls under a tape are among the function's own.

namespace tenure {
namespace {

using test::put;

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
            "called under a gradient tape; the tape watches others of its arguments or captures");
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

/// What a function captures is to a tape what it is without the function.
TEST(TapedFunction, CapturesHaveTheirGradients) {
  const Tensor x = tensor({1.0, 2.0}, DType::float64);
  const Tensor w = tensor({3.0, 4.0}, DType::float64);
  const auto model = [&](const Tensor& at) { return at * w * w; };
  const auto f = function(model);
  const auto both = [&](const auto& g, bool watches, bool before) {
    GradientTape tape;
    tape.watch(x);
    if (watches) tape.watch(w);
    const Tensor y = before ? w * g(x) : g(x) + w;
    return tape.gradient(y, {x, w}, {.unconnected = Unconnected::zero});
  };
  for (const bool watches : {false, true, false, true}) {
    for (const bool before : {false, true}) {
      const auto got = both(f, watches, before);
      const auto expected = both(model, watches, before);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(got[i].to_vector<double>(), expected[i].to_vector<double>()) << i;
      }
    }
  }
  // What is computed under the tape, in branches and returned as it is.
  const auto slopes = [&](const auto& wrap) {
    GradientTape tape;
    tape.watch({x, w});
    const Tensor h = x * w;
    const auto g = wrap([&](const Tensor& at) {
      const Tensor chosen = cond(
          sum(at) > 0, [&](const Tensor& t) { return t * h; },
          [&](const Tensor& t) { return t - w; }, at);
      return std::pair(chosen, h);
    });
    const auto [a, b] = g(x);
    return tape.gradient(sum(a) + sum(b * b), std::vector{x, w});
  };
  const auto got = slopes([](const auto& g) { return function(g); });
  const auto expected = slopes([](const auto& g) { return g; });
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got[i].to_vector<double>(), expected[i].to_vector<double>()) << i;
  }
}

TEST(TapedFunction, CapturesThatAreAnotherTensorEachTimeHaveTheirGradients) {
  Tensor w = ones({2}, DType::float64);
  const Tensor x = tensor({1.0, 2.0}, DType::float64);
  const auto f = function([&](const Tensor& at) { return at * w * w; }, {.warn_after = 0});
  for (int i = 0; i < 4; ++i) {
    GradientTape tape;
    tape.watch(w);
    const Tensor y = f(x);
    const Tensor dw = tape.gradient(y, w);
    EXPECT_EQ(dw.to_vector<double>(), (2 * x * w).to_vector<double>()) << i;
    w = w * 2;
  }
}

/// The way back reads what the way there has read.
TEST(TapedFunction, HoldsWhatItCaptures) {
  const Tensor x = tensor({1.0, 2.0});
  Tensor w = tensor({3.0, 4.0});
  const auto f = function([&](const Tensor& at) { return at * w * w; });
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    put<float>(w, 0, 100);
    EXPECT_THROW(tape.gradient(y, x), GradientError);
    put<float>(w, 0, 3);
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  w.dispose();
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{9, 16}));
}

TEST(TapedFunction, KnowsWhatItsResultsDependOn) {
  const Variable unused(ones({2}), "unused");
  const auto model = [&](const Tensor& a, const Tensor&, const Tensor& c) {
    static_cast<void>(unused.value());
    return std::pair(a * a, round(c));
  };
  const auto f = function(model);
  const Tensor a = tensor({1.0, 2.0});
  const Tensor b = tensor({1.0, 2.0});
  const Tensor c = tensor({1.0, 2.0});
  const auto ask = [&](const auto& g) {
    GradientTape tape({.persistent = true});
    tape.watch({a, b, c});
    const auto [y, z] = g(a, b, c);
    const Tensor total = sum(y) + sum(z);
    EXPECT_THROW(tape.gradient(total, b), GradientError);
    EXPECT_THROW(tape.gradient(total, unused), GradientError);
    const auto found = tape.gradient(total, {a, b, c}, {.unconnected = Unconnected::none});
    EXPECT_TRUE(found[0].defined());
    EXPECT_FALSE(found[1].defined());
    ASSERT_TRUE(found[2].defined());
    EXPECT_EQ(found[2].to_vector<float>(), (std::vector<float>{0, 0}));
  };
  ask(model);
  ask(f);
}

TEST(TapedFunction, MayReturnWhatItCaptures) {
  const Tensor w = tensor({3.0, 4.0});
  const auto f = function([&](const Tensor& x) { return std::pair(x * 2, w); });
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const auto [y, same] = f(x);
  EXPECT_EQ(same.to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(tape.gradient(sum(y) + sum(same), x).to_vector<float>(), (std::vector<float>{2, 2}));
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
    for (int i = 0; i < 100; ++i) {
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
