#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tenure/base/user_site.h"
#include "tenure/memory/threads/call.h"
#include "tenure/tenure.h"
#include "tests/support/error_site.h"

// What a public call throws names the call and its line.

namespace tenure {
namespace {

using test::expect_error;

TEST(ErrorSite, OfOps) {
  const Tensor x = ones({2, 3});
  const std::uint_least32_t here = __LINE__;
  expect_error<ShapeError>("add", here + 1, [&] { x + ones({4}); });
  expect_error<ShapeError>("matmul", here + 2, [&] { matmul(x, x); });
  expect_error<ShapeError>("matmul", here + 3, [&] { matmul(x, 2); });
  expect_error<DTypeError>("softmax", here + 4, [&] { softmax(arange(3)); });
  expect_error<IndexError>("select", here + 5, [&] { select(x, 0, 2); });
  expect_error<IndexError>("sum", here + 6, [&] { sum(x, {2}); });
  expect_error<IndexError>("take", here + 7, [&] { take(arange(4), tensor({0, 7})); });
  expect_error<ValueError>("add", here + 8, [&] { tensor({200}, DType::uint8) + 300; });
  expect_error<ValueError>("arange", here + 9, [&] { arange(0, 5, 0); });
  expect_error<ShapeError>("zeros", here + 10, [&] { zeros({-1}); });
  expect_error<ShapeError>("reshape", here + 11, [&] { reshape(x, {4, -1}); });
  expect_error<DTypeError>("var", here + 12, [&] { var(arange(3)); });
}

TEST(ErrorSite, OfFunctionsThatCallSeveralOps) {
  const Tensor x = ones({2, 3});
  const std::uint_least32_t here = __LINE__;
  expect_error<IndexError>("concat", here + 1, [&] { concat({x, x}, 7); });
  expect_error<ShapeError>("concat", here + 2, [&] { concat({x, ones({2, 2, 2})}); });
  expect_error<ValueError>("stack", here + 3, [&] { stack({1, 2}); });
  expect_error<ShapeError>("split", here + 4, [&] { split(x, {1, 5}, 1); });
  expect_error<ValueError>("split", here + 5, [&] { split(x, 0, 1); });
  expect_error<IndexError>("index", here + 6, [&] { index(x, {5}); });
  expect_error<ShapeError>("conv2d", here + 7, [&] { conv2d(x, x); });
  expect_error<ShapeError>("max_pool2d", here + 8, [&] { max_pool2d(x, 2); });
  expect_error<ShapeError>("group_norm", here + 9, [&] { group_norm(x, 2, x, x); });
  expect_error<ShapeError>("batch_norm", here + 10, [&] { batch_norm(x, ones({2}), ones({2})); });
  expect_error<ShapeError>("lstm", here + 11, [&] { lstm(x, x, x, x); });
  expect_error<ShapeError>("dropout", here + 12, [&] { dropout(1, 0.5); });
  expect_error<ValueError>("einsum", here + 13, [&] { einsum("i-j", {x}); });
  expect_error<ShapeError>("tensor", here + 14, [&] { tensor({{1, 2}, {3}}); });
  expect_error<ShapeError>("empty", here + 15, [&] { empty({-2}); });
  expect_error<ValueError>("from_memory", here + 17,
                           [&] { from_memory(nullptr, {2}, float32, 8, {}); });
}

TEST(ErrorSite, OfTensorsThemselves) {
  const Tensor x = ones({2, 3});
  const std::uint_least32_t here = __LINE__;
  expect_error<ShapeError>("item()", here + 1, [&] { x.item<float>(); });
  expect_error<IndexError>("dim()", here + 2, [&] { x.dim(4); });
  expect_error<DTypeError>("span()", here + 3, [&] { x.span<double>(); });
  const Tensor columns = transpose(x);
  expect_error<ShapeError>("mutable_span()", here + 5, [&] { columns.mutable_span<float>(); });
}

TEST(ErrorSite, OfTooManyDimensions) {
  const Tensor x = ones({1, 1, 1, 1, 1, 1, 1, 1});
  const std::uint_least32_t here = __LINE__;
  expect_error<ShapeError>("expand_dims", here + 1, [&] { expand_dims(x, 0); });
  expect_error<ShapeError>("stack", here + 2, [&] { stack({x, x}); });
}

TEST(ErrorSite, OfAListOfTooManySizesIsTheList) {
  const Tensor x = ones({2, 3});
  const std::vector<std::int64_t> nine(9, 1);
  const std::uint_least32_t here = __LINE__;
  expect_error<ShapeError>("rank 9", here + 1, [&] { ones({1, 1, 1, 1, 1, 1, 1, 1, 1}); });
  expect_error<ShapeError>("rank 9", here + 2, [&] { zeros(nine); });
  expect_error<ShapeError>("rank 9", here + 3, [&] { reshape(x, {1, 1, 1, 1, 1, 1, 1, 1, 6}); });
  expect_error<ShapeError>("rank 9", here + 4, [&] { sum(x, {0, 1, 2, 3, 4, 5, 6, 7, 8}); });
  expect_error<ShapeError>("rank 9", here + 5, [&] { flip(x, nine); });
  expect_error<ShapeError>("rank 10", here + 6, [&] { tile(x, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); });
}

TEST(ErrorSite, OfAnEmptyListIsTheList) {
  const std::vector<Tensor> none;
  const std::uint_least32_t here = __LINE__;
  expect_error<ValueError>("concat", here + 1, [&] { concat({}); });
  expect_error<ValueError>("stack", here + 2, [&] { stack({}); });
  expect_error<ValueError>("einsum", here + 3, [&] { einsum("ij->ji", {}); });
  expect_error<ValueError>("concat", here + 4, [&] { concat(none); });
  expect_error<ValueError>("stack", here + 5, [&] { stack(none); });
}

TEST(ErrorSite, OfRandomNumbers) {
  const std::uint_least32_t here = __LINE__;
  expect_error<ShapeError>("uniform", here + 1, [&] { uniform({-1}); });
  expect_error<ShapeError>("normal", here + 2, [&] { normal({2, -1}); });
  expect_error<ValueError>("permutation", here + 3, [&] { permutation(-1); });
  expect_error<ValueError>("randint", here + 4, [&] { randint(5, 2, {3}); });
}

TEST(ErrorSite, OfVariablesFunctionsAndGuards) {
  const Variable v(ones({2}), "v");
  const auto f = function([](const Tensor& x) { return x + 1; });
  const std::uint_least32_t made = __LINE__ - 1;
  Graph graph;
  const std::uint_least32_t here = __LINE__;
  expect_error<ShapeError>("add", here + 1, [&] { v.assign_add(ones({3})); });
  expect_error<ShapeError>("sub", here + 2, [&] { v.assign_sub(ones({3})); });
  expect_error<EmptyTensorError>("variable", here + 3, [&] { Variable(Tensor(), "w"); });
  expect_error<EmptyTensorError>("plan", made, [&] { f.plan(Tensor()); });
  expect_error<ShapeError>("placeholder", here + 5, [&] { graph.placeholder("x", float32, {-5}); });
  expect_error<ValueError>("LeakGuard", here + 6, [&] { LeakGuard("a", {.warm_up = -1}); });
}

TEST(ErrorSite, IsNotWhatTheTextOfAnErrorQuotes) {
  ValueError error("they met\n  at noon, at the door at work.cpp:7");
  EXPECT_FALSE(error.has_place());
  error.add_line("and at night");
  EXPECT_TRUE(mem::name_call(error, "meet", Site::current()));
  const std::string line = "error_site_test.cpp:" + std::to_string(__LINE__ - 1);
  EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  EXPECT_TRUE(error.has_place());
  EXPECT_FALSE(mem::name_call(error, "further out", Site::current()));
  EXPECT_TRUE(GraphError("it", Site::current()).has_place());
}

TEST(ErrorSite, OfMissingMemoryIsTheOpThatAskedForIt) {
  const Budget budget("request", 1 * MiB);
  const Tensor x = ones({200, 1000});
  const std::uint_least32_t here = __LINE__;
  expect_error<OutOfMemory>("mul", here + 1, [&] { x * 2; });
  expect_error<OutOfMemory>("ones", here + 2, [&] { ones({1000, 1000}); });
  expect_error<OutOfMemory>("tensor", here + 3, [&] { tensor(std::vector<float>(1000000)); });
}

TEST(ErrorSite, TellsWhereOperandsWereMade) {
  const Tensor x = ones({2, 3});
  Tensor w = ones({4});
  w.set_name("w");
  try {
    x + w;
    FAIL();
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    const std::string line = "error_site_test.cpp:" + std::to_string(__LINE__ - 8);
    EXPECT_NE(text.find("input 0 is float32[2, 3], made by ones at " + line), std::string::npos)
        << text;
    EXPECT_NE(text.find("input 1 is float32[4] \"w\", made by ones at"), std::string::npos) << text;
  }
}

TEST(ErrorSite, TellsTheScope) {
  const NameScope outer("encoder");
  const NameScope inner("layer 2");
  try {
    ones({2, 3}) + ones({4});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("in scope encoder/layer 2"), std::string::npos);
  }
}

TEST(ErrorSite, InARunIsTheLineThatRecordedTheOp) {
  Graph graph;
  const Tensor places = graph.placeholder("places", DType::int64, {2});
  const Tensor taken = take(arange(4), places);
  const std::uint_least32_t line = __LINE__ - 1;
  Session session(graph);
  expect_error<IndexError>("take", line, [&] { session.run(taken, {{places, tensor({0, 7})}}); });
  const auto f = function([](const Tensor& i) { return take(arange(4), i); });
  expect_error<IndexError>("take", __LINE__ - 1, [&] { f(tensor({0, 7})); });
}

TEST(ErrorSite, OfWrongFeedsIsTheRun) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float32, {2});
  const Tensor y = x + 1;
  Session session(graph);
  try {
    session.run(y, {{x, ones({3})}});
    FAIL();
  } catch (const ShapeError& error) {
    const std::string line = "error_site_test.cpp:" + std::to_string(__LINE__ - 3);
    EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  }
}

