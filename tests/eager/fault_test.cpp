#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/share.h"

// Programs in which every single allocation fails once: each time the error comes out, everything
// that the program had made is gone, and what was there before is as it was.

namespace tenure {
namespace {

/// Lets allocation 1, 2, ... of `program` fail until it passes. Returns how many there were.
int survive(const std::function<void()>& program) {
  const Tensor witness = arange(100, float32);
  const Tensor view = slice(witness, 0, 10, 20);
  program();  // whatever is made once for the whole process
  for (int n = 1; n < 10'000; ++n) {
    const MemoryRegion region;
    const std::size_t live = live_tensors().size();
    bool fired = true;
    {
      const FaultInjection fault(n);
      try {
        program();
        EXPECT_FALSE(fault.fired()) << "allocation " << n << " failed, and nobody noticed";
        fired = false;
      } catch (const OutOfMemory& error) {
        EXPECT_EQ(error.cause(), OutOfMemory::Cause::injected);
        EXPECT_TRUE(fault.fired());
      }
    }
    EXPECT_EQ(region.left_bytes(), 0) << "allocation " << n;
    EXPECT_EQ(region.left_tensors(), 0) << "allocation " << n;
    EXPECT_EQ(live_tensors().size(), live) << "allocation " << n;
    EXPECT_EQ(witness.to_vector<float>()[99], 99);
    EXPECT_EQ(view.to_vector<float>()[0], 10);
    if (!fired) return n - 1;
  }
  ADD_FAILURE() << "it never passed";
  return 0;
}

TEST(Faults, ATypicalProgram) {
  const int allocations = survive([] {
    const Tensor x = arange(24, float32);
    const Tensor m = reshape(x, {4, 6});
    const Tensor w = full({6, 3}, 0.1);
    const Tensor b = tensor({1.0, 2.0, 3.0});
    const Tensor h = tanh(matmul(m, w) + b);
    const Tensor both = concat({h, transpose(reshape(h, {3, 4}))}, 1);
    const Tensor mean_of_rows = mean(both, {1}, true);
    const Tensor centered = both - mean_of_rows;
    const Tensor variance = var(centered, {1});
    const Tensor picked = where(centered > 0, centered, 0);
    const Tensor probabilities = softmax(picked);
    const Tensor best = argmax(probabilities, 1);
    Tensor total = sum(probabilities);
    total += sum(variance);
    total *= 2;
    EXPECT_EQ(best.size(), 4);
    EXPECT_GT(total.item<float>(), 0);
    EXPECT_EQ(std::move(total).defined(), true);
  });
  EXPECT_GT(allocations, 30);
}

TEST(Faults, Scopes) {
  survive([] {
    const Scope scope("outer");
    const Tensor x = ones({100});
    const std::vector<Tensor> parts = tidy([&] {
      const Tensor doubled = x * 2;
      return std::vector<Tensor>{doubled + 1, doubled - 1, slice(doubled, 0, 5)};
    });
    const Tensor kept = keep(stack({parts[0], parts[1]}));
    EXPECT_EQ(kept.shape(), (Shape{2, 100}));
  });
}

TEST(Faults, MovedInputsAreIntact) {
  const Tensor bias = ones({50});
  survive([&] {
    Tensor x = full({50}, 3.0);
    const std::uint64_t id = x.id();
    try {
      const Tensor y = exp(sqrt(std::move(x)) * bias) + tensor({1.0});
    } catch (const OutOfMemory&) {
      if (x.defined()) {
        EXPECT_EQ(x.id(), id);
        EXPECT_EQ(x.to_vector<float>(), std::vector<float>(50, 3.0F));
      }
      throw;
    }
  });
}

TEST(Faults, LargeStorages) {
  survive([] {
    const Tensor x = ones({300, 300});
    const Tensor y = matmul(x, x);
    const Tensor z = concat({x, y});
    EXPECT_EQ(sum(z).item<float>(), 90'000.0F + 90'000.0F * 300);
  });
}

TEST(Faults, ForeignMemoryIsGivenBackExactlyOnce) {
  std::vector<float> mine(10, 1.0F);
  survive([&] {
    int deleted = 0;
    bool adopted = false;
    try {
      const Tensor x = from_memory(mine.data(), {10}, float32, 40, [&](void*) { ++deleted; });
      adopted = true;
      const Tensor y = x + 1;
      const Tensor view = reshape(x, {2, 5});
    } catch (const OutOfMemory&) {
      EXPECT_EQ(deleted, adopted ? 1 : 0) << "what was not taken over is still the caller's";
      throw;
    }
    EXPECT_EQ(deleted, 1);
  });
}

TEST(Faults, OfThisThreadAlone) {
  const FaultInjection fault(1);
  test::on_thread([] { EXPECT_EQ(ones({3}).size(), 3); });
  EXPECT_FALSE(fault.fired());
  EXPECT_THROW(ones({3}), OutOfMemory);
  EXPECT_TRUE(fault.fired());
  EXPECT_EQ(ones({3}).size(), 3) << "one fault per object";
}

TEST(Faults, RejectNonsense) {
  EXPECT_THROW(FaultInjection(0), ValueError);
  const FaultInjection one(5);
  EXPECT_THROW(FaultInjection(1), ValueError);
  EXPECT_FALSE(one.fired());
}

TEST(Faults, TellWhatWasAsked) {
  const FaultInjection fault(1);
  test::expect_throws<OutOfMemory>([] { ones({1024}); },
                                   {"allocation of 4.00 KiB failed by request"});
}

// pytorch's test_cuda: after a refusal the same program runs with what is there.
TEST(Budgets, AProgramGoesOnAfterARefusal) {
  const Budget budget("batch", 100 * KiB);
  std::vector<Tensor> batches;
  std::int64_t batch = 64 * 1024;
  while (true) {
    try {
      const Tensor x = ones({batch});
      batches.push_back(x + x);
      break;
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.budget(), "batch");
      batch /= 2;
    }
  }
  EXPECT_EQ(batch, 8 * 1024) << "two of 32 KiB fit, two of 64 KiB do not";
  EXPECT_EQ(batches[0].to_vector<float>()[0], 2);
  EXPECT_EQ(budget.used(), 32 * KiB);
  EXPECT_EQ(budget.peak(), 64 * KiB);
}

TEST(Budgets, WorkspacesCountToo) {
  const Tensor x = arange(1000, float32);
  std::size_t peak = 0;
  {
    const Budget budget("measure", kNoLimit);
    sort(x);
    peak = budget.peak();
    EXPECT_EQ(budget.used(), 0u);
  }
  const Budget budget("too small", peak - 1);
  EXPECT_THROW(sort(x), OutOfMemory);
  EXPECT_EQ(x.to_vector<float>()[999], 999);
}

}  // namespace
}  // namespace tenure
