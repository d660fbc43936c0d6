#include "tenure/planner/ordering/sets.h"

#include <algorithm>
#include <utility>

namespace tenure::planner::ordering {

std::pair<int, bool> Sets::insert(Words set, std::uint64_t name) {
  if (2 * names_.size() >= table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = name & mask;
  for (; table_[slot] >= 0; slot = (slot + 1) & mask) {
    const int number = table_[slot];
    const Words other = (*this)[number];
    if (name_of(number) == name && std::equal(set.begin(), set.end(), other.begin())) {
      return {number, false};
    }
  }
  table_[slot] = static_cast<int>(names_.size());
  names_.push_back(name);
  sets_.insert(sets_.end(), set.begin(), set.end());
  return {table_[slot], true};
}

void Sets::grow() {
  table_.assign(2 * table_.size(), -1);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    std::size_t slot = names_[i] & mask;
    while (table_[slot] >= 0) slot = (slot + 1) & mask;
    table_[slot] = static_cast<int>(i);
  }
}

}  // namespace tenure::planner::ordering
