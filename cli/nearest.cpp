#include "cli/nearest.h"

#include <algorithm>
#include <numeric>

namespace tenure::cli {
namespace {

/// How many letters to insert, delete or replace to get from one word to the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : names) {
    // A part of a name is nearer than its missing letters make it.
    const bool contains = wanted.size() >= 2 && name.find(wanted) != std::string::npos;
    const std::size_t distance = contains ? 1 : edits(wanted, name);
    if (distance <= std::max<std::size_t>(1, wanted.size() / 3)) found.emplace_back(distance, name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(found.size(), kMost); ++i) result.push_back(found[i].second);
  return result;
}

}  // namespace tenure::cli
