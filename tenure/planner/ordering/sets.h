#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tenure/planner/random.h"

namespace tenure::planner::ordering {

/// A random-looking word for each word.
inline std::uint64_t mixed(std::uint64_t x) { return scrambled((x + 1) * kGoldenRatio); }

/// The exclusive or of the signatures of its steps names a set.
inline std::uint64_t signature(int step) { return mixed(static_cast<std::uint64_t>(step)); }

/// Sets of steps, numbered as they come, each once.
class Sets {
 public:
  using Words = std::span<const std::uint64_t>;

  explicit Sets(int steps) : words_((static_cast<std::size_t>(steps) + 63) / 64) {}

  /// The number of the set, and whether it is new. `name` is the exclusive or of its signatures.
  std::pair<int, bool> insert(Words set, std::uint64_t name);
  Words operator[](int number) const {
    return {sets_.data() + static_cast<std::size_t>(number) * words_, words_};
  }
  std::uint64_t name_of(int number) const { return names_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return names_.size(); }
  std::size_t words() const { return words_; }

 private:
  void grow();

  std::size_t words_;
  std::vector<std::uint64_t> sets_;
  std::vector<std::uint64_t> names_;
  std::vector<int> table_ = std::vector<int>(64, -1);  ///< open addressing, half full at most
};

}  // namespace tenure::planner::ordering
