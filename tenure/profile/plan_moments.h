#pragma once

#include <string>
#include <vector>

#include "tenure/profile/recorded_plans.h"

// Note: time within a step
//
// A step that runs a branch or a loop is one kernel to a run, which tells when it ended and nothing
// of what was inside: events for each step of each iteration would cost more than the steps. What
// the plan knows of the inside is put in order here. Where a recording has times, such a step is
// shown as at its fullest moment: of all steps of all its bodies that with the most bytes. Where it
// has positions, as in the picture of an arena, the steps of its bodies stand in its place.

namespace tenure::profile {

/// A step of a program or of a body in it.
struct PlanMoment {
  int body = RecordedPlan::kNoBody;
  int step = 0;
  std::string label{};  ///< "7"; inside of it "7.0", "7.1" and so on, through all its bodies
  int begin = 0;        ///< where it is among the positions; one that runs bodies has all of theirs
  int end = 0;
};
/// All steps, each one before those inside it.
std::vector<PlanMoment> moments(const RecordedPlan& plan);

/// "loop body"; of one within others "then branch in loop body"; "" for the program.
std::string body_text(const RecordedPlan& plan, int body);

/// The positions of a plan, and where its buffers are among them.
class PlanPositions {
 public:
  explicit PlanPositions(const RecordedPlan& plan);
  const std::vector<PlanMoment>& moments() const { return moments_; }
  int begin_of(const RecordedPlan::Buffer& buffer) const;
  int end_of(const RecordedPlan::Buffer& buffer) const;
  /// When it is live: "3", "3 to 8", "7.1 to 7.4".
  std::string label_of(const RecordedPlan::Buffer& buffer) const;

 private:
  const PlanMoment& moment(int body, int step) const;

  std::vector<PlanMoment> moments_;
  std::vector<std::vector<std::size_t>> places_;  // by body, the program's last, and step
};

/// Decides which buffers a step that runs bodies is shown with.
void choose_shown(RecordedPlan& plan);

}  // namespace tenure::profile
