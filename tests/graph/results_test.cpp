#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "tenure/tenure.h"
#include "tests/support/put.h"
#include "tests/support/random_program.h"
#include "tests/support/share.h"

// What a run gives is the caller's alone, what a graph was given stays, and what is assigned is
// assigned once.

namespace tenure {
namespace {

using test::data_of;
using test::put;
using Pair = std::pair<Tensor, Tensor>;

/// Writes to one and disposes the other; each must see nothing of that.
void expect_apart(const Tensor& a, const Tensor& b) {
  EXPECT_NE(a.id(), b.id());
  const float before = b.to_vector<float>()[0];
  put<float>(a, 0, before + 77);
  EXPECT_EQ(b.to_vector<float>()[0], before);
  const float kept = a.to_vector<float>()[0];
  b.dispose();
  ASSERT_FALSE(a.is_disposed());
  EXPECT_EQ(a.to_vector<float>()[0], kept);
}

TEST(Results, AreTensorsOfTheirOwn) {
  const Tensor x = ones({4});
  const auto zeros_twice = function([](const Tensor& t) {
    static_cast<void>(t);
    return Pair(zeros({4}), zeros({4}));
  });
  const auto sums = function([](const Tensor& t) { return Pair(t + 1, t + 1); });
  const auto one_twice = function([](const Tensor& t) {
    const Tensor y = t * 2;
    return Pair(y, y);
  });
  const auto views = function([](const Tensor& t) {
    const Tensor y = t * 2;
    return Pair(reshape(y, {2, 2}), y);
  });
  const auto undone = function([](const Tensor& t) {
    const Tensor y = tanh(t);
    return Pair(y, reshape(reshape(y, {2, 2}), {4}));
  });
  const auto saved = function([](const Tensor& t) { return Pair(tanh(t), tanh(t)); });
  for (const auto& [a, b] :
       {zeros_twice(x), sums(x), one_twice(x), views(x), undone(x), saved(x)}) {
    expect_apart(a, b);
  }
  GradientTape tape;
  tape.watch(x);
  const auto [a, b] = saved(x);
  expect_apart(a, b);
}

TEST(Results, UnderNestedTapesToo) {
  const Tensor x = ones({4});
  const auto twice = function([](const Tensor& t) {
    const Tensor y = tanh(t);
    return std::vector<Tensor>{y, y, t, reshape(t, {2, 2})};
  });
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner({.persistent = true});
  inner.watch(x);
  const std::vector<Tensor> results = twice(x);
  std::set<const void*> places{data_of(x)};
  for (const Tensor& result : results) EXPECT_TRUE(places.insert(data_of(result)).second);
  for (const Tensor& result : results) {
    const float slope = inner.gradient(sum(result), x).to_vector<float>()[0];
    EXPECT_EQ(slope, outer.gradient(sum(result), x).to_vector<float>()[0]);
    EXPECT_NE(slope, 0);
  }
}

TEST(Results, AreNoArgumentsCapturesOrVariables) {
  const Tensor captured = ones({4});
  const Variable v(ones({4}), "v");
  const auto same = function([](const Tensor& t) { return t; });
  const auto found = function([&](const Tensor& t) {
    static_cast<void>(t);
    return captured;
  });
  const auto assigned = function([&](const Tensor& t) {
    const Tensor y = t * 3;
    v.assign(y);
    return y;
  });
  const auto held = function([&](const Tensor& t) {
    static_cast<void>(t);
    return v.value();
  });
  const Tensor x = ones({4});
  expect_apart(same(x), ones({4}));
  const Tensor given = same(x);
  put<float>(given, 0, 9);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
  const Tensor got = found(x);
  put<float>(got, 0, 9);
  EXPECT_EQ(captured.to_vector<float>()[0], 1);
  const Tensor y = assigned(x);
  put<float>(y, 0, 9);
  EXPECT_EQ(v.value().to_vector<float>()[0], 3);
  const Tensor z = held(x);
  put<float>(z, 0, 9);
  EXPECT_EQ(v.value().to_vector<float>()[0], 3);
}

TEST(Results, OfASessionToo) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {4});
  const Tensor a = x * 2;
  const Variable v(ones({4}), "v");
  const Tensor next = graph.assign(v, a);
  Session session(graph);
  const std::vector<Feed> feeds{{x, ones({4})}};
  const auto plan = session.plan({a, a}, feeds);
  const MemoryRegion region;
  const std::vector<Tensor> twice = session.run({a, a}, feeds);
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  expect_apart(twice[0], twice[1]);
  const std::vector<Tensor> fed = session.run({x, x}, feeds);
  expect_apart(fed[0], fed[1]);
  EXPECT_EQ(feeds[0].value.to_vector<float>()[0], 1);
  const std::vector<Tensor> both = session.run({a, next}, feeds);
  const Tensor held = v.value();
  expect_apart(both[0], held);
  // An assignment that is fetched gives what value() gives.
  session.run({next, next}, feeds)[0].dispose();
  EXPECT_EQ(v.value().to_vector<float>()[0], 2);
}

