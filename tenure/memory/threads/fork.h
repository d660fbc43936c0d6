#pragma once

#include <mutex>

namespace tenure::mem {

// Note: what happens at a fork
//
// A child has the forking thread alone. Whatever another thread had locked would stay locked there,
// and what it was changing would stay half changed. So a fork first takes every lock there is, in
// the order in which locks are taken within each other: those of objects (object_mutex.h), that of
// results that can be given up (holders/evictable.h), that of spare memory (holders/spare.h), a
// census, which waits until no thread is making or ending a tensor, and those of memory/, which
// each file below has beside what it guards. Parent and child both let go of them.
//
// In the child the contexts of the other threads stay as they are: what these hold is live, their
// counts count, and nobody gets what lies in their bins.
//
// Locks of folders above are taken before these, if their handlers were registered later, as those
// of handlers are.

std::mutex& spare_mutex() noexcept;
std::mutex& budget_mutex() noexcept;
std::mutex& registry_mutex() noexcept;
std::mutex& ring_mutex() noexcept;
std::mutex& name_mutex() noexcept;

/// Reaches the static objects of folders above that are made when they are first reached, and waits
/// for threads that are just making one: a child would wait for them for ever. Objects of the kind
/// of Lasting need no such thing. In tenure/wiring.cpp.
void reach_statics_above() noexcept;

/// In a child: one that another thread began, which nobody would end. For whoever has ring_mutex().
void drop_recording_of_others() noexcept;

/// Makes the forking thread known, if it is not: no lock of a fork is held yet. True if nobody was
/// known before; then what the environment says has not begun, for whoever records must be told of
/// a fork from its start.
bool attach_for_fork();

/// Does what the environment says, while other threads that come to use memory wait.
void begin_with_first_thread() noexcept;
/// In a child: whoever was at it is not there.
void nobody_begins() noexcept;

/// Registers it with the system; the registry of threads does.
bool prepare_for_forks() noexcept;

}  // namespace tenure::mem
