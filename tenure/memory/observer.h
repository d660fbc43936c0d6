#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure {

/// Marks the end of an iteration for recordings: they tell growth from one mark to the next.
/// LeakGuard::mark() does it too. Costs next to nothing while nobody records.
void mark_step(std::string_view name = "step", Site site = Site::current());

}  // namespace tenure

namespace tenure::mem {

class BudgetAccount;
class Storage;
class Tenant;

struct PlannedBody;

/// A compiled program, step by step: what a run does, and what lies where in its arena.
struct PlannedProgram {
  /// One kernel call, and what a planner knows of it.
  struct Step {
    std::string op;     ///< of a fused one all that it computes: "matmul + add + tanh"
    std::string scope;  ///< the layer that its result is of: "block2/attention/query"
    Site site{};        ///< of the call that its result is of
    /// Of what it makes: gradient on the way back, optimizer in an update, else activation.
    Category category = Category::activation;
    int unit = 0;                  ///< equal for steps that compute the same
    std::int64_t live = 0;         ///< bytes of results and workspaces that are in use
    std::int64_t cost = 0;         ///< nanoseconds of a usual machine, an estimate
    std::int64_t bytes = 0;        ///< of its result, if that is in the arena
    std::int64_t workspace = 0;    ///< more while it runs
    std::vector<int> inputs{};     ///< units whose results it reads
    std::uint32_t overwrites = 0;  ///< bit i: it may compute in the memory of inputs[i]
    bool is_pure = true;           ///< to compute it again gives the same
    bool is_output = false;        ///< its result is wanted after the run
  };
  /// A piece of the arena. Its op, layer and line are those of its first step.
  struct Buffer {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    int first = 0;  ///< steps in which it is live, both included
    int last = 0;
    Category category = Category::activation;  ///< or gradient, optimizer, workspace
    bool is_saved = false;                     ///< made on the way forth, and read on the way back
    bool is_again = false;                     ///< an earlier step has computed the same
    std::string layout{};                      ///< "float32[8, 4]"; "": it is only bytes
    std::string role{};  ///< what it is to its step: "workspace"; "": the result
  };
  std::vector<Step> steps{};
  std::vector<Buffer> buffers{};
  std::vector<PlannedBody> bodies;  ///< of its branches and loops, by step
  std::int64_t resident = 0;        ///< bytes of outputs that are there all the time
};

/// A branch or the body of a loop, which one step of a program runs, any number of times. Bodies of
/// one step have the same memory: they run in turn.
struct PlannedBody {
  std::string name;         ///< "then branch"
  int step = 0;             ///< of the program that it is in
  std::int64_t offset = 0;  ///< of its arena, in that of the program that it is in
  PlannedProgram program{};
};

/// One run of a compiled program.
struct PlannedRun {
  /// Who knows the program.
  class Source {
   public:
    virtual PlannedProgram program() const = 0;

   protected:
    ~Source() = default;
  };
  std::uint64_t id = 0;     ///< equal for all runs of one program, never given again
  Device device = cpu;      ///< that it runs on
  std::string_view name{};  ///< of the function or graph
  Site site{};              ///< of the run
  std::int64_t peak = 0;
  std::int64_t arena = 0;
  const Source* source = nullptr;  ///< asked once for each recording
};

/// An allocation that was not to be had.
struct Refusal {
  OutOfMemory::Cause cause{};
  std::size_t requested = 0;
  const BudgetAccount* budget = nullptr;  ///< that refused; nullptr: the system
  Device device = cpu;
  std::size_t used = 0;  ///< charged to that budget then, or live on the device
};

/// Gets to know all that happens to memory, on the thread where it happens. Nothing here may throw
/// or touch tensors; pointers to names have static storage duration.
class Observer {
 public:
  virtual void allocated(ThreadContext& context, const Storage& storage) noexcept = 0;
  virtual void freed(ThreadContext& context, const Storage& storage) noexcept = 0;
  /// Its data was given up, and was computed again: what another storage had, which was freed.
  virtual void evicted(ThreadContext& context, const Storage& storage) noexcept = 0;
  virtual void recomputed(ThreadContext& context, const Storage& storage) noexcept = 0;
  virtual void recategorized(ThreadContext& context, const Storage& storage) noexcept = 0;
  /// The whole tensor can be read.
  virtual void created(ThreadContext& context, const Tenant& tenant,
                       const Storage& storage) noexcept = 0;
  /// Its data is about to be read, by an op or an accessor.
  virtual void used(ThreadContext& context, const Tenant& tenant, const char* by,
                    Site site) noexcept = 0;
  virtual void disposed(ThreadContext& context, std::uint64_t tensor, std::uint64_t storage,
                        const char* by, Site site) noexcept = 0;
  /// An op or accessor wanted its data after it was disposed, and failed.
  virtual void missed(ThreadContext& context, const Tenant& tenant, const char* by,
                      Site site) noexcept = 0;
  virtual void destroyed(ThreadContext& context, const Tenant& tenant) noexcept = 0;
  virtual void named(ThreadContext& context, const Tenant& tenant,
                     const std::string& name) noexcept = 0;
  virtual void kind_changed(ThreadContext& context, const Tenant& tenant) noexcept = 0;

  /// A Scope, or a name: then the thread's path has it already, or has it still.
  virtual void scope_began(ThreadContext& context, bool is_name, Site site) noexcept = 0;
  virtual void scope_ended(ThreadContext& context, bool is_name) noexcept = 0;
  virtual void step_marked(ThreadContext& context, std::string_view name, Site site) noexcept = 0;
  /// It limits from now on, or has another limit.
  virtual void budget_began(ThreadContext& context, const BudgetAccount& account) noexcept = 0;
  /// Its limit is lifted; what is charged to it stays so.
  virtual void budget_ended(ThreadContext& context, const BudgetAccount& account) noexcept = 0;
  virtual void refused(ThreadContext& context, const Refusal& refusal) noexcept = 0;
  /// Who had asked for what this thread was refused last.
  virtual void refusal_named(ThreadContext& context, std::string_view call, Site site) noexcept = 0;
  virtual void run_began(ThreadContext& context, const PlannedRun& run) noexcept = 0;
  virtual void run_ended(ThreadContext& context, const PlannedRun& run) noexcept = 0;
  /// One kernel call of such a run is done.
  virtual void kernel_ran(ThreadContext& context, const char* op, Site site,
                          Device device) noexcept = 0;

 protected:
  ~Observer() = default;
};

extern std::atomic<Observer*> installed_observer;

/// The one that is on, or nullptr. It stays valid for good: an event that comes after its end finds
/// it inactive.
inline Observer* observer(const ThreadContext& context) noexcept {
  return needs_attention(context) ? installed_observer.load(std::memory_order_acquire) : nullptr;
}

/// nullptr switches it off.
void install(Observer* observer) noexcept;

/// Called when the first thread comes to use memory; tenure/profile/ implements it, so that a
/// program that links Tenure can be recorded by setting an environment variable.
void begin_as_environment_says() noexcept;

}  // namespace tenure::mem
