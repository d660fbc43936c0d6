#pragma once

#include <atomic>
#include <cstdint>

#include "tenure/base/error.h"

namespace tenure {

/// Something that another thread was changing when the process was forked is used in the child.
class ForkError : public Error {
 public:
  using Error::Error;
};

// Note: locks of objects at a fork
//
// A child of fork() has the forking thread alone. What another thread had locked stays locked there
// for good, and half changed. A fork therefore keeps everybody from locking objects anew and waits,
// though not for long, until none is locked. Where somebody was in the middle of a long run, or
// waits for the forking thread, the child finds the lock abandoned: to lock it throws, instead of
// waiting for nobody.

/// How many forks this process is away from the one that was not forked.
std::uint32_t fork_generation() noexcept;

/// The lock of one object, as std::mutex; for library code that may run at a fork.
class ObjectMutex {
 public:
  ObjectMutex() = default;
  ObjectMutex(const ObjectMutex&) = delete;
  ObjectMutex& operator=(const ObjectMutex&) = delete;

  /// Throws ForkError if it is abandoned.
  void lock();
  void unlock() noexcept;
  /// Whoever held it is not in this process.
  bool is_abandoned() const noexcept;

 private:
  /// 0: free; else twice the generation that locked it, counted from 1, and 1 if somebody waits.
  std::atomic<std::uint32_t> word_{0};
};

/// Before a fork: nobody locks objects from here on, and but for those that take long none is
/// locked. One at a time.
void pause_object_locks() noexcept;
/// After it.
void resume_object_locks(bool is_child) noexcept;

}  // namespace tenure
