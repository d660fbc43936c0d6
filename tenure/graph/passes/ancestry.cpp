#include "tenure/graph/passes/ancestry.h"

#include <algorithm>

namespace tenure::graph {

std::vector<bool> depend(const Program& program, std::span<const Dependence> wanted) {
  constexpr std::size_t kBits = 64;
  std::vector<std::int32_t> roots;
  for (const Dependence& one : wanted) roots.push_back(one.on);
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  std::vector<bool> are_so(wanted.size());
  std::vector<std::uint64_t> needs(program.nodes.size());  // bit r: the r-th of some roots
  for (std::size_t first = 0; first < roots.size(); first += kBits) {
    const auto begin = roots.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kBits, roots.size() - first));
    std::fill(needs.begin(), needs.end(), 0);
    for (auto i = static_cast<std::size_t>(*begin); i < needs.size(); ++i) {
      for (const Argument& argument : program.nodes[i].arguments) {
        if (!argument.number) needs[i] |= needs[static_cast<std::size_t>(argument.value.node)];
      }
      const auto root = std::lower_bound(begin, end, static_cast<std::int32_t>(i));
      if (root != end && *root == static_cast<std::int32_t>(i)) {
        needs[i] |= std::uint64_t{1} << (root - begin);
      }
    }
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const auto root = std::lower_bound(begin, end, wanted[w].on);
      if (root == end || *root != wanted[w].on) continue;
      are_so[w] = (needs[static_cast<std::size_t>(wanted[w].node)] >> (root - begin) & 1) != 0;
    }
  }
  return are_so;
}

}  // namespace tenure::graph
