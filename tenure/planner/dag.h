#pragma once

#include <cstdint>
#include <vector>

namespace tenure::planner {

/// One step of a program: it reads the results of other steps and makes one of its own.
struct Node {
  std::int64_t bytes = 0;      ///< its result
  std::int64_t workspace = 0;  ///< more that it needs while it runs
  std::int64_t cost = 0;       ///< time to compute it, in any unit
  std::vector<int> inputs{};   ///< the nodes whose results it reads
  /// Bit i: it may compute in the memory of inputs[i], if nothing reads that result later and it is
  /// at least as large.
  std::uint32_t overwrites = 0;
  bool pure = true;     ///< computing it again gives the same result and changes nothing else
  bool output = false;  ///< its result is wanted after the last step
};

/// A program as the order and the rematerialization solvers see it. A node is named by its index.
struct Dag {
  std::vector<Node> nodes;
  std::int64_t resident = 0;  ///< bytes that are there all the time, such as parameters
};

/// Throws ValueError for negative or overflowing sizes, inputs that are no node, inputs named twice
/// and cycles; the text names the nodes.
void check(const Dag& dag);

}  // namespace tenure::planner
