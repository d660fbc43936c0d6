#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::graph {

/// Bytes from `begin` to before `end` of a base that a step reads or writes.
struct Access {
  int base = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool writes = false;
};

/// For each step those that must be done before it begins, as they lie now: who wrote what it
/// reads, who read or wrote what it writes. Those that come before another of them are left out.
/// `accesses` are of each step, in the order in which they run.
std::vector<std::vector<std::int32_t>> step_order(const std::vector<std::vector<Access>>& accesses);

}  // namespace tenure::graph
