#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure {

/// Something that happened to memory.
struct MemoryEvent {
  enum class Kind : std::uint8_t {
    allocate,  ///< a storage was made; not of foreign memory
    free,      ///< the last reference to it went
    create,    ///< a tensor was made, on a new or an existing storage
    dispose,   ///< a tensor gave up its data
    destroy,   ///< a tensor's last handle went
    evict,     ///< a storage gave up its data, which can be computed again; see Budget
    /// A storage has its data again. Before it, that was allocated and freed as another one's.
    recompute,
  };
  Kind kind = Kind::allocate;
  std::uint32_t thread = 0;
  std::int64_t time_ns = 0;   ///< since the process's first event
  std::uint64_t tensor = 0;   ///< its id; 0 for storages
  std::uint64_t storage = 0;  ///< equal for all events of one storage
  std::int64_t bytes = 0;     ///< of the storage; 0 when a tensor is destroyed
  Device device = cpu;        ///< where the storage lies
  /// The op that made the tensor; of an allocation the storage's first, of a free the last, if it
  /// followed or came before on the same thread within a few events. nullptr: not known, as for
  /// workspaces.
  const char* op = nullptr;
  /// Where the tensor was made; of a disposal, and a free through one, where it was disposed. A
  /// handle's end has no line of its own. Unknown where `op` is.
  Site site{};
};

/// Records memory events of all threads while it lives; at most one at a time. The newest
/// `capacity` events are kept.
class Recording {
 public:
  /// Throws ValueError for a capacity of 0 or beyond all memory, and while another one is on;
  /// OutOfMemory if there is no room for so many events.
  explicit Recording(std::size_t capacity = 1 << 20, Site site = Site::current());
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// The events so far, oldest first.
  std::vector<MemoryEvent> events() const;
  /// How many older events the ring has dropped.
  std::uint64_t dropped() const;
};

}  // namespace tenure

namespace tenure::mem {

/// Appends an event, stamped with time and thread, if a Recording is on.
void record(const ThreadContext& context, MemoryEvent event) noexcept;

}  // namespace tenure::mem
