#include "tenure/planner/dag.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tenure/base/error.h"

namespace tenure::planner {
namespace {

std::string error_of(const Dag& dag) {
  try {
    check(dag);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

Dag chain(int size) {
  Dag dag;
  for (int v = 0; v < size; ++v) {
    dag.nodes.emplace_back().bytes = 1;
    if (v > 0) dag.nodes.back().inputs = {v - 1};
  }
  return dag;
}

TEST(Dag, TakesWhatIsRight) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of(chain(5)), "");
  EXPECT_EQ(error_of(chain(300'000)), "");
}

TEST(Dag, RefusesNegativeAmounts) {
  Dag dag = chain(3);
  dag.nodes[2].bytes = -1;
  EXPECT_EQ(error_of(dag), "node 2 has -1 bytes");
  dag = chain(3);
  dag.nodes[1].workspace = -5;
  EXPECT_EQ(error_of(dag), "node 1 has -5 bytes of workspace");
  dag = chain(3);
  dag.nodes[0].cost = -7;
  EXPECT_EQ(error_of(dag), "node 0 has -7 cost");
  dag = chain(3);
  dag.resident = -2;
  EXPECT_EQ(error_of(dag), "there are -2 resident bytes");
}

TEST(Dag, RefusesSumsThatOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  Dag dag = chain(3);
  dag.nodes[1].bytes = kHuge;
  EXPECT_NE(error_of(dag).find("node 1"), std::string::npos);
  dag = chain(6);
  for (Node& node : dag.nodes) node.bytes = kHuge / 10;
  EXPECT_NE(error_of(dag).find("overflow at node 2"), std::string::npos) << error_of(dag);
  dag = chain(6);
  for (Node& node : dag.nodes) node.cost = kHuge / 10;
  EXPECT_NE(error_of(dag).find("overflow at node 2"), std::string::npos) << error_of(dag);
}

TEST(Dag, RefusesUnknownAndRepeatedInputs) {
  Dag dag = chain(3);
  dag.nodes[2].inputs = {3};
  EXPECT_EQ(error_of(dag), "node 2 reads node 3, and there are 3 nodes");
  dag.nodes[2].inputs = {-1};
  EXPECT_EQ(error_of(dag), "node 2 reads node -1, and there are 3 nodes");
  dag.nodes[2].inputs = {1, 0, 1};
  EXPECT_EQ(error_of(dag), "node 2 names its input 1 twice");
}

TEST(Dag, NamesTheNodesOfACycle) {
  Dag dag = chain(6);
  dag.nodes[1].inputs = {0, 3};
  EXPECT_EQ(error_of(dag), "nodes wait for each other: 1 -> 2 -> 3 -> 1 (a cycle of 3)");
  dag = chain(2);
  dag.nodes[1].inputs = {1};
  EXPECT_EQ(error_of(dag), "nodes wait for each other: 1 -> 1 (a cycle of 1)");
}

TEST(Dag, SurvivesALongCycle) {
  Dag dag = chain(300'000);
  dag.nodes[0].inputs = {299'999};
  const std::string text = error_of(dag);
  EXPECT_NE(text.find("a cycle of 300000"), std::string::npos);
  EXPECT_LT(text.size(), 200U);
}

}  // namespace
}  // namespace tenure::planner
