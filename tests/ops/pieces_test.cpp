#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tenure/ops/core/record.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

TEST(Subscript, IsAViewOfAnElementAlongTheFirstAxis) {
  const Tensor x = reshape(arange(6), {2, 3});
  const std::int64_t bytes = memory().bytes;
  expect_elements<std::int64_t>(x[1], {3}, {3, 4, 5});
  expect_elements<std::int64_t>(x[-1][0], {}, {3});
  EXPECT_EQ(memory().bytes, bytes);
  const Tensor row = x[0];
  EXPECT_EQ(holders(x).size(), 2u);
  expect_throws<IndexError>([&] { x[2]; }, {"index 2", "size 2", "pieces_test.cpp"});
  EXPECT_THROW(row[0][0], IndexError) << "a tensor without axes has no elements along one";
}

TEST(Subscript, HasAGradient) {
  const Tensor x = ones({3, 2});
  GradientTape tape;
  tape.watch(x);
  expect_elements<float>(tape.gradient(sum(x[1] * 2), x), {3, 2}, {0, 0, 2, 2, 0, 0});
}

TEST(Shape, OfOneDimensionIsANumber) {
  expect_elements<float>(ones(3), {3}, {1, 1, 1});
  EXPECT_EQ(zeros(0).shape(), Shape({0}));
  EXPECT_EQ(reshape(ones({2, 2}), -1).shape(), Shape({4}));
  EXPECT_THROW(ones(-1), ShapeError);
}

TEST(Unbind, GivesTheElementsAlongAnAxis) {
  Tensor x = reshape(arange(6), {2, 3});
  std::int64_t total = 0;
  for (const Tensor& row : unbind(x)) total = total * 100 + sum(row).item<std::int64_t>();
  EXPECT_EQ(total, 312);
  const std::vector<Tensor> columns = unbind(x, -1);
  ASSERT_EQ(columns.size(), 3u);
  expect_elements<std::int64_t>(columns[2], {2}, {2, 5});
  EXPECT_EQ(columns[0].op(), "unbind");
  EXPECT_TRUE(unbind(zeros({0, 2})).empty());
  EXPECT_THROW(unbind(x, 2), IndexError);
  unbind(std::move(x));
  EXPECT_FALSE(x.defined());
}

TEST(Chunk, CutsAsEvenlyAsOneSizeCan) {
  const auto sizes = [](std::int64_t n, std::int64_t pieces) {
    std::vector<std::int64_t> list;
    for (const Tensor& piece : chunk(zeros({n}), pieces)) list.push_back(piece.size());
    return list;
  };
  using Ints = std::vector<std::int64_t>;
  // What torch gives.
  EXPECT_EQ(sizes(6, 3), (Ints{2, 2, 2}));
  EXPECT_EQ(sizes(7, 3), (Ints{3, 3, 1}));
  EXPECT_EQ(sizes(5, 4), (Ints{2, 2, 1}));
  EXPECT_EQ(sizes(2, 5), (Ints{1, 1}));
  EXPECT_THROW(chunk(zeros({2}), 0), ValueError);
}

TEST(Pieces, OfUnknownNumberAreRefusedInGraphs) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {kUnknown, 3});
  EXPECT_THROW(unbind(x), GraphError);
  EXPECT_THROW(chunk(x, 2), GraphError);
  EXPECT_EQ(unbind(x, 1).size(), 3u);
}

TEST(Pieces, HaveRecords) {
  for (const char* name : {"chunk", "unbind", "meshgrid", "multinomial"}) {
    ASSERT_NE(ops::find_op(name), nullptr) << name;
  }
  const Tensor x = uniform({4, 2});
  EXPECT_EQ(chunk(x, 2)[1].op(), "chunk");
  EXPECT_EQ(meshgrid({x[0], x[1]})[1].op(), "meshgrid");
  EXPECT_EQ(multinomial(x, 1).op(), "multinomial");
}

