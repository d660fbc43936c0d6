#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tenure/graph/ir/infer.h"

// The sizes that probe.h tries unknown dimensions with.

namespace tenure::graph {

/// A size that nobody has; errors are shown with it.
inline constexpr std::int64_t kStandIn = 8191;
/// Larger numbers are no sizes.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
/// The first candidates: they tell whether ranks depend on sizes, as where those of 1 are dropped.
inline constexpr std::array<std::int64_t, 11> kSmallSizes = {2, 3, 1, 4, 0, 5, 6, 7, 8, 33, 100};

/// Sizes to try, without duplicates, in the order in which they were added.
class Candidates {
 public:
  void add(std::int64_t size) {
    if (size < 0 || size > kLargestSize) return;
    if (std::find(sizes_.begin(), sizes_.end(), size) == sizes_.end()) sizes_.push_back(size);
  }
  void add_around(std::int64_t size) {
    for (const std::int64_t near : {size, size - 1, size + 1}) add(near);
  }
  const std::vector<std::int64_t>& all() const { return sizes_; }

 private:
  std::vector<std::int64_t> sizes_;
};

/// What may matter to a rule.
struct InPlay {
  std::vector<std::int64_t> named{};           ///< by attributes
  std::vector<std::int64_t> sizes{};           ///< that are known
  std::vector<std::int64_t> products{};        ///< of elements that something else has
  std::vector<std::int64_t> known_elements{};  ///< beside the unknown dimensions of an argument
};

InPlay in_play(std::span<const ArgumentSpec> arguments, const ops::Attributes& attributes);

/// The sizes to try. The first ones are small.
std::vector<std::int64_t> candidates_for(const InPlay& found);

/// Whether something like it is named by an attribute.
bool is_named(const InPlay& found, std::int64_t size);

/// Whether a dimension can have but one size, for all that is known: that of something else. Where
/// only another one was found, it hangs together with other dimensions in a way that was not.
bool is_explained(const InPlay& found, std::int64_t size);

}  // namespace tenure::graph
