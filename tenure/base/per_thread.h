#pragma once

#include <memory>

namespace tenure {

// Note: what a thread has of the library's
//
// thread_local objects of the library would end before those of its users that are older, and
// before all static ones: a destructor that computes would use what has ended. So what the library
// keeps for a thread hangs on a pointer, which is there until the very end, and ends by a key of
// the thread, later than all thread_local objects. Whoever comes later still gets a new one. That
// of the main thread stays until the process has ended, as do the library's static objects.

/// A key of threads, whose values end with the thread by `end`. Where the system has no more keys,
/// or no room for a value, what ended threads had stays.
class ThreadKey {
 public:
  explicit ThreadKey(void (*end)(void*)) noexcept;
  void set(void* value) const noexcept;

 private:
  unsigned key_ = 0;
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
    static const ThreadKey key([](void* value) {
      object = nullptr;  // what its end calls gets a new one
      delete static_cast<T*>(value);
    });
    object = std::make_unique<T>().release();
    key.set(object);
  }

  static inline constinit thread_local T* object = nullptr;
};

}  // namespace tenure