// The standard library calls on the user's behalf.

TEST(ErrorSite, IsNeverInTheStandardLibrary) {
  const std::vector<Tensor> tensors{ones({2}), ones({3})};
  try {
    const Scope scope;
    std::accumulate(tensors.begin(), tensors.end(), zeros({2}));
    FAIL();
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("stl_numeric.h"), std::string::npos) << text;
    const std::string begun = "error_site_test.cpp:" + std::to_string(__LINE__ - 6);
    EXPECT_NE(text.find("scope that began at " + begun), std::string::npos) << text;
  }
}

TEST(ErrorSite, OfWhatTheStandardLibraryMadeIsUnknown) {
  const std::vector<Tensor> tensors{ones({2}), ones({2})};
  const NameScope name("sums");
  const Tensor sum = std::accumulate(tensors.begin(), tensors.end(), zeros({2}));
  EXPECT_EQ(to_string(sum.created()).find(".h:"), std::string::npos) << to_string(sum.created());
  EXPECT_EQ(user_site(sum.created()).line(), 0u);
  EXPECT_NE(user_site(Site::current()).line(), 0u);
  sum.dispose();
  try {
    neg(sum);
    FAIL();
  } catch (const DisposedError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("stl_"), std::string::npos) << text;
    EXPECT_NE(text.find("created   (standard library) by add in scope sums"), std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace tenure