TEST(Meshgrid, TakesVectorsWhoseSizesARunKnows) {
  Graph graph;
  const Tensor a = graph.placeholder("a", float32, {kUnknown});
  const Tensor b = graph.placeholder("b", float32, {2});
  const std::vector<Tensor> grids = meshgrid({a, b}, "xy");
  EXPECT_EQ(grids[0].shape(), Shape({2, kUnknown}));
  Session session(graph);
  const auto got = session.run(grids, {{a, tensor({1.0, 2.0, 3.0})}, {b, tensor({4.0, 5.0})}});
  expect_elements<float>(got[0], {2, 3}, {1, 2, 3, 1, 2, 3});
  expect_elements<float>(got[1], {2, 3}, {4, 4, 4, 5, 5, 5});
}

TEST(Meshgrid, GivesEachVectorItsOwnGradient) {
  const Tensor a = tensor({1.0, 2.0, 3.0});
  const Tensor b = tensor({4.0, 5.0});
  const std::int64_t bytes = memory().bytes;
  GradientTape tape;
  tape.watch({a, b});
  const std::vector<Tensor> grids = meshgrid({a, b});
  EXPECT_EQ(memory().bytes, bytes) << "views";
  const std::vector<Tensor> found = tape.gradient(sum(grids[0] * 2 + grids[1]), {a, b});
  expect_elements<float>(found[0], {3}, {4, 4, 4});
  expect_elements<float>(found[1], {2}, {3, 3});
}

TEST(Unfold, IsAView) {
  const Tensor x = arange(5);
  const std::int64_t bytes = memory().bytes;
  const Tensor windows = unfold(x, 0, 3);
  EXPECT_EQ(memory().bytes, bytes);
  expect_elements<std::int64_t>(windows, {3, 3}, {0, 1, 2, 1, 2, 3, 2, 3, 4});
  // Elements that are there twice are never computed in.
  Tensor moved = unfold(x, 0, 2, 2);
  expect_elements<std::int64_t>(std::move(moved) + 1, {2, 2}, {1, 2, 3, 4});
  expect_elements<std::int64_t>(x, {5}, {0, 1, 2, 3, 4});
  EXPECT_EQ((unfold(arange(5), 0, 3) + 1).to_vector<std::int64_t>()[8], 5);
  EXPECT_THROW(unfold(x, 0, 6), ShapeError);
  EXPECT_THROW(unfold(x, 0, 0), ValueError);
  EXPECT_THROW(unfold(x, 0, 1, 0), ValueError);
}

TEST(PixelShuffle, RefusesWhatDoesNotDivide) {
  EXPECT_THROW(pixel_shuffle(zeros({1, 3, 2, 2}), 2), ShapeError);
  EXPECT_THROW(pixel_unshuffle(zeros({1, 3, 3, 2}), 2), ShapeError);
  EXPECT_THROW(pixel_shuffle(zeros({4, 2}), 2), ShapeError);
  EXPECT_THROW(pixel_shuffle(zeros({1, 4, 2, 2}), 0), ValueError);
  const Tensor x = uniform({2, 4, 3, 5});
  EXPECT_TRUE(array_equal(pixel_unshuffle(pixel_shuffle(x, 2), 2), x).item<bool>());
}

TEST(VariableAsAnOperand, IsWhatItHolds) {
  const Variable w(tensor({-1.0, 2.0}), "w");
  const std::int64_t live = memory().tensors;
  expect_elements<float>(relu(w), {2}, {0, 2});
  expect_elements<float>(w * 2 + w, {2}, {-3, 6});
  expect_elements<float>(concat({w, w}), {4}, {-1, 2, -1, 2});
  EXPECT_EQ(memory().tensors, live) << "no handle stays behind";
  expect_elements<float>(w.value(), {2}, {-1, 2});
  w.dispose();
  expect_throws<DisposedError>([&] { relu(w); }, {"pieces_test.cpp"});
}

TEST(VariableAsAnOperand, IsSeenByTapesAndTraces) {
  const Variable w(tensor({3.0}), "w");
  GradientTape tape;
  expect_elements<float>(tape.gradient(sum(square(w)), w), {1}, {6});
  const auto f = function([&](const Tensor& x) { return x * w; });
  expect_elements<float>(f(ones({1})), {1}, {3});
  w.assign(tensor({4.0}));
  expect_elements<float>(f(ones({1})), {1}, {4});
}

