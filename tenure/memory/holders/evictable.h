#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/memory/threads/thread_context.h"

// Note: results that can be given up
//
// Under a Budget that evicts, the data of a result may go while its tensors stay: the storage is
// then hollow, and is filled again when somebody pins a tensor of it. What a result is computed
// from, memory/ does not know: tenure/eager does all that is declared here (see
// tenure/wiring.cpp).
//
//     tracked storage   it has a result that can be computed again, or is read by how another is:
//                       its end and writes to it are told (a bit of its chunk pointer)
//     tagged tenant     a tensor of a result: to pin it takes the long way (a bit of its storage
//                       word, as a disposal has)
//
// One lock, of one thread at a time and as often as it likes, guards all of it, and is held while
// something is computed again. It is taken before every lock of memory/, and after those of
// objects.

namespace tenure::mem {

class BudgetAccount;
class Storage;

/// Makes sure that the data of a result is there, and keeps it until unpin_result(). Throws
/// OutOfMemory, and then has changed nothing.
void pin_result(ThreadContext& context, Storage& storage);
void unpin_result(std::uint64_t storage_serial) noexcept;

/// Gives up results that count in `refusing`, so that `bytes` more may fit there. False: nothing
/// more can be done.
bool make_room(ThreadContext& context, const BudgetAccount& refusing, std::size_t bytes) noexcept;

/// Somebody who has it pinned wants to overwrite all of a tracked storage. False: what was given up
/// is computed from what it holds now.
bool let_go(Storage& storage) noexcept;

/// A pointer to the data of a tracked storage is handed out: the data stays where it is from now
/// on. If it may be written through, whatever is computed from it is first computed for good.
/// Throws OutOfMemory.
void expose(Storage& storage, bool may_write);

/// The last reference to a tracked storage went. True: it goes on as a part of how something else
/// is computed; else it is no longer tracked.
bool outlives_holders(Storage& storage) noexcept;

/// A budget that evicts has ended.
void stop_evicting() noexcept;

/// For a fork.
void lock_results() noexcept;
void unlock_results() noexcept;

}  // namespace tenure::mem
