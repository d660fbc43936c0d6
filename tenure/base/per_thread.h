#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tenure {

// Note: what a thread has of the library's
//
// thread_local objects of the library would end before those of its users that are older, and
// before all static ones: a destructor that computes would use what has ended. So what the library
// keeps for a thread hangs on a pointer, which is there until the very end, and ends by a key of
// the thread, later than all thread_local objects. Whoever comes later still gets a new one. That
// of the main thread stays until the process has ended, as do the library's static objects.

/// A key of threads, whose values end with the thread by `end`; made when it is first set, without
/// a lock that a child of fork() could find held. Where the system has no more keys, or no room for
/// a value, what ended threads had stays.
class ThreadKey {
 public:
  constexpr explicit ThreadKey(void (*end)(void*)) noexcept : end_(end) {}
  void set(void* value) noexcept;

 private:
  void (*end_)(void*);
  std::atomic<std::int64_t> key_{-1};  // none yet
};

template <class T>
class PerThread {
 public:
  /// The calling thread's own; made, with its default constructor, when it is first asked for.
  static T& get() {
    if (object == nullptr) [[unlikely]]
      make();
    return *object;
  }

 private:
  static void make() {
    static constinit ThreadKey key([](void* value) {
      object = nullptr;  // what its end calls gets a new one
      delete static_cast<T*>(value);
    });
    object = std::make_unique<T>().release();
    key.set(object);
  }

  static inline constinit thread_local T* object = nullptr;
};

}  // namespace tenure