TEST(Multinomial, DrawsInProportionToTheWeights) {
  const Tensor weights = tensor({1.0, 0.0, 3.0});
  Generator generator(7);
  const Tensor drawn = multinomial(weights, 20000, true, &generator);
  EXPECT_EQ(drawn.dtype(), int64);
  const auto counts = bincount(drawn, 3).to_vector<std::int64_t>();
  EXPECT_NEAR(static_cast<double>(counts[0]), 5000, 250);
  EXPECT_EQ(counts[1], 0);
  const Tensor rows = multinomial(broadcast_to(weights, {20000, 3}), 2, false, &generator);
  const Tensor first = slice(rows, 1, 0, 1);
  EXPECT_NEAR(static_cast<double>(sum(equal(first, 0)).item<std::int64_t>()), 5000, 250);
  EXPECT_FALSE(any(equal(first, slice(rows, 1, 1))).item<bool>()) << "none twice";
  EXPECT_FALSE(any(equal(rows, 1)).item<bool>()) << "two others have weights";
}

TEST(Multinomial, RepeatsWithItsGeneratorAndRefusesWhatIsNotThere) {
  const Tensor weights = uniform({4, 5});
  Generator a(3);
  Generator b(3);
  EXPECT_TRUE(array_equal(multinomial(weights, 3, false, &a), multinomial(weights, 3, false, &b))
                  .item<bool>());
  EXPECT_EQ(multinomial(weights, 0).shape(), Shape({4, 0}));
  expect_throws<ValueError>([&] { multinomial(weights, 6); }, {"multinomial", "6 of 5"});
  EXPECT_EQ(multinomial(weights, 6, true).shape(), Shape({4, 6}));
  EXPECT_THROW(multinomial(weights, -1), ValueError);
  EXPECT_THROW(multinomial(tensor({1, 2}), 1), DTypeError);
  EXPECT_THROW(multinomial(1.0, 1), ShapeError);
}

TEST(Multinomial, RefusesWhatIsNoWeightInEveryMode) {
  const float nan = std::nanf("");
  const auto compiled = function([](const Tensor& w) { return multinomial(w, 2, false); });
  const auto replacing = function([](const Tensor& w) { return multinomial(w, 2, true); });
  for (const float wrong : {-1.0F, nan, std::numeric_limits<float>::infinity()}) {
    const Tensor weights = tensor(std::vector<float>{1, 2, wrong, 4}, {2, 2});
    expect_throws<ValueError>([&] { multinomial(weights, 2); }, {"multinomial: weight ", "[1, 0]"});
    expect_throws<ValueError>([&] { multinomial(weights, 2, true); }, {"multinomial: weight "});
    expect_throws<ValueError>([&] { compiled(weights); }, {"multinomial: weight "});
    expect_throws<ValueError>([&] { replacing(weights); }, {"multinomial: weight "});
  }
  const Tensor none = zeros({1, 3});
  const Tensor one = tensor({{0.0, 1.0, 0.0}}, float32);
  for (const Tensor& weights : {none, one}) {
    expect_throws<ValueError>([&] { multinomial(weights, 2); }, {"the number of weights above 0"});
    expect_throws<ValueError>([&] { compiled(weights); }, {"the number of weights above 0"});
  }
  expect_throws<ValueError>([&] { replacing(none); }, {"the number of weights above 0"});
  EXPECT_EQ(replacing(one).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(multinomial(none, 0).shape(), Shape({1, 0}));
}

TEST(Within, NamesTheElementThatItRefuses) {
  const Tensor x = tensor({{1.0, -2.0}, {3.0, 4.0}}, float32);
  EXPECT_TRUE(array_equal(within(x, -2, 4), x).item<bool>());
  expect_throws<ValueError>([&] { within(x, -1, 4); }, {"within: -2 at [0, 1] is not in [-1, 4]"});
  expect_throws<ValueError>([&] { within(permute(x, {1, 0}), -1, 4); }, {"-2 at [1, 0]"});
  const auto f = function([](const Tensor& v) { return within(v * 2.0, -4, 8) + 1.0; });
  EXPECT_EQ(f(x).to_vector<float>(), (std::vector<float>{3, -3, 7, 9}));
  expect_throws<ValueError>([&] { f(x * 2.0); }, {"within: -8 at [0, 1]"});
}

}  // namespace
}  // namespace tenure
