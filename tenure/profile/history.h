#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenure/memory/kinds.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/profile/recorded.h"

namespace tenure::profile {

inline constexpr std::int64_t kNever = INT64_MAX;

/// One storage from its allocation to its end; of one whose data was given up and computed again,
/// each time that it had data.
struct StorageLife {
  std::uint64_t serial = 0;
  std::int64_t birth_ns = 0;       ///< of what was there before: when the events begin
  std::int64_t death_ns = kNever;  ///< kNever: live at the end
  std::int64_t bytes = 0;
  std::uint64_t address = 0;  ///< 0: not known
  Category category = Category::activation;
  Device device = cpu;
  /// Of its first tensor. What has none, as workspaces and arenas, has that of the op or run that
  /// allocated it; 0: that is not known either.
  std::uint32_t origin = 0;
  std::uint32_t layout = 0;
  std::uint32_t thread = 0;
  std::uint32_t thread_life = 0;  ///< which of those that had this number
  std::uint32_t tensors = 0;      ///< that ever held it
  std::uint32_t holders = 0;      ///< that hold it at the end
  std::uint32_t disposed = 0;     ///< origin of the last disposal; 0: none
  std::uint32_t last_user = 0;    ///< origin
  std::int64_t last_use_ns = -1;  ///< -1: never
  std::uint32_t name = 0;         ///< a string: what the program calls it; 0: nothing
  std::uint32_t budget = 0;       ///< number of the innermost that it is charged to, from 1 up
  bool was_before = false;        ///< live when the events begin
  bool was_evicted = false;       ///< it ended because its data was given up
  std::uint32_t run = 0;          ///< of an arena: the number of its run, from 1 up; 0: it is none
  bool is_live() const { return death_ns == kNever; }
  /// Since when nobody has used it, at the latest at `end_ns`. Uses of what has no tensor are not
  /// known: an arena is in use until its end.
  std::int64_t idle_since(std::int64_t end_ns) const {
    const std::int64_t end = is_live() ? end_ns : death_ns;
    return tensors == 0 ? end : std::min(std::max(birth_ns, last_use_ns), end);
  }
};

/// A tensor, or what a tape saves, as a holder of memory. Of one whose data was given up and
/// computed again, each time that it had data.
struct TensorLife {
  std::int64_t birth_ns = 0;
  std::int64_t end_ns = kNever;   ///< of its hold: it was disposed, or went
  std::int64_t gone_ns = kNever;  ///< its record is gone; later than the end if it was disposed
  std::uint64_t id = 0;
  std::uint32_t storage = 0;  ///< index among the storages
  std::uint32_t origin = 0;
  std::uint32_t name = 0;  ///< a string; 0: none
  HolderKind kind = HolderKind::user;
  /// False: it is on memory that another one had before: a view, a result in place.
  bool is_first = false;
  bool was_disposed = false;
  bool holds_at(std::int64_t time_ns) const { return birth_ns <= time_ns && end_ns > time_ns; }
};

/// The calls that led to a tensor, of some of each line: where not all have them.
struct SampledCalls {
  std::uint32_t tensor = 0;  ///< index among the tensors
  std::uint32_t stack = 0;   ///< for Recorded::names_of
};

/// How many things of a kind that are no tensors, as graph nodes, came from a line.
struct ThingCount {
  std::int64_t time_ns = 0;
  std::int64_t number = 0;
  std::int64_t bytes = 0;  ///< that no storage has; 0: not known
};

/// What an op did to memory, all its calls together.
struct OpCounts {
  std::int64_t calls = 0;      ///< tensors that it made
  std::int64_t allocated = 0;  ///< of these on new memory
  std::int64_t reused = 0;     ///< in the memory of an input
  std::int64_t viewed = 0;     ///< views
  std::int64_t bytes = 0;      ///< allocated
};

/// A piece of time on a thread. Two of a thread lie apart or one within the other. What a device
/// did later is on no thread; there it is the op, the run or the launch that gave the work.
struct Span {
  enum class Kind : std::uint8_t { op, scope, run, kernel, launch };
  static constexpr std::uint32_t kNoThread = UINT32_MAX;
  Kind kind{};
  Device device = cpu;  ///< of a run, a kernel or a launch
  std::uint32_t thread = 0;
  std::uint32_t origin = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// What ops and kernels of one origin took together. Of what a device did later it is the device's
/// time; the time of the call where that is not known.
struct TimeSpent {
  std::int64_t times = 0;
  std::int64_t ns = 0;
};

struct StepMark {
  std::int64_t time_ns = 0;
  std::uint32_t origin = 0;  ///< its op is the mark's name
  std::uint32_t thread = 0;
  std::uint32_t thread_life = 0;  ///< which of those that had this number
};

/// What others had of a device's memory at one moment.
struct OutsideSample {
  Device device = cpu;
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::int64_t total = 0;  ///< all the memory that the device has
};

/// The state of a pool at one moment.
struct PoolSample {
  Device device = cpu;
  std::int64_t time_ns = 0;
  std::int64_t reserved = 0;  ///< had from the system
  std::int64_t cached = 0;    ///< of it free
  double fragmentation = 0;   ///< the part of the free bytes that is not in the largest hole
};

/// A segment that a pool had from the system, or a slab of small blocks that was cut from one.
struct PoolPartLife {
  Device device = cpu;
  std::int64_t birth_ns = 0;
  std::int64_t death_ns = kNever;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t unit =
      1;  ///< bytes of each block of a slab; what chunks of a segment are rounded to
  bool is_slab = false;
};

struct BudgetSeen {
  std::string name;
  std::int64_t limit = 0;  ///< the last one
  Device device = cpu;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = kNever;
  std::uint32_t around = 0;  ///< number of the next one around it, from 1 up; 0: none
  bool is_of_process = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> limits{};  ///< since when, and how much
};

/// An allocation that was not to be had.
struct RefusalSeen {
  enum class Cause : std::uint8_t { budget, system, injected };
  std::int64_t time_ns = 0;
  Cause cause{};
  Device device = cpu;
  std::uint32_t budget = 0;  ///< number of the one that refused; 0: none
  std::uint32_t origin = 0;  ///< of who asked
  std::uint32_t thread = 0;
  std::int64_t requested = 0;
  std::int64_t used = 0;  ///< charged to the budget then, or live on the device
};

/// Predicted against measured, all runs of one plan together.
struct PlanRuns {
  struct StepTime {
    std::int64_t times = 0;
    std::int64_t ns = 0;  ///< of all; the device's, as TimeSpent
  };
  std::int64_t runs = 0;
  std::int64_t lowest = 0;  ///< peak of a run above where it began
  std::int64_t highest = 0;
  std::int64_t ns = 0;            ///< of all runs; from the first kernel to the last on the device
  std::vector<StepTime> steps{};  ///< as the plan's; none where those are not known
};

/// One run of a compiled program whose plan is known.
struct RunLife {
  static constexpr std::uint32_t kNoArena = UINT32_MAX;
  std::uint32_t plan = 0;          ///< its place among the recording's plans
  std::uint32_t arena = kNoArena;  ///< its place among the storages
  std::uint32_t thread = 0;
  std::uint32_t kernels = 0;     ///< that have ended
  std::size_t first_kernel = 0;  ///< its place among kernel_ends
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = kNever;
  std::int64_t peak = 0;  ///< above where it began
};

/// A tensor that still holds memory: who, and since when.
struct LiveHolder {
  std::uint64_t tensor = 0;
  std::uint32_t storage = 0;  ///< index among the storages
  HolderKind kind = HolderKind::user;
  std::uint32_t origin = 0;
  std::string name{};
};

/// A use that came after the disposal, and failed.
struct Miss {
  std::uint32_t disposed = 0;  ///< origin of the disposal
  std::uint32_t used = 0;      ///< origin of the use
  bool operator<(const Miss& other) const {
    return disposed != other.disposed ? disposed < other.disposed : used < other.used;
  }
};

/// A recording put in order: lives instead of events. It takes some 150 bytes of memory for each
/// storage, 48 for each tensor and 8 for each kernel call that there was, and nothing for other
/// events. What lies in arenas is told by arenas.h.
class History {
 public:
  /// Throws std::bad_alloc where a recording is too large for this machine.
  explicit History(const Recorded& recorded, bool with_spans = false);

  const Recorded& recorded;
  std::vector<StorageLife> storages;  ///< by birth
  std::vector<TensorLife> tensors;    ///< by birth, but for those from before
  std::vector<SampledCalls> sampled;
  std::map<std::string, OpCounts> ops;
  std::vector<Span> spans;                        ///< by end; only if asked for
  std::map<std::uint32_t, TimeSpent> time_spent;  ///< by origin: ops and kernels
  std::vector<StepMark> steps;
  std::vector<OutsideSample> outside;  ///< by time
  std::vector<PoolSample> pool;        ///< of old recordings; pool_levels() asks for all
  std::vector<PoolPartLife> parts;     ///< of pools
  std::vector<BudgetSeen> budgets;     ///< number 1 is the first
  std::vector<RefusalSeen> refusals;
  std::map<std::uint32_t, std::vector<ThingCount>> things;  ///< by origin, whose op is the kind
  std::map<std::uint64_t, PlanRuns> runs;                   ///< by the plan's id
  std::vector<RunLife> run_lives;                           ///< by end
  std::vector<std::int64_t> kernel_ends;                    ///< of all runs, each one's together
  /// Of each plan and step: bytes of the arena that are in use.
  std::vector<std::vector<std::int64_t>> in_use;
  std::vector<LiveHolder> holders;  ///< at the end
  /// By the origin of the disposal: how often the data stayed because others held it.
  std::map<std::uint32_t, std::int64_t> disposed_while_held;
  std::map<Miss, std::int64_t> misses;  ///< how often
  std::int64_t evictions = 0;           ///< of results, by budgets
  std::int64_t recomputations = 0;      ///< of those
  std::int64_t recomputed_bytes = 0;
  /// Those that something was allocated on, the CPU's first; never none.
  std::vector<Device> devices;
  std::uint32_t threads = 0;
  std::uint32_t last_thread = 0;  ///< whose event is the last: it has not ended before
  std::uint32_t last_life = 0;    ///< which of those that had its number
  std::int64_t base_bytes = 0;    ///< live all the time, and of no storage here
  std::int64_t begin_ns = 0;      ///< nothing is known of the time before
  std::int64_t end_ns = 0;

 private:
  /// What a thread is within: a scope or a run of a compiled program.
  struct Frame {
    bool is_run = false;
    std::uint32_t origin = 0;
    std::int64_t begin = 0;
    std::int64_t kernel =
        0;  // of a run: when its last kernel ended; of a scope: as of its run before
    // The op that was taking its inputs when the frame began.
    std::int64_t op_begin = -1;
    std::uint32_t op_number = 0;
    std::uint32_t op_origin = 0;
    // Of a run.
    std::uint64_t plan = 0;
    std::int64_t level = 0;
    std::int64_t peak = 0;
    Device device = cpu;
    std::uint32_t arena = RunLife::kNoArena;
    std::vector<std::int64_t> kernel_ends{};
    std::uint64_t first_mark = 0;  // in the device's queue; 0: it computed at once
  };
  /// What a device was given to do and has not done yet.
  struct Queued {
    std::uint32_t origin = 0;
    std::int64_t begin = 0;    // it was not given before
    std::int64_t call_ns = 0;  // what the call took, which counts until more is known
    std::uint64_t run = 0;     // first mark of its run; 0: none
    std::size_t step = 0;      // of that; kNoStep: of no plan that is known
  };
  static constexpr std::size_t kNoStep = SIZE_MAX;
  /// A run of which the device has not done all.
  struct QueuedRun {
    std::uint64_t plan = 0;
    std::size_t left = 0;       // kernels that were given, but are not done
    std::int64_t call_ns = -1;  // of the run; -1: it is not over
    std::int64_t begin = -1;    // on the device
    std::int64_t end = 0;
  };
  struct ThreadState {
    std::int64_t op_begin = -1;   // since when an op takes its inputs, within the innermost frame
    std::uint32_t op_number = 0;  // which; 0: not known yet
    std::uint32_t op_origin = 0;
    std::int64_t last_op_begin = 0;  // of the op that ended last
    std::int64_t last_op_end = 0;
    std::vector<Frame> frames;  // the innermost last
    Frame* run();               // the innermost; nullptr: none
  };
  void take(const Event& event);
  void take_storage(const Event& event);
  void take_recomputation(const Event& event);
  /// It tells of what was there when history begins, or ended before.
  bool was_before(const Event& event) const;
  /// Nothing is told of the time before.
  std::int64_t time_of(const Event& event) const;
  StorageLife* end_storage(const Event& event);
  void drop_what_was_over();
  void take_tensor(const Event& event);
  // What took which time; in history_spans.cpp.
  void take_span(const Event& event, ThreadState& thread);
  void take_frame(const Event& event, ThreadState& thread);
  void end_frame(const Event& event, ThreadState& thread);
  void take_allocation(const Event& event, ThreadState& thread);
  void take_kernel(const Event& event, ThreadState& thread, Frame& run);
  // What devices did later; in history_devices.cpp.
  void queue_kernel(const Event& event, Frame& run, std::uint32_t origin, std::size_t step);
  void queue_op(const Event& event, const ThreadState& thread);
  void take_reached(const Event& event);
  void take_reached_of_run(const Queued& queued, std::int64_t begin, std::int64_t end);
  void end_queued_run(std::uint64_t first_mark, std::int64_t call_ns);
  void finish_run_if_done(std::uint64_t first_mark);
  void end_run(const Frame& run, std::uint32_t thread, std::int64_t end_ns);
  const RecordedPlan* plan_of(const Frame& run) const;
  void add_span(Span::Kind kind, const Event& event, std::uint32_t origin, std::int64_t begin,
                Device device = cpu);
  /// Whether a name is the last part of a path: what a variable holds is told anew in each step.
  bool is_part_of(std::uint64_t name, std::uint64_t path) const;
  StorageLife* find(std::uint64_t serial);
  /// Origin of the run or the op that is under way on a thread; 0: none.
  std::uint32_t allocator_of(std::uint32_t thread) const;
  void take_birth(const Event& event, StorageLife* life);
  void end_tensor(const Event& event);
  // What events say of limits and pools; in history_limits.cpp.
  void take_limit(const Event& event);
  void take_account(const Event& event);
  void take_part(const Event& event);
  std::uint32_t budget_of(std::uint64_t account) const;
  void finish();

  bool with_spans_;
  std::unordered_map<std::uint64_t, std::uint32_t> plans_;    // id -> place
  std::unordered_map<std::uint64_t, std::uint32_t> live_;     // serial -> index
  std::unordered_map<std::uint64_t, std::uint32_t> records_;  // tensor -> its latest life
  std::unordered_map<std::uint32_t, ThreadState> states_;
  std::unordered_map<std::uint64_t, Queued> queued_;               // by mark
  std::unordered_map<std::uint64_t, QueuedRun> queued_runs_;       // by first mark
  std::array<std::int64_t, mem::kDevices> reached_{};              // when each device did its last
  std::unordered_map<std::uint64_t, std::uint32_t> accounts_;      // -> number of the budget
  std::unordered_map<std::uint64_t, std::uint32_t> parts_there_;   // begin, and 1 if slab -> index
  std::unordered_map<std::uint32_t, std::uint32_t> last_refusal_;  // thread -> index
};

}  // namespace tenure::profile
