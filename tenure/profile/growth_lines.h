#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenure/memory/accounts/rise.h"
#include "tenure/profile/growth_judge.h"

// What came to each line of a program and went from it, for whoever judges whether that grows.

namespace tenure::profile {

/// What can pile up at a line.
enum Measure : std::size_t { kBytes, kStorages, kSharers, kDisposed, kMeasures };

/// Something came to a line or went from it.
struct LevelStep {
  std::int64_t time_ns;
  Measure measure;
  std::int64_t by;
};

/// All of one line.
struct LineLevels {
  std::uint32_t origin = 0;
  std::vector<LevelStep> changes{};
  std::int64_t rows = 0;  ///< that are live at the last mark less those at the first
  std::array<std::optional<mem::Rise>, kMeasures> rises{};
  bool rises_at_all() const;
};

/// The levels of one measure at each mark, or the lowest between moments: what an iteration has
/// while it works is not known then from what it leaves.
std::vector<mem::Window> levels_of(const std::vector<LevelStep>& changes, Measure measure,
                                   const Marks& marks);
void sort_by_time(std::vector<LevelStep>& changes);

/// The lines of a recording, told apart by op, file and number.
class Lines {
 public:
  Lines(const History& history, const Marks& marks);

  std::vector<LineLevels>& all() { return lines_; }
  const std::vector<LineLevels>& all() const { return lines_; }
  /// The place of an origin's line among all.
  std::uint32_t line_of(std::uint32_t origin);
  /// Whether a storage counts: somebody else than a cache holds it, and it is of this loop.
  bool counts(std::size_t storage) const;

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  using Place = std::tuple<std::string_view, std::string_view, std::uint32_t>;

  bool is_of_loop(const StorageLife& life) const;
  void collect();
  void add(std::uint32_t line, Measure measure, std::int64_t birth, std::int64_t end,
           std::int64_t by);

  const History& history_;
  const Marks& marks_;
  std::map<Place, std::uint32_t> numbers_;
  std::vector<std::uint32_t> line_of_;  // by origin
  std::vector<LineLevels> lines_;
  std::vector<bool> is_held_;  // by storage: by something else than caches
};

}  // namespace tenure::profile