TEST(Results, ShareNothingOnRandomPrograms) {
  for (int seed = 0; seed < test::rounds(300); ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    const auto f = function([&](const std::vector<Tensor>& x) {
      std::vector<Tensor> all = program(x);
      for (const Tensor& again : program(x)) all.push_back(again);
      all.push_back(all[0]);
      all.push_back(x[0]);
      return all;
    });
    const Plan plan = f.plan(program.inputs());
    const MemoryRegion region;
    const std::vector<Tensor> results = f(program.inputs());
    ASSERT_EQ(region.peak_bytes(), plan.peak) << seed;
    std::set<const void*> places;
    for (const Tensor& input : program.inputs()) places.insert(data_of(input));
    for (const Tensor& result : results) {
      if (result.size() == 0) continue;
      ASSERT_TRUE(places.insert(data_of(result)).second) << seed;
    }
  }
}

TEST(Constants, AreWhatTheyWereWhenTheyWereGiven) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {2});
  const Tensor buffer = zeros({2});
  std::vector<Tensor> sums;
  for (int i = 0; i < 3; ++i) {
    put<float>(buffer, 0, static_cast<float>(i));
    sums.push_back(x + buffer);
  }
  const Tensor equal = zeros({2});
  const Tensor one = x * equal;
  const Tensor other = x * zeros({2});
  put<float>(equal, 0, 5);
  const Tensor view = transpose(reshape(buffer, {1, 2}));
  const Tensor viewed = x + reshape(view, {2});
  put<float>(buffer, 0, 100);
  buffer.dispose();
  Session session(graph);
  sums.insert(sums.end(), {one, other, viewed});
  const auto results = session.run(sums, {{x, ones({2})}});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].to_vector<float>()[0], 1 + static_cast<float>(i));
  }
  EXPECT_EQ(results[3].to_vector<float>()[0], 0);
  EXPECT_EQ(results[4].to_vector<float>()[0], 0);
  EXPECT_EQ(results[5].to_vector<float>()[0], 3);
  EXPECT_EQ(graph.bytes(), 3 * 8);
}

TEST(Constants, OfMemoryOfTheCallersOwn) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {2});
  std::vector<float> memory{1, 2};
  const Tensor y = x + test::borrow(memory, [](void*) {});
  memory = {7, 8};
  Session session(graph);
  EXPECT_EQ(session.run(y, {{x, zeros({2})}}).to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Assignments, TwoToOneVariableInOneRunAreRefused) {
  Graph graph;
  const Variable v(zeros({1}), "v");
  const Tensor one = graph.assign(v, graph.read(v) + 1);
  const Tensor ten = graph.assign(v, graph.read(v) + 10);
  Session session(graph);
  try {
    static_cast<void>(session.run({one, ten}));
    FAIL();
  } catch (const GraphError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("variable \"v\""), std::string::npos) << text;
    EXPECT_NE(text.find("results_test.cpp"), std::string::npos) << text;
  }
  EXPECT_THROW(static_cast<void>(session.plan({one, ten})), GraphError);
  EXPECT_EQ(v.value().item<float>(), 0);
  static_cast<void>(session.run({one, one}));
  EXPECT_EQ(v.value().item<float>(), 1);
  static_cast<void>(session.run(ten));
  EXPECT_EQ(v.value().item<float>(), 11);
}

