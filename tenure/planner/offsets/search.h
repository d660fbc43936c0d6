#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tenure/planner/offsets/instance.h"
#include "tenure/planner/offsets/nogoods.h"
#include "tenure/planner/offsets/random.h"

namespace tenure::planner::offsets {

/// Exact search for offsets below a capacity.
///
/// Note: the search. Blocks are placed from the bottom up. Each section has a floor (what is below
/// is decided) and a slack (the capacity, less the floor, less the sizes still to be placed there).
/// A valley is a range of sections with one floor between higher walls. In any solution that is
/// pushed down as far as it goes, a section s of a valley has on its floor either a block that lies
/// between the walls, or a gap, which its slack pays. So:
///
/// - Branching asks 'what lies on the floor of s?'. The answers are the few blocks inside the
///   valley that cover s, and a gap where s has slack. Any valley and any s will do: the search
///   takes the one with the fewest answers, divided by how often s made it fail before.
/// - Propagation looks at every range of equal floors, not at valleys alone: where no block between
///   the next higher walls covers a section, its floor rises to the lower wall; more than its slack
///   ends the branch.
/// - Where no unplaced block crosses a cut between sections, both sides are solved on their own.
/// - A state is the set of unplaced blocks and the slacks; states without solution are remembered.
/// - Runs are cut off early and restarted with other preferences; what was learnt is kept.
class Search {
 public:
  enum class Outcome { found, impossible, cut_off };

  explicit Search(const Instance& instance);

  /// What run() looks for.
  void set_capacity(Units capacity);

  /// One descent that takes at most `steps` steps. `preference` selects in which order blocks are
  /// tried; 0 and 1 are plain ones, the others random.
  Outcome run(std::int64_t steps, std::uint64_t preference, const std::function<bool()>& expired);

  /// Valid after Outcome::found.
  const std::vector<Units>& offsets() const { return offsets_; }
  std::int64_t steps() const { return steps_; }

 private:
  using Word = std::uint64_t;
  using Set = std::vector<Word>;

  /// Sections [begin, end).
  struct Range {
    int begin = 0;
    int end = 0;
    bool operator==(const Range&) const = default;
  };
  struct Undo {
    enum class Kind { place, raise, options } kind;
    int index;  // block or section
    Units value;
  };

  // Descending; search.cpp. They undo what they did unless they return true.
  bool solve(Range range, std::uint64_t key, Range changed);
  bool solve_parts(Range range);
  bool branch(Range range, std::uint64_t key, Range changed);
  bool try_blocks(Range range, std::uint64_t key, int section, Range valley);
  bool try_gap(Range range, std::uint64_t key, int section, Range valley);
  int choose(Range range) const;
  void list_candidates(Range range, int section, Range valley);
  bool out_of_steps(Range range);

  // Propagation; settle.cpp. They return false where no solution is left.
  bool settle(Range range, Range changed, std::uint64_t& key);
  bool settle_level(Range range, Range level, std::uint64_t& key, Units& raised);
  bool keeps_fixed(Range level) const;
  Range flat(Range range, int section) const;
  Range between_walls(Range range, Range level) const;
  Units lower_wall(Range range, Range inside) const;
  Range around(Range range, Range changed, Units level) const;
  void collect_inside(Range inside, Units level);
  Units next_level(Range range, int section, Range valley) const;

  // State; state.cpp.
  std::uint64_t place(int block, Units level, std::uint64_t key);
  std::uint64_t raise(int section, Units level, std::uint64_t key);
  void set_options(int section, int options);
  void undo(std::size_t mark);
  std::uint64_t key_of(Range range) const;
  std::uint64_t slack_key(int section) const;
  void prefer(std::uint64_t preference);

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  static Word bit(int block) { return Word{1} << (static_cast<unsigned>(block) % 64); }
  bool is_unplaced(int block) const { return (unplaced_[at(block) / 64] & bit(block)) != 0; }
  const Word* cover(int section) const { return &cover_[at(section) * words_]; }
  const Word* until(int section) const { return &until_[at(section) * words_]; }

  // The problem.
  const std::vector<Block>& blocks_;
  int sections_;
  std::size_t words_;  // of a set of blocks
  Units capacity_ = 0;
  std::vector<int> twin_;   // the previous block that is the same in every respect, or -1
  std::vector<int> first_;  // the first block that begins at a section or later
  Set cover_;               // for each section: the blocks alive in it
  Set until_;               // for each section: the blocks that end where it begins, or before
  Set special_;             // the blocks with an alignment or a fixed offset
  bool any_special_ = false;
  std::vector<Units> total_;  // the sum of sizes in a section

  // The state.
  Set unplaced_;
  std::vector<Units> floor_;  // kUnreachable where nothing is left to place
  std::vector<Units> slack_;
  std::vector<int> left_;      // unplaced blocks in a section
  std::vector<int> crossing_;  // unplaced blocks alive in a section and the one before
  std::vector<int> options_;   // blocks that may lie on a valley's floor here; 0 outside of valleys
  std::vector<Units> offsets_;
  std::vector<Undo> trail_;
  std::vector<std::pair<double, int>> candidates_;  // a stack: of all branches being tried

  // What collect_inside() found: the words of `inside_` that may be set, and the blocks that are
  // inside but must lie higher.
  Set inside_;
  std::size_t first_word_ = 0;
  std::size_t last_word_ = 0;
  std::vector<int> higher_;

  // Learnt.
  Nogoods nogoods_;
  std::vector<double> weight_;
  std::vector<double> rank_;

  std::int64_t steps_ = 0;
  std::int64_t limit_ = 0;
  std::int64_t since_clock_ = 0;
  bool cut_off_ = false;
  int depth_ = 0;
  const std::function<bool()>* expired_ = nullptr;
};

}  // namespace tenure::planner::offsets
