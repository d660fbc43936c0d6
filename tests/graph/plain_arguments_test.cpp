#include "tenure/io/checkpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "tenure/graph/function.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"

// Numbers and texts among the arguments tell calls apart, whatever a program includes first: a
// number becomes a Fact where one is wanted, and is none.

namespace tenure {
namespace {

TEST(FunctionArguments, NumbersAndTextsTellCallsApart) {
  const auto f = function([](const Tensor& x, double factor, const std::string& name) {
    return mul(name == "tanh" ? tanh(x) : x, factor);
  });
  const Tensor x = ones({2});
  EXPECT_EQ(f(x, 2.0, std::string("none")).to_vector<float>()[0], 2);
  EXPECT_EQ(f(x, 3.0, std::string("none")).to_vector<float>()[0], 3);
  EXPECT_LT(f(x, 3.0, std::string("tanh")).to_vector<float>()[0], 3);
  EXPECT_EQ(f.traces().size(), 3u);
}

}  // namespace
}  // namespace tenure
