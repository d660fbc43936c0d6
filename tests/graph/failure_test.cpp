#include <gtest/gtest.h>

#include "tenure/tenure.h"

namespace tenure {
namespace {

/// Takes from what is computed in x's place, which must not be lost if an index is wrong.
Tensor take_twice(const Tensor& x, const Tensor& table, const Tensor& first, const Tensor& second) {
  return take(x + sum(take(table, first)), second);
}

bool computes_in_x(std::int64_t table, const std::function<Tensor(Tensor)>& second) {
  const auto f = function([&](const Tensor& x, const Tensor& from, const Tensor& indices) {
    return take_twice(x, from, indices, second(indices));
  });
  const Tensor x = spec({64});
  return f.plan(donate(x), spec({table}), spec({4, 2}, DType::int64)).inputs[0].reused;
}

TEST(Failure, IndicesThatWereFoundInTheirBoundsDoNotFailAgain) {
  const auto same = [](Tensor indices) { return indices; };
  EXPECT_TRUE(computes_in_x(64, same));
  EXPECT_TRUE(computes_in_x(60, same));
  EXPECT_TRUE(computes_in_x(64, [](Tensor indices) { return flatten(indices); }));
  EXPECT_FALSE(computes_in_x(65, same)) << "64 is an index of the first and not of the second";
  EXPECT_FALSE(computes_in_x(64, [](Tensor indices) { return indices + 1; }));
}

TEST(Failure, KeepsWhatIsDonated) {
  const auto f = function([](const Tensor& x, const Tensor& table, const Tensor& indices) {
    return take_twice(x, table, indices, indices);
  });
  Tensor x = full({64}, 1.0F);
  const Tensor table = full({64}, 2.0F);
  const Tensor wrong = tensor({3, 64});
  EXPECT_THROW(f(donate(x), table, wrong), IndexError);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(64, 1.0F));
  const Tensor right = tensor({3, -64});
  EXPECT_EQ(f(donate(x), table, right).to_vector<float>(), std::vector<float>(2, 5.0F));
}

TEST(Failure, ClassesAreIndicesToo) {
  const auto f = function([](const Tensor& x, const Tensor& logits, const Tensor& classes) {
    const Tensor loss = cross_entropy(logits, classes);
    return cross_entropy(reshape(x, {8, 4}) * loss, classes);
  });
  const Tensor x = spec({32});
  EXPECT_TRUE(f.plan(donate(x), spec({8, 4}), spec({8}, DType::int64)).inputs[0].reused);
  EXPECT_FALSE(f.plan(donate(x), spec({8, 5}), spec({8}, DType::int64)).inputs[0].reused);
}

TEST(Failure, GivesBackWhatItDrew) {
  const auto f = function([](const Tensor& table, const Tensor& indices) {
    const Tensor noise = uniform({4});
    return take(table, indices) + sum(noise) + sum(normal({3}));
  });
  const Tensor table = zeros({8});
  seed(3);
  const auto expected = f(table, tensor({1})).to_vector<float>();
  const Generator::State after = default_generator().state();
  seed(3);
  EXPECT_THROW(f(table, tensor({8})), IndexError);
  EXPECT_EQ(default_generator().state(), Generator::State{.seed = 3});
  EXPECT_EQ(f(table, tensor({1})).to_vector<float>(), expected);
  EXPECT_EQ(default_generator().state(), after);
}

TEST(Failure, GivesBackWhatLoopsDrew) {
  using State = std::pair<Tensor, Tensor>;
  const auto f = function([](const Tensor& table, const Tensor& first) {
    const State end =
        while_loop([](const State& s) { return s.first < 100; },
                   [&](const State& s) {
                     const Tensor taken = take(table, reshape(s.first, {1}));
                     return State(s.first + 1, s.second + sum(uniform({5})) + sum(taken));
                   },
                   State(first, zeros({})));
    return end.second;
  });
  const Tensor table = zeros({8});
  seed(3);
  EXPECT_THROW(f(table, full({}, 5, DType::int64)), IndexError);  // in its fourth round
  EXPECT_EQ(default_generator().state(), Generator::State{.seed = 3});
  const Tensor all = zeros({100});
  f(all, full({}, 98, DType::int64));
  EXPECT_GT(default_generator().state().offset, 0u);
}

TEST(Failure, LeavesTheGeneratorToThreadsThatDrewMeanwhile) {
  Generator generator(4);
  const Generator::State first = generator.reserve(10);
  const Generator::State second = generator.reserve(5);
  EXPECT_FALSE(generator.give_back(first, 10));
  EXPECT_EQ(generator.state(), (Generator::State{.seed = 4, .offset = 15}));
  EXPECT_TRUE(generator.give_back(second, 5));
  EXPECT_TRUE(generator.give_back(first, 10));
  EXPECT_EQ(generator.state(), Generator::State{.seed = 4});
  generator.reserve(10);
  generator.seed(5);
  EXPECT_FALSE(generator.give_back(first, 10));
}

}  // namespace
}  // namespace tenure
