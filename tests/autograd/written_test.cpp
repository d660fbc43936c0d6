#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/put.h"

// Data that a tape saved and that is written to before the way back gives no wrong gradient.

namespace tenure {
namespace {

using test::expect_elements;
using test::put;

TEST(Written, SavedDataIsRefused) {
  Tensor x = tensor({1.0, 2.0});
  x.set_name("weights");
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(x * x);
  const int saved = __LINE__ - 1;
  put<float>(x, 0, 100);
  const int written = __LINE__ - 1;
  try {
    tape.gradient(y, x);
    FAIL();
  } catch (const GradientError& error) {
    const std::string text = error.what();
    const std::string file = "written_test.cpp:";
    EXPECT_NE(text.find("\"weights\""), std::string::npos) << text;
    EXPECT_NE(text.find("mul at " + file + std::to_string(saved)), std::string::npos) << text;
    EXPECT_NE(text.find("mutable_span() at " + file + std::to_string(written)), std::string::npos)
        << text;
    EXPECT_EQ(error.site().line(), static_cast<std::uint_least32_t>(__LINE__ - 9)) << text;
  }
}

TEST(Written, ThroughAViewToo) {
  const Tensor x = ones({2, 2});
  const Tensor view = reshape(x, {4});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(square(x));
  put<float>(view, 0, 1);
  EXPECT_THROW(tape.gradient(y, x), GradientError);
}

TEST(Written, ARefusalLeavesTheTapeAsItWas) {
  const Tensor x = ones({2});
  const Tensor w = tensor({3.0, 4.0});
  GradientTape tape;
  tape.watch(std::vector{x, w});
  const Tensor bad = sum(square(x));
  const Tensor good = sum(exp(w) * 0 + w * 2);
  put<float>(x, 0, 1);
  EXPECT_THROW(tape.gradient(bad, x), GradientError);
  expect_elements<float>(tape.gradient(good, w), {2}, {2, 2});
}

TEST(Written, WhatNoRuleReadsMayBeWritten) {
  const Tensor x = ones({2});
  const Tensor y = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor z = sum((x + y) * 3);
  put<float>(x, 0, 5);  // sums read nothing
  put<float>(y, 0, 5);
  expect_elements<float>(tape.gradient(z, x), {2}, {3, 3});
}

TEST(Written, BeforeItIsSavedIsFine) {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  put<float>(x, 0, 5);
  const Tensor y = sum(square(x));
  const Tensor other = ones({2});
  put<float>(other, 0, 7);  // of no concern
  expect_elements<float>(tape.gradient(y, x), {2}, {10, 2});
}

TEST(Written, OutputsCountAsInputsDo) {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = exp(x);  // its rule reads the output
  const Tensor z = sum(y);
  put<float>(y, 0, 0);
  EXPECT_THROW(tape.gradient(z, x), GradientError);
  GradientTape jacobian;
  jacobian.watch(x);
  const Tensor e = exp(x);
  put<float>(e, 0, 0);
  EXPECT_THROW(jacobian.jacobian(e, x), GradientError);
}

TEST(Written, OfAFunctionTheArgumentsThatItSaved) {
  const auto f = function([](const Tensor& x) { return sum(square(x)); });
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  put<float>(x, 0, 5);
  EXPECT_THROW(tape.gradient(y, x), GradientError);
}

TEST(Written, OfAFunctionTheCapturesThatTheWayBackReads) {
  const Tensor x = ones({2});
  const Tensor factor = tensor({3.0, 4.0});
  const Tensor term = ones({2});
  const auto f = function([&](const Tensor& t) { return sum(square(t * factor + term)); });
  const auto taped = [&](const auto& between) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    between();
    return tape.gradient(y, x);
  };
  expect_elements<float>(taped([] {}), {2}, {24, 40});
  EXPECT_THROW(taped([&] { put<float>(factor, 0, 100); }), GradientError);
  expect_elements<float>(taped([] {}), {2}, {20200, 40});  // as it is now, in both directions
  // Of the sum nothing is read on the way back.
  expect_elements<float>(taped([&] { put<float>(term, 0, 7); }), {2}, {20200, 40});
  // What a tape holds keeps its data.
  expect_elements<float>(taped([&] { factor.dispose(); }), {2}, {21400, 40});
}

TEST(Written, CapturesOfFunctionsAreHeldAsLongAsTheTapeNeedsThem) {
  Tensor factor = tensor({3.0, 4.0});
  const auto f = function([&](const Tensor& t) { return sum(t * factor); });
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(tape.saved().tensors.size(), 1u) << to_string(tape.saved());
  const std::size_t before = holders(factor).size();
  expect_elements<float>(tape.gradient(y, x), {2}, {3, 4});
  EXPECT_EQ(holders(factor).size(), before - 1);
}

TEST(Written, AReadIsNoWrite) {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(square(x));
  EXPECT_EQ(x.to_vector<float>()[0], 1);
  x.to_vector<float>();
  expect_elements<float>(tape.gradient(y, x), {2}, {2, 2});
}

TEST(Written, ManyWritesLaterTheWriterIsUnknownButTheWriteIsNot) {
  const Tensor x = ones({2});
  const Tensor other = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(square(x));
  put<float>(x, 0, 1);
  for (int i = 0; i < 1000; ++i) put<float>(other, 0, 1);
  EXPECT_THROW(tape.gradient(y, x), GradientError);
}

}  // namespace
}  // namespace tenure
