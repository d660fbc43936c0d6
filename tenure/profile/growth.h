#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/profile/history.h"

// Does it hold more and more? What a leak is stands in tenure/memory/accounts/rise.h: recordings
// are judged by the rule that a LeakGuard goes by. The command, the page and the last line of
// `tenure profile` all say what growth() says.

namespace tenure::profile {

/// Who holds what grew, other than the tensors that the line itself made.
struct GrowthHolder {
  HolderKind kind = HolderKind::user;
  std::uint32_t origin = 0;
  std::uint32_t tape = 0;  ///< origin whose line made the tape that it is; 0: none, or not known
  std::int64_t storages = 0;
};

inline constexpr const char* kDisposedTensor = "disposed tensor";
inline constexpr const char* kTapeValue = "tape value";

/// A line that holds more and more. Lines are told apart by op, file and number, whatever the
/// scope. Per step: from one mark to the next, on average since it began.
struct Growth {
  std::uint32_t origin = 0;  ///< one of the line's
  std::string what{};        ///< empty: tensors; else kDisposedTensor, "graph node", "trace"
  double bytes_per_step = 0;
  double storages_per_step = 0;
  double sharers_per_step = 0;  ///< views and other tensors on memory that was there
  double things_per_step = 0;   ///< of `what`
  std::int64_t since_step = 0;  ///< the first step that added something, from 1 up
  std::int64_t since_ns = 0;
  std::int64_t bytes = 0;     ///< in all since then
  std::int64_t number = 0;    ///< of what it is counted by: the storages, else what follows
  std::int64_t storages = 0;  ///< each of these in all, as above per step
  std::int64_t sharers = 0;
  std::int64_t things = 0;
  std::int64_t thing_bytes = 0;         ///< that these take, in all; 0: not known
  std::vector<GrowthHolder> holders{};  ///< the most first
  /// That the line is in: "Loader::next"; empty where it is not known.
  std::string function{};
  /// The calls that led to most of what it left, the innermost first and without the line itself:
  /// "load at data.cpp:12". Of recordings without stacks those of some of it were looked at.
  std::vector<std::string> callers{};
  /// Whether there are none, or they are not known and why not.
  enum class Callers : std::uint8_t { told, unseen, unnamed } has_callers = Callers::told;
  /// A first step after the warm-up is no news.
  bool is_late() const { return since_step > 8; }
};

/// Of all that was made while it was recorded and is live at the end, the line that has most bytes.
struct LeftOver {
  std::uint32_t origin = 0;
  std::int64_t bytes = 0;
  std::int64_t storages = 0;
};

/// One loop: the step marks of one name. A program without marks is judged as one too: by what was
/// live between equal numbers of allocations, and of storages only by those that lie idle; what
/// parameters and optimizers have does not count then.
struct Loop {
  /// Of the marks; of a thread that grew until it allocated no more "thread 2", or "thread 2,
  /// number 3 of that name".
  std::string name;
  bool is_marked = true;
  std::int64_t steps = 0;
  std::int64_t first_bytes = 0;       ///< live after the warm-up
  std::int64_t last_bytes = 0;        ///< live after the last step
  bool can_tell = false;              ///< there are enough steps
  std::vector<std::int64_t> times{};  ///< of the marks, or the moments that stand for them
  std::vector<Growth> growing{};      ///< most bytes first
  /// Without marks, what was filled and then kept may be a table or a leak that ended: it is told.
  LeftOver left{};
};

/// Every loop that was marked, after a warm-up of a quarter of its marks and at most three; and if
/// none of them can tell, the whole program. Caches that have a bound do not count, nor do lines
/// that merely take over what others held. A thread that grew until its last allocation, before the
/// program's end, is a loop too, if all that it left is there at the end and nobody has used any of
/// it since: others have not gone on growing, and a table would be read.
std::vector<Loop> growth(const History& history);

// In words; growth_sentence.cpp.

/// "train grows 87 KiB a step at model.cpp:41, held by slice at model.cpp:23".
std::string judgement(const Loop& loop, const Recorded& recorded);
/// "load at data.cpp:12, by main at train.cpp:40": the innermost few.
std::string callers_text(const Growth& growth);
/// What to do where it is not known who called the line that grows most, which the judgement says
/// too; empty: nothing.
std::string advice(const Loop& loop);
/// "view, slice at model.cpp:23".
std::string to_string(const GrowthHolder& holder, const Recorded& recorded);

}  // namespace tenure::profile
