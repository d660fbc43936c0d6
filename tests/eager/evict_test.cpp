#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/eager/evict_setting.h"
#include "tests/support/expect.h"
#include "tests/support/same_bits.h"
#include "tests/support/share.h"

// Budgets that evict: what may be given up, what must not, and that nobody can tell but by the
// ledger.

namespace tenure {
namespace {

using test::expect_same_bits;
using test::from_host;
using test::kEvict;
using test::kOne;
using test::kSide;
using test::numbers;
using test::row_of;
using test::squeeze;

TEST(Evict, FitsWhereItDidNot) {
  const Tensor x = numbers(0);
  const std::vector<Tensor> plain = row_of(x, 12);
  const auto within = [&](Budget::Options options) {
    const Budget budget("row", 5 * kOne, options);
    const std::vector<Tensor> row = row_of(x, 12);
    for (std::size_t i = row.size(); i-- > 0;) expect_same_bits(row[i], plain[i]);
    EXPECT_LE(budget.peak(), budget.limit());
  };
  EXPECT_THROW(within({}), OutOfMemory);
  const MemoryStats before = memory();
  within(kEvict);
  const MemoryStats after = memory();
  EXPECT_GT(after.evictions, before.evictions + 7);
  EXPECT_GT(after.recomputations, before.recomputations + 7);
  EXPECT_EQ(after.evicted_bytes, before.evicted_bytes);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.tensors, before.tensors);
}

TEST(Evict, TheLedgerTellsWhatIsGivenUp) {
  const Tensor x = numbers(0);
  const MemoryStats before = memory();
  const Budget budget("row", 6 * kOne, kEvict);
  const std::vector<Tensor> row = row_of(x, 5);
  EXPECT_EQ(memory().evicted_bytes, before.evicted_bytes);
  squeeze(budget);
  const MemoryStats squeezed = memory();
  EXPECT_EQ(squeezed.evicted_bytes - before.evicted_bytes, static_cast<std::int64_t>(5 * kOne));
  EXPECT_EQ(squeezed.bytes, before.bytes);
  EXPECT_EQ(squeezed.storages, before.storages) << "what has no data is no buffer";
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_NE(to_string(squeezed).find("evictions"), std::string::npos);
  EXPECT_FALSE(row[3].is_disposed());
  EXPECT_EQ(row[3].to_vector<float>().size(), static_cast<std::size_t>(kSide * kSide));
  EXPECT_GE(memory().recomputations, before.recomputations + 3);
}

TEST(Evict, ARecordingTellsIt) {
  const Tensor x = numbers(0);
  const Recording recording;
  {
    const Budget budget("row", 6 * kOne, kEvict);
    const std::vector<Tensor> row = row_of(x, 4);
    squeeze(budget);
    static_cast<void>(row.back().to_vector<float>());
  }
  std::int64_t level = 0;
  std::int64_t evictions = 0;
  std::int64_t recomputations = 0;
  for (const MemoryEvent& event : recording.events()) {
    using Kind = MemoryEvent::Kind;
    if (event.kind == Kind::allocate || event.kind == Kind::recompute) level += event.bytes;
    if (event.kind == Kind::free || event.kind == Kind::evict) level -= event.bytes;
    evictions += event.kind == Kind::evict;
    recomputations += event.kind == Kind::recompute;
    EXPECT_GE(level, 0);
    EXPECT_LE(level, static_cast<std::int64_t>(6 * kOne));
  }
  EXPECT_GE(evictions, 4);
  EXPECT_GE(recomputations, 4);
}

TEST(Evict, RefusesWhatCannotBe) {
  const Tensor x = numbers(0);
  const Budget budget("small", 2 * kOne, kEvict);
  const Tensor a = x + 1;
  const Tensor b = x + 2;
  // Both are needed at once, and a third.
  test::expect_throws<OutOfMemory>([&] { static_cast<void>(a + b); },
                                   {"budget \"small\"", "largest live"});
  expect_same_bits(a, x + 1);
  expect_same_bits(b, x + 2);
  EXPECT_THROW(test::room(static_cast<std::int64_t>(3 * kOne)), OutOfMemory);
  EXPECT_LE(budget.peak(), budget.limit());
}

TEST(Evict, ViewsSeeTheSame) {
  const Tensor x = numbers(0);
  const Tensor plain = sin(x);
  const Budget budget("views", 4 * kOne, kEvict);
  const Tensor y = sin(x);
  const Tensor turned = transpose(y);
  const Tensor part = slice(y, 0, 3, 9);
  squeeze(budget);
  expect_same_bits(part, slice(plain, 0, 3, 9));
  squeeze(budget);
  expect_same_bits(turned, transpose(plain));
  y.dispose();
  squeeze(budget);
  expect_same_bits(turned, transpose(plain));
  EXPECT_GE(memory().recomputations, 3);
}

TEST(Evict, ComputesInPlaceAndBack) {
  const Tensor x = numbers(0);
  const Tensor w = numbers(7);
  const Tensor plain = tanh(matmul(x, w) + x);
  const Budget budget("chain", 2 * kOne, kEvict);
  const MemoryRegion region;
  const Tensor y = tanh(matmul(x, w) + x);
  EXPECT_EQ(region.peak_bytes(), static_cast<std::int64_t>(kOne)) << "in place, as ever";
  squeeze(budget);
  EXPECT_EQ(budget.used(), 0u);
  expect_same_bits(y, plain);
}

TEST(Evict, WhatWasMovedInIsInUseNoLonger) {
  const Tensor x = numbers(0);
  const Budget budget("moved", 4 * kOne, kEvict);
  Tensor y = sin(x);
  const Tensor view = transpose(y);  // so that it is not computed in
  const Tensor z = softmax(std::move(y));
  squeeze(budget);
  EXPECT_EQ(budget.used(), 0u);
  expect_same_bits(z, softmax(sin(x)));
  expect_same_bits(view, transpose(sin(x)));
}

TEST(Evict, AnInputThatEndsIsKeptOrComputedAgain) {
  const Budget budget("inputs", 8 * kOne, kEvict);
  Tensor source = from_host(3);
  Tensor middle = exp(source);
  const Tensor end = sqrt(middle + 1);
  const Tensor expected = sqrt(exp(from_host(3)) + 1);
  middle.dispose();
  source = Tensor();
  squeeze(budget);
  expect_same_bits(end, expected);
}

TEST(Evict, RandomNumbersStayTheSame) {
  seed(11);
  const Tensor plain = uniform({kSide, kSide});
  const Tensor next = uniform({kSide, kSide});
  seed(11);
  const Budget budget("random", 4 * kOne, kEvict);
  const Tensor x = uniform({kSide, kSide});
  squeeze(budget);
  expect_same_bits(x, plain);
  squeeze(budget);
  expect_same_bits(uniform({kSide, kSide}), next);
  expect_same_bits(x, plain);
}

TEST(Evict, ASpanStays) {
  const Tensor x = numbers(0);
  const Budget budget("span", 4 * kOne, kEvict);
  const Tensor y = x * 2;
  const Tensor z = y + 1;
  const std::span<const float> elements = y.span<float>();
  squeeze(budget);
  EXPECT_EQ(budget.used(), kOne) << "z alone went";
  EXPECT_EQ(elements[5], x.to_vector<float>()[5] * 2);
  EXPECT_EQ(elements.data(), y.span<float>().data());
}

TEST(Evict, WritesOfTheHostChangeNothingBefore) {
  const Budget budget("writes", 8 * kOne, kEvict);
  const Tensor x = zeros({kSide, kSide}) + 1;
  const Tensor y = x + 1;
  const Tensor z = y * 3;
  squeeze(budget);
  x.mutable_span<float>()[0] = 100;
  const std::span<float> elements = x.mutable_span<float>();
  const Tensor after = x + 1;
  squeeze(budget);
  elements[1] = 50;
  EXPECT_EQ(y.to_vector<float>()[0], 2);
  EXPECT_EQ(z.to_vector<float>()[0], 6);
  EXPECT_EQ(after.to_vector<float>()[0], 101);
  EXPECT_EQ(after.to_vector<float>()[1], 2) << "computed before the write";
  EXPECT_EQ(x.to_vector<float>()[1], 50);
}

TEST(Evict, MemoryOfTheUserIsReadOnce) {
  std::vector<float> memory_of_user(kSide * kSide, 1.0f);
  const Tensor x = test::borrow(memory_of_user, [](void*) {});
  const Budget budget("user", 8 * kOne, kEvict);
  const Tensor y = x + 1;
  const Tensor z = y + 1;
  squeeze(budget);
  memory_of_user[0] = 10;
  EXPECT_EQ(y.to_vector<float>()[0], 2);
  EXPECT_EQ(z.to_vector<float>()[0], 3);
}

TEST(Evict, AVariableMayChange) {
  const Variable w(numbers(1), "w");
  const Tensor old = clone(w.value());
  const Budget budget("step", 8 * kOne, kEvict);
  const Tensor y = w.value() * 2;
  const Tensor z = y + 1;
  squeeze(budget);
  w.assign_add(5);  // not in place: y is computed from what was there
  const Tensor later = w.value() * 2;
  w.assign(zeros({kSide, kSide}));
  squeeze(budget);
  expect_same_bits(later, (old + 5) * 2);
  expect_same_bits(z, old * 2 + 1);
  expect_same_bits(y, old * 2);
}

TEST(Evict, ALiveResultDoesNotHinderWritesInPlace) {
  const Variable w(numbers(1), "w");
  const Tensor old = clone(w.value());
  const Budget budget("step", 8 * kOne, kEvict);
  const Tensor gradient = w.value() * 0.5;
  const MemoryRegion region;
  w.assign_sub(gradient);
  EXPECT_EQ(region.peak_bytes(), 0) << "in place";
  squeeze(budget);
  expect_same_bits(gradient, old * 0.5);
}

}  // namespace
}  // namespace tenure
