#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenure/planner/dag.h"

namespace tenure::planner::ordering {

/// Rows of different lengths in one vector.
class Rows {
 public:
  explicit Rows(const std::vector<std::vector<int>>& rows = {});
  std::span<const int> operator[](int row) const {
    const auto r = static_cast<std::size_t>(row);
    return {items_.data() + begin_[r], items_.data() + begin_[r + 1]};
  }
  std::size_t items() const { return items_.size(); }

 private:
  std::vector<std::size_t> begin_;
  std::vector<int> items_;
};

// Note [Results as nets]
//
// A result is live from the step that makes it to the last step that reads it: while some of these
// steps, the members of its net, are done and some are not. That says nothing about direction, so
// the same search runs from the end to the beginning, over reversed(net), where it often does
// better. A net has one member more for what lies outside: "before" for a result that is there at
// the start, "after" for one that is wanted at the end. So a part of an order, from one set of done
// steps to another, is a Net as well, and is solved by the same code.

/// An ordering problem: steps 0..size-1, and the results (nets) that each step makes or reads.
struct Net {
  int size = 0;
  Rows before;                          ///< per step: the steps that must come first
  Rows after;                           ///< per step: the steps that wait for it
  Rows touches;                         ///< per step: the nets it is a member of
  Rows reuses;                          ///< per step: nets whose memory it may take over
  std::vector<std::int64_t> own;        ///< per step: bytes saved when it takes over a net's memory
  std::vector<std::int64_t> workspace;  ///< per step
  std::vector<std::int64_t> bytes;      ///< per net
  std::vector<int> members;             ///< per net, with those outside
  std::vector<int> done;                ///< per net: members that are done at the start
  std::int64_t base = 0;                ///< live all the time, whatever the order
  bool reversed = false;
};

Net make_net(const Dag& dag);

/// The same problem seen from the end: the reverse of an order has the same peak.
Net reversed(const Net& net);

/// How far an order has come.
class Walk {
 public:
  explicit Walk(const Net& net);

  struct Step {
    std::int64_t during;  ///< bytes while it runs
    std::int64_t after;   ///< bytes when it is done
    std::int64_t begun;   ///< of these, the share of each net that its done members make up
  };
  Step look(int step) const;
  /// Does a step; all before it must be done. Appends the steps that became ready.
  Step run(int step, std::vector<int>& ready);

  std::int64_t live() const { return live_; }
  std::vector<int> ready_at_start() const;
  /// Members of the net that are done.
  int done(int net) const { return done_[static_cast<std::size_t>(net)]; }

 private:
  const Net* net_;
  std::vector<int> done_;
  std::vector<int> waits_for_;
  std::int64_t live_ = 0;
  std::int64_t begun_ = 0;
};

/// The peak of a topological order of the net.
std::int64_t peak_of(const Net& net, std::span<const int> order);

/// Bytes while each step of the order runs, and after it.
std::vector<Walk::Step> profile_of(const Net& net, std::span<const int> order);

/// The next steps of an order as a problem of its own: `walk` is before the first of `steps`, and
/// step i of the result is steps[i].
Net part_of(const Net& net, const Walk& walk, std::span<const int> steps);

}  // namespace tenure::planner::ordering
