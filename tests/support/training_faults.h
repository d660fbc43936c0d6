#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tenure/memory/fault.h"
#include "tenure/tensor/device_error.h"
#include "tenure/tenure.h"
#include "tests/support/same_bits.h"

// Training whose steps have no memory at one moment after the other: a step that throws has changed
// nothing, and the same step then gives the same loss.

namespace tenure::test {

/// A model that trains on a device, which is the default meanwhile, and one batch.
class FaultyTraining {
 public:
  explicit FaultyTraining(Device device)
      : scope_((seed(5), device)), x_(normal({8, 6, 6, 2})), target_(randint(0, 4, {8})) {}
  double step() { return trainer_.step(x_, target_).loss; }
  /// What the next step begins with.
  std::vector<Tensor> state() const {
    std::vector<Tensor> all;
    for (const nn::NamedVariable& v : trainer_.variables()) {
      all.push_back(v.variable.value().to(cpu));
    }
    return all;
  }

  /// Calls `fail(n)`, after which the n-th allocation of a step is to fail, from n = 1 on, until a
  /// step takes fewer; `mend()` ends that each time. Returns how many failed.
  template <class Fail, class Mend>
  int survive(double expected, const Fail& fail, const Mend& mend) {
    const std::vector<Tensor> before = state();
    for (int n = 1;; ++n) {
      fail(n);
      double loss = 0;
      bool threw = false;
      try {
        loss = step();
      } catch (const OutOfMemory&) {
        threw = true;
      } catch (const DeviceError& error) {  // the driver had none, for code say
        threw = true;
        EXPECT_NE(std::string(error.what()).find("OUT_OF_MEMORY"), std::string::npos)
            << error.what();
      }
      mend();
      if (!threw) {
        EXPECT_EQ(loss, expected) << "after " << n - 1 << " that failed";
        return n - 1;
      }
      const std::vector<Tensor> now = state();
      for (std::size_t i = 0; i < now.size(); ++i) expect_same_bits(now[i], before[i]);
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "allocation " << n;
        return n;
      }
    }
  }

 private:
  DeviceScope scope_;
  nn::Sequential model_{nn::Conv2d(2, 3, 3), nn::Relu(), nn::MaxPool2d(2), nn::Flatten(),
                        nn::Dense(12, 8),    nn::Tanh(), nn::Dense(8, 4)};
  nn::Adam adam_{model_.trainable(), 0.05};
  nn::Trainer trainer_{model_, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); },
                       adam_};
  Tensor x_;
  Tensor target_;
};

/// The losses of a training that nothing disturbs.
inline std::vector<double> undisturbed_losses(Device device, int steps) {
  FaultyTraining training(device);
  std::vector<double> found;
  for (int i = 0; i < steps; ++i) found.push_back(training.step());
  return found;
}

/// Has each allocation of each of some steps fail in turn; returns how many did. What is live
/// afterwards is what is live without that.
inline int survive_faults_in_training(Device device) {
  constexpr int kSteps = 5;  // compiled, with another layout, and on a GPU written down
  const std::int64_t before = memory(device).bytes;
  const std::vector<double> expected = undisturbed_losses(device, kSteps);
  int failed = 0;
  {
    FaultyTraining training(device);
    std::unique_ptr<FaultInjection> fault;
    for (const double loss : expected) {
      failed += training.survive(
          loss, [&](int n) { fault = std::make_unique<FaultInjection>(n); },
          [&] { fault.reset(); });
    }
  }
  EXPECT_EQ(memory(device).bytes, before);
  return failed;
}

}  // namespace tenure::test