class OwnError : public std::runtime_error {
 public:
  OwnError() : std::runtime_error("mine"), code(7) {}
  int code;
};

struct NoException {
  int code = 3;
};

/// What it infers cannot be: a typed error wherever it is called, not a look behind the results.
TEST(CustomOp, WithoutAnOutputIsAnError) {
  ops::OpRecord record;
  record.name = "without_output";
  record.signature = "f(x)";
  record.doc = "infers nothing";
  record.dtypes = ops::kFloatTypes;
  record.infer = [](const ops::Kernel&) { return ops::Specs{}; };
  record.samples = [] { return std::vector<ops::Sample>{{.inputs = {{.shape = {2}}}}}; };
  const CustomOp none = define_op(record, {.run = [](const ops::Kernel&) {}});
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {2});
  EXPECT_THROW(static_cast<void>(none(ones({2}))), ValueError);
  EXPECT_THROW(static_cast<void>(none(x)), ValueError);
  const auto f = function([&](const Tensor& t) { return none(t); });
  EXPECT_THROW(static_cast<void>(f(ones({2}))), ValueError);
  record.name = "with_nine_outputs";
  record.infer = [](const ops::Kernel& k) {
    return ops::Specs(std::vector<ops::Spec>(9, {k.in[0].dtype, k.in[0].shape}));
  };
  const CustomOp many = define_op(record, {.run = [](const ops::Kernel&) {}});
  EXPECT_THROW(static_cast<void>(many(ones({2}))), ValueError);
  for (const std::int64_t size : {-1, -7}) {
    static std::int64_t inferred = 0;
    inferred = size;
    record.name = size == -1 ? "of_unknown_size" : "of_negative_size";
    record.infer = [](const ops::Kernel& k) {
      return ops::Specs{{k.in[0].dtype, Shape{inferred}}};
    };
    const CustomOp wrong = define_op(record, {.run = [](const ops::Kernel&) {}});
    EXPECT_THROW(static_cast<void>(wrong(ones({2}))), ShapeError);
    EXPECT_THROW(static_cast<void>(wrong(x)), ShapeError);
    const auto g = function([&](const Tensor& t) { return wrong(t); });
    EXPECT_THROW(static_cast<void>(g(ones({2}))), ShapeError);
  }
}

CustomOp throwing(const char* name, void (*run)(const ops::Kernel&)) {
  return define_op(
      {.name = name,
       .signature = "f(x)",
       .doc = "throws",
       .memory = ops::allocates(),
       .dtypes = ops::kFloatTypes,
       .infer =
           [](const ops::Kernel& k) {
             return ops::Specs{{k.in[0].dtype, k.in[0].shape}};
           },
       .samples = [] { return std::vector<ops::Sample>{{.inputs = {{.shape = {2}}}}}; }},
      {.run = run});
}

TEST(Failures, OfACustomOpKeepTheirType) {
  const CustomOp own = throwing("throws_its_own", [](const ops::Kernel&) { throw OwnError(); });
  const CustomOp odd = throwing("throws_anything", [](const ops::Kernel&) { throw NoException(); });
  const CustomOp ours =
      throwing("throws_ours", [](const ops::Kernel&) { throw ValueError("not so"); });
  const Tensor x = ones({2});
  const auto f = function([&](const Tensor& t) { return own(t) * 2; });
  try {
    static_cast<void>(f(x));
    FAIL();
  } catch (const OwnError& error) {
    EXPECT_EQ(error.code, 7);
    EXPECT_STREQ(error.what(), "mine");
  }
  const auto g = function([&](const Tensor& t) { return odd(t); });
  EXPECT_THROW(static_cast<void>(g(x)), NoException);
  Graph graph;
  const Tensor s = graph.placeholder("s", float32, {2});
  const Tensor y = own(s);
  Session session(graph);
  EXPECT_THROW(static_cast<void>(session.run(y, {{s, x}})), OwnError);
  const auto h = function([&](const Tensor& t) { return ours(t); });
  try {
    static_cast<void>(h(x));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("in throws_ours"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenure
