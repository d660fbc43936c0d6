#include "tenure/planner/remat/word.h"

#include <algorithm>

namespace tenure::planner::remat {

Measure measure(const Problem& problem, const std::vector<int>& word) {
  Measure result{0, problem.resident};
  std::vector<char> needed(problem.end + 1, false);
  std::int64_t across = problem.resident;
  for (auto step = word.rbegin(); step != word.rend(); ++step) {
    const int node = *step;
    if (needed[node]) across -= problem.bytes[node];
    needed[node] = false;
    bool in_place = false;
    std::uint32_t bits = problem.overwrites[node];
    for (const int input : problem.inputs(node)) {
      in_place = in_place ||
                 ((bits & 1) != 0 && !needed[input] && problem.bytes[input] >= problem.bytes[node]);
      bits >>= 1;
      if (!needed[input]) across += problem.bytes[input];
      needed[input] = true;
    }
    result.cost += problem.cost[node];
    result.peak =
        std::max(result.peak, across + problem.own[node] - (in_place ? problem.bytes[node] : 0));
  }
  return result;
}

void remove_unread(const Problem& problem, std::vector<int>& word) {
  std::vector<int> times(problem.end + 1, 0);
  for (int node : word) ++times[node];
  std::vector<char> read(problem.end + 1, false);
  std::size_t kept = word.size();
  for (std::size_t i = word.size(); i-- > 0;) {
    const int node = word[i];
    if (!read[node] && times[node] > 1) {
      --times[node];
      continue;
    }
    read[node] = false;
    for (int input : problem.inputs(node)) read[input] = true;
    word[--kept] = node;
  }
  word.erase(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(kept));
}

}  // namespace tenure::planner::remat
