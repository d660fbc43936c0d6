#include "tenure/tensor/integer_notes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <set>

#include "tenure/ops/core/record.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

IntegerRange range_of(const std::vector<std::int64_t>& values) {
  IntegerRange range = IntegerRange::none();
  for (const std::int64_t value : values) range.add(value);
  return range;
}

/// However integers are split up and joined, their ends and those next to these come out.
TEST(IntegerRange, HasTheEndsAndWhatIsNextToThem) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const int span = round % 7 + 1;
    std::vector<std::int64_t> values(random() % 9);
    for (std::int64_t& value : values) value = static_cast<int>(random() % 15) % span - span / 2;
    IntegerRange joined = IntegerRange::none();
    for (std::size_t begin = 0; begin < values.size();) {
      const std::size_t end = begin + 1 + random() % (values.size() - begin);
      joined.join(range_of({values.begin() + static_cast<std::ptrdiff_t>(begin),
                            values.begin() + static_cast<std::ptrdiff_t>(end)}));
      begin = end;
    }
    const std::set<std::int64_t> sorted(values.begin(), values.end());
    for (const IntegerRange& range : {range_of(values), joined}) {
      if (sorted.empty()) {
        EXPECT_GT(range.lowest, range.highest);
        continue;
      }
      EXPECT_EQ(range.lowest, *sorted.begin());
      EXPECT_EQ(range.highest, *sorted.rbegin());
      if (sorted.size() == 1) {
        EXPECT_GT(range.next_lowest, range.next_highest);
        continue;
      }
      EXPECT_EQ(range.next_lowest, *std::next(sorted.begin()));
      EXPECT_EQ(range.next_highest, *std::next(sorted.rbegin()));
    }
  }
}

/// What holds of a range holds of each integer; an exception at either end is no obstacle.
TEST(IntegerRange, SaysWhetherBoundsHold) {
  std::mt19937 random(5);
  int held = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::int64_t> values(random() % 5);
    for (std::int64_t& value : values) value = static_cast<int>(random() % 9) - 4;
    ops::IndexBound bound{.lowest = static_cast<int>(random() % 5) - 4,
                          .end = static_cast<int>(random() % 6)};
    if (random() % 2 == 0) bound.except = static_cast<int>(random() % 13) - 6;
    const bool all = std::all_of(values.begin(), values.end(), [&](std::int64_t value) {
      return value == bound.except || (value >= bound.lowest && value < bound.end);
    });
    EXPECT_EQ(ops::holds(bound, range_of(values)), all);
    held += all ? 1 : 0;
  }
  EXPECT_GT(held, 500);
}

std::optional<IntegerRange> noted(const Tensor& tensor) {
  const Pin pin(tensor.body("test", Site::current()), "test", Site::current());
  return noted_integers(pin);
}

TEST(IntegerNotes, AreOfOneTensor) {
  const Tensor x = tensor({3, 1, 2});
  const Tensor y = tensor({3, 1, 2});
  EXPECT_FALSE(noted(x).has_value());
  note_integers(x.body("test", Site::current()), *seen_integers(x));
  EXPECT_EQ(noted(x)->highest, 3);
  EXPECT_FALSE(noted(y).has_value());
  EXPECT_FALSE(noted(x + 1).has_value());
}

TEST(IntegerNotes, AreNotOfWhatAVariableHoldsLater) {
  const Variable v(tensor({3, 1, 2}));
  {
    const Tensor value = v.value();
    note_integers(value.body("test", Site::current()), *seen_integers(value));
    EXPECT_TRUE(noted(value).has_value());
  }
  v.assign(tensor({7, 8, 9}));
  EXPECT_FALSE(noted(v.value()).has_value());
}

TEST(IntegerNotes, AreOfIndicesThatCanBeSeen) {
  EXPECT_FALSE(seen_integers(ones({3})).has_value());
  EXPECT_FALSE(seen_integers(transpose(zeros({3, 2}, int64))).has_value());
  EXPECT_FALSE(seen_integers(zeros({3}, int8)).has_value());
  EXPECT_EQ(seen_integers(full({3}, 7, int32))->lowest, 7);
  EXPECT_GT(seen_integers(zeros({0}, int64))->lowest, 0);
}

TEST(IntegerNotes, AreOfIntegersThatBeginAnywhere) {
  const std::int64_t values[] = {-5, 3};
  std::array<std::byte, 1 + sizeof values> bytes{};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  const std::optional<IntegerRange> range = seen_integers(bytes.data() + 1, int64, 2);
  EXPECT_EQ(range->lowest, -5);
  EXPECT_EQ(range->highest, 3);
}

}  // namespace
}  // namespace tenure
