#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/memory/accounts/rise.h"
#include "tenure/memory/ledger.h"

namespace tenure::mem {

/// All that is held at one mark of a loop.
struct Snapshot {
  std::int64_t iteration = 0;
  Counts counts{};
  std::vector<HolderGroup> tensors{};
  std::vector<HolderGroup> things{};
};

// Note: a leak, told while the loop runs
//
// The rule is in rise.h. What falls back at least once in sixteen windows is never seen to rise
// sixteen times. Two windows make one of the next scale, where the same is asked; growth may begin
// at any time. One that grows in every k marks rises in each window of k and more: it has risen
// often enough after eighteen windows of at most 2 k, one of which it may begin in, and one be in
// before it.

/// The level of something from mark to mark.
class Trend {
 public:
  using TakeSnapshot = std::function<std::shared_ptr<const Snapshot>()>;

  /// The low-water marks of windows of so many marks must rise so many times in a row.
  Trend(int rises, int marks) : rises_(rises), marks_(marks) {}

  /// Forgets all but the present level.
  void restart(std::int64_t level, const TakeSnapshot& take);
  /// Notes the level at a mark. If it has been growing, by more than `slack`: what there was when
  /// it was at most as high as it had been, so that what grew can be told. `take` is asked for the
  /// present when growth is suspected.
  std::shared_ptr<const Snapshot> add(std::int64_t level, std::int64_t slack,
                                      const TakeSnapshot& take);

 private:
  /// Windows of one length.
  struct Scale {
    std::vector<Window> last;  ///< at most one more than rises_, the newest last
    int risen = 0;             ///< times in a row
    std::vector<Window> half;  ///< of the next scale's window; one or none
    std::shared_ptr<const Snapshot> before;
    std::int64_t level_before = 0;
  };
  /// After so many rises what there is is looked at: what grows by the last can then be told.
  int suspected() const { return rises_ / 2; }
  std::shared_ptr<const Snapshot> close(std::size_t scale, const Window& window, std::int64_t level,
                                        std::int64_t slack, const TakeSnapshot& take);
  bool has_grown(const Scale& scale, std::int64_t slack) const;

  int rises_;
  int marks_;
  int seen_ = 0;  ///< marks of the open window
  Window open_{};
  Window first_{};  ///< the level before the first window of every scale
  std::shared_ptr<const Snapshot> start_;
  std::vector<Scale> scales_;
};

}  // namespace tenure::mem
