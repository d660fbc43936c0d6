#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

// is_sole_holder() answers one question: will an op that this is moved into compute in its memory?

namespace tenure {
namespace {

bool move_allocates(Tensor x) {
  const MemoryRegion region;
  const Tensor y = neg(std::move(x));
  return region.allocations() != 0;
}

TEST(SoleHolder, IsNotWhoHasMemoryOfTheUsers) {
  std::vector<float> memory(4);
  Tensor x = from_memory(memory.data(), {4}, DType::float32, 16, [](void*) {});
  EXPECT_FALSE(x.is_sole_holder());
  EXPECT_TRUE(move_allocates(std::move(x)));
}

TEST(SoleHolder, IsNotWhoHasAPartOfAStorage) {
  EXPECT_FALSE(slice(ones({4}), 0, 1, 3).is_sole_holder());
  EXPECT_FALSE(slice(ones({4}), 0, 0, 2).is_sole_holder());
  EXPECT_FALSE(transpose(ones({2, 3})).is_sole_holder());
  EXPECT_TRUE(reshape(ones({4}), {2, 2}).is_sole_holder());
}

class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Tensor source() {
    const Shape shape{1 + below(4), below(4) == 0 ? 1 : below(5)};
    switch (below(5)) {
      case 0:
        memory_.emplace_back(static_cast<std::size_t>(count(shape)) + 1);
        return from_memory(memory_.back().data(), shape, DType::float32,
                           static_cast<std::size_t>(count(shape)) * 4, [](void*) {});
      case 1:
        return Variable(ones(shape), "v", false).value();
      case 2:
        return broadcast_to(ones({1, shape[1]}), shape);
      case 3:
        return concat({ones(shape), ones(shape)}, 0);
      default:
        return arange(count(shape), DType::float32) + zeros({count(shape)});
    }
  }

  /// Another look at the same storage, or none.
  Tensor step(Tensor x) {
    const int rank = x.rank();
    switch (below(8)) {
      case 0:
        return reshape(x, {-1});
      case 1:
        return rank < 2 ? x : transpose(x);
      case 2:
        return rank == 0 || x.dim(0) == 0 ? x : slice(x, 0, below(2), x.dim(0));
      case 3:
        return expand_dims(x, 0);
      case 4:
        return rank == 0 ? x : flip(x, {0});
      case 5:
        held_.push_back(x);  // a second handle
        return x;
      case 6:
        held_.push_back(reshape(x, x.shape()));  // a second holder
        return x;
      default:
        held_.clear();
        return x;
    }
  }

 private:
  std::mt19937 random_;
  std::vector<std::vector<float>> memory_;
  std::vector<Tensor> held_;
};

TEST(SoleHolder, IsWhoseMoveAllocatesNothing) {
  int sole = 0;
  int others = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomTensors random(seed);
    Tensor x = random.source();
    for (int steps = random.below(6); steps > 0; --steps) x = random.step(std::move(x));
    const bool is_sole = x.is_sole_holder();
    ++(is_sole ? sole : others);
    const std::string text = to_string(x.shape()) + " by " + x.op();
    ASSERT_EQ(move_allocates(std::move(x)), !is_sole) << "seed " << seed << ": " << text;
  }
  EXPECT_GT(sole, 300);
  EXPECT_GT(others, 300);
}

}  // namespace
}  // namespace tenure
