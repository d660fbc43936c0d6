#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure {

/// Marks the end of an iteration for recordings: they tell growth from one mark to the next.
/// LeakGuard::mark() does it too. Costs next to nothing while nobody records.
void mark_step(std::string_view name = "step", Site site = Site::current());

}  // namespace tenure

namespace tenure::mem {

class Storage;
class Tenant;

/// What will be live at once in one run of a compiled program.
struct PlannedRun {
  struct Buffer {
    std::string op;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    int first = 0;  ///< steps in which it is live, both included
    int last = 0;
  };
  std::uint64_t id = 0;     ///< equal for all runs of one program, never given again
  Device device = cpu;      ///< that it runs on
  std::string_view name{};  ///< of the function or graph
  Site site{};              ///< of the run
  std::int64_t peak = 0;
  std::int64_t arena = 0;
  std::span<const Buffer> buffers{};
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
  virtual void budget_began(ThreadContext& context, const std::string& name, std::size_t limit,
                            Device device) noexcept = 0;
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
