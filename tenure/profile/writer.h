#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenure/base/units.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/pool/segment_watch.h"
#include "tenure/profile/call_stack.h"
#include "tenure/profile/clock.h"
#include "tenure/profile/device_times.h"
#include "tenure/profile/file.h"
#include "tenure/profile/profile.h"
#include "tenure/profile/tables.h"

namespace tenure::profile {

/// What one thread is writing. Belongs to a ThreadContext for good.
class ThreadBuffer {
 public:
  /// Held while its thread writes, and by whoever ends the recording: nearly never contended.
  class Lock {
   public:
    explicit Lock(ThreadBuffer& buffer) noexcept : buffer_(buffer) {
      while (buffer_.busy_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Lock() { buffer_.busy_.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    ThreadBuffer& buffer_;
  };

  /// Numbers that this thread asked for lately, by the addresses of what they stand for.
  struct KnownOrigin {
    const char* op = nullptr;
    const char* file = nullptr;
    std::uint64_t path = 0;
    std::uint32_t line = 0;
    std::uint32_t stack = 0;
    std::uint32_t number = 0;
  };
  struct KnownStack {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };
  /// Which tensors of a line are looked at more closely: when the next one comes.
  struct Sampler {
    std::uint32_t left = 0;
    std::uint32_t seen = 0;
  };
  struct KnownRun {
    std::uint64_t plan = 0;
    const char* file = nullptr;
    std::uint64_t path = 0;
    std::uint32_t line = 0;
    std::uint32_t number = 0;
  };
  struct KnownLayout {
    Shape shape{};
    DType dtype{};
    std::uint32_t number = 0;
  };

  std::uint64_t recording = 0;  ///< that all below belongs to
  std::uint32_t life = 0;       ///< the thread that wrote last
  Chunk chunk{};
  std::array<KnownOrigin, 256> origins{};
  std::array<KnownStack, 256> stacks{};
  std::array<Sampler, 256> samplers{};  ///< by origin; several may have the same
  std::uint32_t random = 1;             ///< never 0
  int runs_within = 0;                  ///< of compiled programs, that it is in
  std::array<KnownRun, 16> runs{};
  std::array<KnownLayout, 64> layouts{};

  /// In a child of fork: its thread may have held the lock, and is not here.
  void forget_thread() noexcept { busy_.clear(std::memory_order_relaxed); }

 private:
  std::atomic_flag busy_{};
};

/// Turns what it is told into events of a file. There is one, for good.
class Writer final : public mem::Observer, public mem::SegmentWatch {
 public:
  static Writer& instance();

  /// Throws ProfileError.
  void begin(const std::string& path, const ProfileOptions& options);
  void end() noexcept;
  /// Keeps the calls that led to each tensor, for errors, recording or not, until the process ends.
  void keep_calls() noexcept;
  /// Around a fork: a child finds no lock held, and forgets the recording, which is its parent's.
  void before_fork() noexcept;
  void after_fork(bool is_child) noexcept;

  // What it is told; in writer_events.cpp, and of limits in writer_limits.cpp.
  void allocated(mem::ThreadContext& context, const mem::Storage& storage) noexcept override;
  void freed(mem::ThreadContext& context, const mem::Storage& storage) noexcept override;
  void evicted(mem::ThreadContext& context, const mem::Storage& storage) noexcept override;
  void recomputed(mem::ThreadContext& context, const mem::Storage& storage) noexcept override;
  void recategorized(mem::ThreadContext& context, const mem::Storage& storage) noexcept override;
  void created(mem::ThreadContext& context, const mem::Tenant& tenant,
               const mem::Storage& storage) noexcept override;
  void used(mem::ThreadContext& context, const mem::Tenant& tenant, const char* by,
            Site site) noexcept override;
  void disposed(mem::ThreadContext& context, std::uint64_t tensor, std::uint64_t storage,
                const char* by, Site site) noexcept override;
  void missed(mem::ThreadContext& context, const mem::Tenant& tenant, const char* by,
              Site site) noexcept override;
  void destroyed(mem::ThreadContext& context, const mem::Tenant& tenant) noexcept override;
  void named(mem::ThreadContext& context, const mem::Tenant& tenant,
             const std::string& name) noexcept override;
  void kind_changed(mem::ThreadContext& context, const mem::Tenant& tenant) noexcept override;
  void scope_began(mem::ThreadContext& context, bool is_name, Site site) noexcept override;
  void scope_ended(mem::ThreadContext& context, bool is_name) noexcept override;
  void step_marked(mem::ThreadContext& context, std::string_view name, Site site) noexcept override;
  void budget_began(mem::ThreadContext& context,
                    const mem::BudgetAccount& account) noexcept override;
  void budget_ended(mem::ThreadContext& context,
                    const mem::BudgetAccount& account) noexcept override;
  void refused(mem::ThreadContext& context, const mem::Refusal& refusal) noexcept override;
  void refusal_named(mem::ThreadContext& context, std::string_view call,
                     Site site) noexcept override;
  void part_came(const mem::PoolPart& part) noexcept override { note_part(part, kPartCame); }
  void part_went(const mem::PoolPart& part) noexcept override { note_part(part, 0); }
  void run_began(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept override;
  void run_ended(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept override;
  void kernel_ran(mem::ThreadContext& context, const char* op, Site site,
                  Device device) noexcept override;

 private:
  /// How many there are, and what they take.
  struct Things {
    std::int64_t number = 0;
    std::int64_t bytes = 0;
  };
  /// A file and its tables. Freed when no thread can be writing to it any more.
  struct Session {
    Session(const std::string& path, const ProfileOptions& options)
        : file(path, options.capacity),
          tables(file, std::clamp(options.capacity / 4, 2 * kChunkBytes, kMostDefined)),
          stacks(options.stacks) {}
    /// Names are in memory too. A program that makes up names without end gets no more of them.
    static constexpr std::size_t kMostDefined = 64 * MiB;
    RecordingFile file;
    Tables tables;
    const bool stacks;
    /// By account: whether it was told what it is.
    std::array<std::atomic<std::uint64_t>, 1024> told_accounts{};
    std::mutex things_mutex;
    // What was told of things that are no tensors, by origin.
    std::vector<std::int64_t> things_counted;
    std::unordered_map<std::uint32_t, Things> things_told;
  };
  struct Event {
    EventKind kind;
    std::uint8_t tag = 0;
    std::uint64_t subject = 0;
    std::uint16_t extra = 0;
    std::uint64_t third = 0;
    std::uint64_t fourth = 0;
  };

  Writer() = default;
  // Of these two, the caller has the lock.
  void stop() noexcept;
  void add_buffer(mem::ThreadContext& context);
  ThreadBuffer& buffer_of(mem::ThreadContext& context);
  /// Calls `act(buffer)` while a recording is on, which then does not end.
  template <class Act>
  void write_if_on(mem::ThreadContext& context, const Act& act) noexcept;
  /// Calls `fill(buffer)`, which returns an Event, and writes that, while a recording is on.
  template <class Fill>
  void write(mem::ThreadContext& context, const Fill& fill) noexcept;
  void put(ThreadBuffer& buffer, const mem::ThreadContext& context, const Event& event) noexcept;
  void open_chunk(ThreadBuffer& buffer, const mem::ThreadContext& context, std::int64_t now,
                  const Event& first) noexcept;
  void put_words(ThreadBuffer& buffer, const Event& event, std::int64_t now) noexcept;
  // Of devices that compute later; in writer_devices.cpp.
  /// nullptr: the device computes at once, or nothing is recorded.
  DeviceTimes* times_of(mem::ThreadContext& context, Device device) noexcept;
  /// The number of a mark to come in the queue of a device; 0: it needs none.
  std::uint64_t next_mark(mem::ThreadContext& context, Device device) noexcept;
  /// Puts it there, and tells what the device has come to.
  void put_mark(mem::ThreadContext& context, Device device, std::uint64_t mark) noexcept;
  void tell_passed(mem::ThreadContext& context, Device device, DeviceTimes& times,
                   bool waits) noexcept;
  /// What others have of a device's memory, unless somebody has looked within that time.
  void sample_outside(mem::ThreadContext& context, Device device, std::int64_t apart_ns) noexcept;
  /// Waits for what devices have still to do, and tells when it was done.
  void finish_devices(mem::ThreadContext& context) noexcept;
  // Of pools, budgets and things that are no tensors; in writer_limits.cpp.
  void note_part(const mem::PoolPart& part, std::uint8_t tag) noexcept;
  /// Writes what pools did since; `first` is the event that comes next.
  void write_parts(ThreadBuffer& buffer, const mem::ThreadContext& context, std::int64_t now,
                   const Event& first) noexcept;
  /// Graph nodes, traces, values of tapes: how many of each line there are, where that has changed.
  void write_things(ThreadBuffer& buffer, std::int64_t now);
  static constexpr std::int64_t kThingsApart = 50'000;        // ns: to look takes some 1000
  static constexpr std::int64_t kOutsideApart = 100'000'000;  // a driver is asked
  /// The same, unless somebody has looked within that time.
  void sample_things(ThreadBuffer& buffer, std::int64_t now, std::int64_t apart_ns) noexcept;
  /// The account of a storage or a refusal, which is told what it is before; 0 for none.
  std::uint64_t account(ThreadBuffer& buffer, const mem::ThreadContext& context,
                        const mem::BudgetAccount* account) noexcept;
  /// The address of a storage's data, and its account.
  std::uint64_t place_of(ThreadBuffer& buffer, const mem::ThreadContext& context,
                         const mem::Storage& storage) noexcept;
  Event describe(const mem::BudgetAccount& account, std::uint64_t around) noexcept;
  // Of all that is live; in writer_census.cpp.
  void write_what_is_live(mem::ThreadContext& context);
  /// Tells anew what is live, where the file has so much of older events that it is due. Not from
  /// within a vital section. `untold` bytes are counted already, and are told next.
  void renew_census(mem::ThreadContext& context, std::size_t untold) noexcept;
  Event create(ThreadBuffer& buffer, const mem::Tenant& tenant, const mem::Storage& storage,
               std::uint16_t extra, std::uint32_t stack) noexcept;
  // The numbers of lines, calls and layouts; in writer_names.cpp.
  std::uint32_t origin(ThreadBuffer& buffer, const char* op, Site site, const mem::NamePath* path,
                       std::uint32_t stack = 0) noexcept;
  /// The calls that this thread is in; none where nobody asked for them.
  static CallStack calls_here() noexcept;
  /// Their number in the recording; 0 for none.
  std::uint32_t stack(ThreadBuffer& buffer, const CallStack& calls) noexcept;
  /// Where not all stacks are recorded: those of some tensors of each line, so that who called a
  /// line that grows is known at little cost.
  void sample_calls(ThreadBuffer& buffer, const mem::ThreadContext& context,
                    const mem::Tenant& tenant, std::uint32_t origin) noexcept;
  /// Of a run, whose op is the name of what runs.
  std::uint32_t origin(ThreadBuffer& buffer, const mem::PlannedRun& run,
                       const mem::NamePath* path) noexcept;
  std::uint32_t layout(ThreadBuffer& buffer, DType dtype, const Shape& shape) noexcept;
  std::int64_t now() const noexcept { return clock_.now(); }

  std::mutex mutex_;                         // of beginning and ending, and of buffers_
  std::vector<ThreadBuffer*> buffers_;       // never freed, as the contexts that have them
  std::atomic<std::uint64_t> recording_{0};  // 0: none is on
  std::uint64_t recordings_ = 0;
  std::unique_ptr<Session> session_;  // does not change while recording_ is not 0
  Clock clock_;
  std::atomic<bool> is_census_due_{false};
  std::atomic<std::int64_t> things_sampled_{0};
  AllDeviceTimes device_times_;
  std::atomic<std::uint64_t> marks_{0};
  std::array<std::atomic<std::int64_t>, mem::kDevices> outside_sampled_{};  // when
  // What pools did and nobody has written yet. The lock is never held while anything else is taken.
  struct PartChange {
    mem::PoolPart part;
    std::int64_t time;
    std::uint8_t tag;
  };
  std::atomic_flag parts_busy_{};
  std::atomic<bool> has_parts_{false};
  std::unique_ptr<std::vector<PartChange>> parts_;
};

/// From 1 up; no two threads of a process have the same, though a later one may have the context
/// of one that has ended.
inline std::uint32_t life_of_this_thread() noexcept {
  static std::atomic<std::uint32_t> last{0};
  static thread_local std::uint32_t life = 0;
  if (life == 0) [[unlikely]]
    life = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return life;
}

template <class Act>
void Writer::write_if_on(mem::ThreadContext& context, const Act& act) noexcept try {
  if (recording_.load(std::memory_order_relaxed) == 0) return;
  ThreadBuffer& buffer = buffer_of(context);
  const ThreadBuffer::Lock busy(buffer);
  const std::uint64_t recording = recording_.load(std::memory_order_seq_cst);
  if (recording == 0) return;
  const std::uint32_t life = life_of_this_thread();
  if (buffer.recording != recording) {
    buffer.recording = recording;
    buffer.life = life;
    buffer.chunk = {};
    buffer.origins.fill({});
    buffer.stacks.fill({});
    buffer.samplers.fill({});
    buffer.random = life;
    buffer.runs_within = 0;
    buffer.runs.fill({});
    buffer.layouts.fill({});
  }
  if (buffer.life != life) [[unlikely]] {
    buffer.life = life;
    put(buffer, context, {.kind = EventKind::thread, .subject = life});
  }
  act(buffer);
} catch (const std::bad_alloc&) {  // a thread without a buffer is not recorded
}

template <class Fill>
void Writer::write(mem::ThreadContext& context, const Fill& fill) noexcept {
  write_if_on(context, [&](ThreadBuffer& buffer) { put(buffer, context, fill(buffer)); });
}

}  // namespace tenure::profile
