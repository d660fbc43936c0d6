#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <thread>

#include "tenure/tenure.h"

namespace tenure {
namespace {

Tensor doubles(const std::vector<double>& values) { return tensor(values); }

TEST(GradientTape, ComputesGradients) {
  const Tensor x = doubles({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(x * x * x);
  EXPECT_EQ(tape.gradient(y, x).to_vector<double>(), (std::vector<double>{3, 12, 27}));
}

TEST(GradientTape, SumsOverWaysAndBroadcasts) {
  const Tensor x = doubles({1, 2});
  const Tensor w = tensor({{1.0, 2.0}, {3.0, 4.0}}, DType::float64);
  GradientTape tape;
  tape.watch({x, w});
  const Tensor y = sum(x * w + x) - 3 * sum(w);
  const auto gradients = tape.gradient(y, std::vector{x, w});
  EXPECT_EQ(gradients[0].to_vector<double>(), (std::vector<double>{6, 8}));
  EXPECT_EQ(gradients[1].to_vector<double>(), (std::vector<double>{-2, -1, -2, -1}));
}

TEST(GradientTape, TakesOutputGradientsAndSeveralElements) {
  const Tensor x = doubles({1, 2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(tape.gradient(y, x).to_vector<double>(), (std::vector<double>{2, 4, 6}));
  const Tensor dy = doubles({1, 0, -1});
  EXPECT_EQ(tape.gradient(y, x, {.output_gradient = dy}).to_vector<double>(),
            (std::vector<double>{2, 0, -6}));
  EXPECT_THROW(tape.gradient(y, x, {.output_gradient = doubles({1, 2})}), ShapeError);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradient = ones({3})}), DTypeError);
}

TEST(GradientTape, NestsForHigherOrders) {
  const Tensor x = doubles({2});
  GradientTape third;
  third.watch(x);
  GradientTape second;
  second.watch(x);
  GradientTape first;
  first.watch(x);
  const Tensor y = x * x * x * x;
  const Tensor d1 = first.gradient(y, x);
  const Tensor d2 = second.gradient(d1, x);
  const Tensor d3 = third.gradient(d2, x);
  EXPECT_EQ(d1.item<double>(), 32);
  EXPECT_EQ(d2.item<double>(), 48);
  EXPECT_EQ(d3.item<double>(), 48);
}

TEST(GradientTape, AnOuterTapeMayBeginLater) {
  const Tensor x = doubles({2});
  GradientTape inner({.persistent = true});
  inner.watch(x);
  const Tensor y = square(x);
  GradientTape outer;
  outer.watch(x);
  const Tensor d1 = inner.gradient(y, x);
  EXPECT_EQ(outer.gradient(d1, x).item<double>(), 2);
}

TEST(GradientTape, GivesJacobians) {
  const Tensor x = doubles({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = stack({x * x, 3 * x, sum(x) * x});
  const Tensor jacobian = tape.jacobian(y, x);
  EXPECT_EQ(jacobian.shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(jacobian.to_vector<double>(),
            (std::vector<double>{2, 0, 0, 4, 3, 0, 0, 3, 4, 1, 2, 5}));
  EXPECT_EQ(tape.saved().tensors.size(), 0u);
}

TEST(GradientTape, IntermediateValuesAreSourcesToo) {
  const Tensor x = doubles({3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor z = y * y;
  const auto gradients = tape.gradient(z, std::vector{y, x});
  EXPECT_EQ(gradients[0].item<double>(), 18);
  EXPECT_EQ(gradients[1].item<double>(), 108);
}

TEST(GradientTape, StopGradientAndPause) {
  const Tensor x = doubles({3});
  GradientTape tape;
  tape.watch(x);
  Tensor y = x * stop_gradient(x);
  {
    const auto pause = tape.stop_recording();
    y = y + exp(x) - exp(x);
  }
  EXPECT_THROW(tape.gradient(y, x), GradientError);  // the sum was not noted
  Tensor z = x * stop_gradient(x);
  EXPECT_EQ(tape.gradient(z, x).item<double>(), 3);
}

TEST(GradientTape, WatchesTrainableVariables) {
  const Variable w(doubles({1, 2}), "w");
  const Variable fixed(doubles({5, 5}), "fixed", false);
  GradientTape tape;
  const Tensor y = sum(w.value() * w.value() * fixed.value());
  EXPECT_EQ(tape.gradient(y, w).to_vector<double>(), (std::vector<double>{10, 20}));

  GradientTape careful(GradientTape::Options{.watch_variables = false});
  careful.watch(fixed);
  const Tensor z = sum(w.value() * fixed.value());
  EXPECT_EQ(careful.gradient(z, fixed).to_vector<double>(), (std::vector<double>{1, 2}));
}

TEST(GradientTape, UnconnectedSources) {
  const Tensor x = doubles({1, 2});
  const Tensor other = doubles({1, 2, 3});
  GradientTape tape;
  tape.watch({x, other});
  const Tensor y = sum(x);
  try {
    tape.gradient(y, std::vector{x, other});
    FAIL();
  } catch (const GradientError& error) {
    EXPECT_NE(std::string(error.what()).find("Unconnected::zero"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("tape_test.cpp"), std::string::npos);
  }
  // Nothing was lost.
  const auto gradients =
      tape.gradient(y, std::vector{x, other}, {.unconnected = Unconnected::zero});
  EXPECT_EQ(gradients[0].to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(gradients[1].to_vector<double>(), (std::vector<double>{0, 0, 0}));
}

TEST(GradientTape, RefusesWhatHasNoGradient) {
  const Tensor x = doubles({1, 2});
  GradientTape tape;
  EXPECT_THROW(tape.watch(tensor({1, 2})), DTypeError);
  EXPECT_THROW(tape.watch(Tensor()), EmptyTensorError);
  tape.watch(x);
  EXPECT_THROW(tape.gradient(argmax(x), x), DTypeError);
  EXPECT_THROW(tape.gradient(x > 1, x), DTypeError);
  const Tensor y = sum(unique(x));
  try {
    tape.gradient(y, x);
    FAIL();
  } catch (const GradientError& error) {
    EXPECT_NE(std::string(error.what()).find("unique"), std::string::npos);
  }
  const Tensor z = x * x;
  try {
    tape.gradient(z, x);
    FAIL();
  } catch (const GradientError& error) {
    EXPECT_NE(std::string(error.what()).find("used up"), std::string::npos);
  }
}

TEST(GradientTape, SavesWhatTheWayBackNeeds) {
  const Tensor x = ones({8, 4});
  const Variable w(ones({4, 3}), "w");
  const Variable b(ones({3}), "b");
  GradientTape tape;
  const Tensor y = tanh(matmul(x, w.value()) + b.value());
  // The matmul needs x for w's gradient, and tanh its own result. The sum needs nothing.
  const SavedReport report = tape.saved();
  ASSERT_EQ(report.tensors.size(), 2u);
  EXPECT_EQ(report.tensors[0].op, "matmul");
  EXPECT_EQ(report.tensors[0].role, "input 0");
  EXPECT_EQ(report.tensors[1].op, "tanh");
  EXPECT_EQ(report.tensors[1].role, "output 0");
  EXPECT_EQ(report.bytes, 8 * 4 * 4 + 8 * 3 * 4);
  EXPECT_NE(to_string(report).find("tape_test.cpp"), std::string::npos);
}

TEST(GradientTape, DisposalNeverBreaksTheWayBack) {
  const Tensor x = doubles({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = exp(x);
  const Tensor z = sum(y * y);
  const double expected = 2 * std::exp(4.0);
  y.dispose();
  z.dispose();
  const auto list = holders(y);
  ASSERT_FALSE(list.empty());
  for (const Holder& holder : list) EXPECT_EQ(holder.kind, HolderKind::tape);
  EXPECT_NEAR(tape.gradient(z, x).to_vector<double>()[1], expected, 1e-12 * expected);
  EXPECT_TRUE(holders(y).empty());
}

TEST(GradientTape, ScopesLeaveItsHoldersAlone) {
  const Tensor x = doubles({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor z = tidy([&] { return sum(exp(x) * sin(x)); });
  const Tensor dx = tape.gradient(z, x);
  EXPECT_NEAR(dx.to_vector<double>()[0], std::exp(1) * (std::sin(1) + std::cos(1)), 1e-12);
}

TEST(GradientTape, NeverLetsWhatItSavedBeOverwritten) {
  const Tensor x = doubles({0.5, 0.25});
  GradientTape tape;
  tape.watch(x);
  Tensor y = tanh(x);
  y = square(std::move(y));  // wants to compute in place; tanh's gradient needs y
  y = neg(std::move(y));     // may: nobody needs it
  const Tensor dx = tape.gradient(sum(std::move(y)), x);
  const double t = std::tanh(0.5);
  EXPECT_NEAR(dx.to_vector<double>()[0], -2 * t * (1 - t * t), 1e-15);
}

TEST(GradientTape, ReleasesAsItGoes) {
  const Tensor x = ones({1024});
  const MemoryRegion region;
  Tensor dx;
  {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = tanh(std::move(y));
    EXPECT_EQ(tape.saved().bytes, 10 * 4096);
    const MemoryRegion back;
    dx = tape.gradient(sum(std::move(y)), x);
    // One gradient at a time, each in the memory of what was saved or of the one before.
    EXPECT_LE(back.peak_bytes(), 3 * 4096);
    EXPECT_EQ(tape.saved().tensors.size(), 0u);
  }
  EXPECT_EQ(region.left_bytes(), 4096);
}

TEST(GradientTape, GradientsAreTensorsOfTheirOwn) {
  const Tensor a = doubles({1});
  const Tensor b = doubles({2});
  GradientTape tape;
  tape.watch({a, b});
  const auto gradients = tape.gradient(a + b, std::vector{a, b});
  EXPECT_NE(gradients[0].id(), gradients[1].id());
  gradients[0].dispose();
  EXPECT_EQ(gradients[1].item<double>(), 1);
}

TEST(GradientTape, CountsAsGradients) {
  const Tensor x = ones({1000});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(exp(x));
  const auto before = memory()[Category::gradient].bytes;
  const Tensor dx = tape.gradient(y, x);
  EXPECT_EQ(memory()[Category::gradient].bytes - before, 4000);
}

TEST(GradientTape, CustomGradients) {
  const auto straight = custom_gradient(
      [](Saves& saves, const Tensor& x) {
        saves(x);
        return sign(x);
      },
      [](const std::vector<Tensor>& saved, const Tensor& g) {
        return where(abs(saved[0]) < 1, g, 0.0);
      });
  const Tensor x = doubles({-2, -0.5, 0.5, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = straight(x);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{-1, -1, 1, 1}));
  ASSERT_EQ(tape.saved().tensors.size(), 1u);
  EXPECT_EQ(tape.saved().tensors[0].op, "custom gradient");
  EXPECT_EQ(tape.gradient(3 * y, x).to_vector<double>(), (std::vector<double>{0, 3, 3, 0}));

  // Of two inputs, and of second order.
  const auto product = custom_gradient(
      [](Saves& saves, const Tensor& a, const Tensor& b) {
        saves(a);
        saves(b);
        return a * b;
      },
      [](const std::vector<Tensor>& saved, const Tensor& g) {
        return std::vector{g * saved[1], g * saved[0]};
      });
  const Tensor p = doubles({3});
  GradientTape outer;
  outer.watch(p);
  GradientTape inner;
  inner.watch(p);
  const Tensor cube = product(product(p, p), p);
  const Tensor first = inner.gradient(cube, p);
  EXPECT_EQ(first.item<double>(), 27);
  EXPECT_EQ(outer.gradient(first, p).item<double>(), 18);

  const auto wrong = custom_gradient(
      [](Saves&, const Tensor& a) { return a; },
      [](const std::vector<Tensor>&, const Tensor&) { return ones({7}, DType::float64); });
  GradientTape third;
  third.watch(p);
  const Tensor same = wrong(p);
  EXPECT_NE(same.id(), p.id());
  EXPECT_THROW(third.gradient(same, p), GradientError);
}

TEST(GradientTape, MayEndInAnyOrderAndOnAnotherThread) {
  const Tensor x = doubles({2});
  auto first = std::make_unique<GradientTape>();
  auto second = std::make_unique<GradientTape>();
  second->watch(x);
  first.reset();
  const Tensor y = x * x;
  EXPECT_EQ(second->gradient(y, x).item<double>(), 4);
  std::thread([&] { second.reset(); }).join();
  const Tensor z = x * x;
  EXPECT_EQ(z.item<double>(), 4);
}

TEST(GradientTape, IsFlatInALoop) {
  const Variable w(ones({16, 16}), "w");
  LeakGuard guard;
  for (int i = 0; i < 100; ++i) {
    GradientTape tape;
    const Tensor y = sum(tanh(matmul(w.value(), w.value())));
    const Tensor dw = tape.gradient(y, w);
    w.assign_sub(dw * 0.01);
    guard.mark();
  }
}

TEST(GradientTape, OneThatLivesAroundALoopGrows) {
  const Variable w(ones({4}), "w");
  const Tensor x = ones({4});
  const auto found_in = [](const std::function<void()>& iteration) {
    LeakGuard guard;
    for (int i = 0; i < 100; ++i) {
      iteration();
      try {
        guard.mark();
      } catch (const LeakError& error) {
        return std::string(error.what());
      }
    }
    return std::string("none");
  };
  const GradientTape around({.persistent = true});
  const std::string nodes = found_in([&] { static_cast<void>(w.value() + x); });
  EXPECT_NE(nodes.find("tape values made at tape_test.cpp"), std::string::npos) << nodes;
  EXPECT_NE(nodes.find(", which take "), std::string::npos) << nodes;
  const std::string reads = found_in([&] { static_cast<void>(w.value()); });
  EXPECT_NE(reads.find("tape values made at tape_test.cpp"), std::string::npos) << reads;
}

TEST(GradientTape, OneGradientOfTwoSourcesIsKnownToOuterTapes) {
  const Tensor a = doubles({2});
  const Tensor b = doubles({3});
  GradientTape outer({.persistent = true});
  outer.watch({a, b});
  GradientTape inner({.persistent = true});
  inner.watch({a, b});
  const Tensor s = a + b;
  const Tensor y = s * s * s;
  const std::vector<Tensor> first = inner.gradient(y, {a, b});
  EXPECT_EQ(outer.gradient(first[0], b).item<double>(), 30);
  EXPECT_EQ(outer.gradient(first[1], a).item<double>(), 30);
  const std::vector<Tensor> twice = inner.gradient(y, {a, a});
  EXPECT_EQ(outer.gradient(twice[0], a).item<double>(), 30);
  EXPECT_EQ(outer.gradient(twice[1], a).item<double>(), 30);
}

TEST(GradientTape, SpecsAreNobodysValues) {
  const Tensor s = spec({2});
  GradientTape tape;
  tape.watch(s);
  EXPECT_THROW(static_cast<void>(s + s), SymbolError);
}

TEST(GradientTape, AJacobianOfNothingReleasesToo) {
  const Tensor x = zeros({0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(tape.jacobian(y, x).shape(), (Shape{0, 0}));
  EXPECT_TRUE(tape.saved().tensors.empty());
}

}  // namespace
}  // namespace tenure
