#include "tenure/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tenure/base/error.h"
#include "tenure/data/sources.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/memory/region.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/introspect.h"
#include "tenure/tensor/tree.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

namespace tenure::data {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::make;

/// Elements {i, 10 i}.
Dataset numbers(std::int64_t n) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  const Tensor x = tensor(values);
  return from_tensors({x, x * 10});
}

/// Two elements, each the epoch that they are of.
class Epochs final : public Source {
 public:
  std::int64_t size() const override { return 2; }
  Batch at(std::int64_t epoch, std::int64_t) const override { return {tensor(epoch)}; }
};

/// The first tensors' elements, all batches one after the other.
std::vector<std::int64_t> firsts(Pass pass) {
  std::vector<std::int64_t> all;
  for (const Batch& batch : pass) {
    for (const std::int64_t value : batch[0].to_vector<std::int64_t>()) all.push_back(value);
  }
  return all;
}
std::vector<std::int64_t> firsts(const Dataset& dataset) { return firsts(dataset.epoch(0)); }

TEST(Dataset, EpochsOfWhatIsRepeatedAreNeverBelowZero) {
  const Dataset epochs(std::make_shared<Epochs>());
  EXPECT_EQ(firsts(epochs.repeat(2).epoch(3)), (std::vector<std::int64_t>{6, 6, 7, 7}));
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t times : {1, 2, 3, 1 << 30}) {
    for (const std::int64_t epoch : {kLast, kLast / 2 + 1, kLast / 3}) {
      EXPECT_GE(epochs.repeat(times).at(2 * times - 1, epoch)[0].item<std::int64_t>(), 0);
    }
  }
}

TEST(Dataset, ElementsAreRowsAndViews) {
  const Tensor x = counting<float>({3, 2});
  const Dataset dataset = from_tensors({x, tensor({5, 6, 7})});
  EXPECT_EQ(dataset.size(), 3);
  const MemoryRegion region;
  const Batch element = dataset.at(1);
  ASSERT_EQ(element.size(), 2u);
  expect_elements<float>(element[0], {2}, {2, 3});
  expect_elements<std::int64_t>(element[1], {}, {6});
  EXPECT_EQ(region.left_bytes(), 0);
  expect_throws<IndexError>([&] { dataset.at(3); }, {"no element 3 among 3"});
  EXPECT_THROW(dataset.at(-1), IndexError);
}

TEST(Dataset, HoldsItsDataWhateverTheUserDoes) {
  Tensor x;
  const Dataset dataset = [&] {
    const Scope scope;
    x = counting<float>({3, 2});
    return from_tensors({x});
  }();
  EXPECT_TRUE(x.is_disposed());
  expect_elements<float>(dataset.at(2)[0], {2}, {4, 5});
}

TEST(Dataset, RefusesTensorsThatDoNotFit) {
  expect_throws<ShapeError>(
      [] {
        from_tensors({zeros({2, 3}), zeros({3})});
      },
      {"must have one size: [2, 3], [3]"});
  EXPECT_THROW(from_tensors({zeros({})}), ShapeError);
  EXPECT_THROW(from_tensors({}), ValueError);
  EXPECT_THROW(from_tensors({Tensor()}), EmptyTensorError);
  EXPECT_THROW(Dataset(nullptr), ValueError);
}

TEST(Dataset, Batches) {
  const Dataset batches = numbers(7).batch(3);
  EXPECT_EQ(batches.size(), 3);
  expect_elements<std::int64_t>(batches.at(1)[1], {3}, {30, 40, 50});
  expect_elements<std::int64_t>(batches.at(2)[0], {1}, {6});
  EXPECT_EQ(numbers(7).batch(3, true).size(), 2);
  EXPECT_EQ(numbers(6).batch(3).size(), 2);
  EXPECT_EQ(numbers(0).batch(3).size(), 0);
  EXPECT_EQ(firsts(numbers(7).batch(3)), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
  expect_elements<std::int64_t>(numbers(7).batch(2, true).batch(3).at(0)[0], {3, 2},
                                {0, 1, 2, 3, 4, 5});
  EXPECT_THROW(numbers(7).batch(0), ValueError);
  EXPECT_THROW(numbers(7).batch(2).batch(4).at(0), ShapeError) << "the last one is shorter";
}

TEST(Dataset, NeighboursAreAView) {
  const Dataset dataset = from_tensors({counting<float>({100, 50})});
  const MemoryRegion region;
  const Batch view = dataset.skip(10).batch(20).at(1);
  EXPECT_EQ(region.left_bytes(), 0);
  const Batch copy = dataset.shuffle(1).batch(20).at(1);
  EXPECT_EQ(region.left_bytes(), 20 * 50 * 4);
}

TEST(Dataset, TakeSkipRepeat) {
  EXPECT_EQ(firsts(numbers(5).take(3)), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(firsts(numbers(5).skip(3)), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(firsts(numbers(5).skip(1).take(2).repeat(2)), (std::vector<std::int64_t>{1, 2, 1, 2}));
  EXPECT_EQ(firsts(numbers(3).repeat(2).batch(4)), (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(numbers(5).take(9).size(), 5);
  EXPECT_EQ(numbers(5).skip(9).size(), 0);
  EXPECT_EQ(numbers(5).repeat(0).size(), 0);
  EXPECT_THROW(numbers(5).take(-1), ValueError);
  EXPECT_THROW(numbers(5).skip(-1), ValueError);
  EXPECT_THROW(numbers(5).repeat(-1), ValueError);
  EXPECT_THROW(numbers(5).at(0, -1), ValueError);
  EXPECT_THROW(numbers(5).repeat(std::numeric_limits<std::int64_t>::max() / 2), ValueError);
}

TEST(Dataset, MapsElementsAndBatches) {
  const auto twice = [](Batch element) { return Batch{element[0] * 2, element[1]}; };
  EXPECT_EQ(firsts(numbers(5).map(twice).batch(2)), (std::vector<std::int64_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(firsts(numbers(5).batch(2).map(twice)), (std::vector<std::int64_t>{0, 2, 4, 6, 8}));
  const Dataset uneven = numbers(4).map([](Batch element) {
    if (element[0].item<int>() == 2) element.pop_back();
    return element;
  });
  expect_throws<ValueError>([&] { uneven.batch(4).at(0); },
                            {"element 0 has 2 tensors, element 2 has 1"});
  const Dataset failing = numbers(4).map([](Batch) -> Batch { throw ValueError("no"); });
  Pass pass = failing.epoch(0);
  EXPECT_THROW(pass.next(), ValueError);
  EXPECT_EQ(pass.position(), (Position{.epoch = 0, .next = 0}));
}

TEST(Dataset, RandomMapsAreTheSameWhereverTheyRun) {
  const Dataset noisy = numbers(6).map(
      [](Batch, Generator& generator) { return Batch{uniform({2}, 0, 1, float32, &generator)}; },
      7);
  const std::vector<float> third = noisy.at(3)[0].to_vector<float>();
  EXPECT_EQ(noisy.at(3)[0].to_vector<float>(), third);
  EXPECT_NE(noisy.at(2)[0].to_vector<float>(), third);
  EXPECT_NE(noisy.at(3, 1)[0].to_vector<float>(), third);
  std::int64_t place = 0;
  for (const Batch& element : noisy.prefetch(2)) {
    if (place++ == 3) {
      EXPECT_EQ(element[0].to_vector<float>(), third);
    }
  }
}

TEST(Dataset, FromAFunction) {
  const Dataset squares = from_function(4, [](std::int64_t i) { return Batch{tensor(i * i)}; });
  EXPECT_EQ(firsts(squares.batch(3)), (std::vector<std::int64_t>{0, 1, 4, 9}));
  EXPECT_THROW(from_function(-1, [](std::int64_t) { return Batch(); }), ValueError);
}

TEST(Shuffle, IsAPermutationOfAnySize) {
  for (std::int64_t n = 1; n < 300; ++n) {
    std::vector<bool> seen(static_cast<std::size_t>(n));
    const Order order(static_cast<std::uint64_t>(n), n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t place = order[i];
      ASSERT_TRUE(place >= 0 && place < n);
      seen[static_cast<std::size_t>(place)] = true;
    }
    ASSERT_EQ(std::count(seen.begin(), seen.end(), true), n);
  }
}

TEST(Shuffle, AllOrdersAreAboutEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> orders;
  constexpr int kTrials = 24 * 1000;
  for (std::uint64_t key = 0; key < kTrials; ++key) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < 4; ++i) order.push_back(Order(key, 4)[i]);
    ++orders[order];
  }
  ASSERT_EQ(orders.size(), 24u);
  for (const auto& [order, times] : orders) EXPECT_NEAR(times, 1000, 160);  // 5 sigma
}

TEST(Shuffle, NeighboursDoNotStayTogether) {
  constexpr std::int64_t kSize = 60'000;
  double correlation = 0;
  int neighbours = 0;
  const Order order(3, kSize);
  std::int64_t before = order[kSize - 1];
  for (std::int64_t i = 0; i < kSize; ++i) {
    const std::int64_t place = order[i];
    const double center = (kSize - 1) / 2.0;
    correlation += (static_cast<double>(place) - center) * (static_cast<double>(before) - center);
    neighbours += std::abs(place - before) == 1 ? 1 : 0;
    before = place;
  }
  EXPECT_LT(std::abs(correlation) / (kSize / 12.0 * kSize * kSize), 0.02);  // 5 sigma
  EXPECT_LT(neighbours, 12);                                                // two are expected
}

TEST(Shuffle, DependsOnSeedAndEpochAlone) {
  const Dataset shuffled = numbers(50).shuffle(1);
  const std::vector<std::int64_t> order = firsts(shuffled);
  EXPECT_EQ(firsts(numbers(50).shuffle(1).batch(7)), order);
  EXPECT_NE(firsts(shuffled.epoch(1)), order);
  EXPECT_NE(firsts(numbers(50).shuffle(2)), order);
  EXPECT_NE(order, firsts(numbers(50)));
  std::vector<std::int64_t> twice = firsts(shuffled.repeat(2));
  EXPECT_EQ(std::vector(twice.begin(), twice.begin() + 50), order);
  EXPECT_EQ(std::vector(twice.begin() + 50, twice.end()), firsts(shuffled.epoch(1)));
}

TEST(Shuffle, SplitsStayApartWithOneOrderForAllEpochs) {
  const Dataset shuffled = numbers(50).shuffle(1, false);
  std::set<std::int64_t> seen;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (const std::int64_t i : firsts(shuffled.take(40).shuffle(5).epoch(epoch))) seen.insert(i);
  }
  EXPECT_EQ(seen.size(), 40u);
  for (const std::int64_t i : firsts(shuffled.skip(40).epoch(7))) EXPECT_EQ(seen.count(i), 0u);
}

TEST(Pass, GoesOnWhereItStood) {
  for (const std::int64_t ahead : {0, 3}) {
    const Dataset dataset = numbers(40).shuffle(9).batch(3).prefetch(ahead);
    const std::vector<std::int64_t> whole = firsts(dataset.epoch(2));
    Pass pass = dataset.epoch(2);
    std::vector<std::int64_t> parts;
    for (int i = 0; i < 5; ++i) {
      const std::vector<std::int64_t> values = pass.next()->at(0).to_vector<std::int64_t>();
      parts.insert(parts.end(), values.begin(), values.end());
    }
    EXPECT_EQ(pass.position(), (Position{.epoch = 2, .next = 5}));
    const std::vector<std::int64_t> rest = firsts(dataset.resume(pass.position()));
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole);
  }
  EXPECT_THROW(numbers(3).epoch(-1), ValueError);
  EXPECT_THROW(numbers(3).epoch(0, -1), ValueError);
  EXPECT_FALSE(numbers(3).epoch(0, 99).next().has_value());
}

TEST(Pass, HoldsOneElementAtATime) {
  const Dataset dataset = from_tensors({zeros({64, 1000})}).shuffle(1).batch(8);
  const MemoryRegion region;
  for (const Batch& batch : dataset) static_cast<void>(batch);
  EXPECT_LT(region.peak_bytes(), 8 * 1000 * 4 + 1000);
  EXPECT_EQ(region.left_bytes(), 0);
  EXPECT_EQ(region.left_tensors(), 0);
}

TEST(Pass, IsSteady) {
  const Dataset dataset =
      from_tensors({zeros({64, 10}), zeros({64}, int64)}).shuffle(1).batch(8).map([](Batch batch) {
        return Batch{batch[0] + 1, batch[1]};
      });
  LeakGuard guard("epochs");
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    for (const Batch& batch : dataset.epoch(epoch)) ASSERT_EQ(batch.size(), 2u);
    guard.mark();
  }
}

}  // namespace
}  // namespace tenure::data
