#pragma once

#include <atomic>

namespace tenure {

/// Something that is made when it is first asked for, and stays until the process has ended.
/// Threads that ask at once may each make one, of which one stays. So there is no lock: a static
/// object in a function has one, the compiler's, and a child of fork() would find it held for ever
/// where another thread was just making the object.
///
///     Registry& registry() {
///       static constinit Lasting<Registry> one;
///       return one.get([] { return new Registry; });
///     }
template <class T>
class Lasting {
 public:
  /// `make` gives a pointer from `new`, and has no other effect.
  template <class Make>
  T& get(const Make& make) {
    T* const known = object_.load(std::memory_order_acquire);
    if (known != nullptr) [[likely]]
      return *known;
    T* const made = make();
    T* first = nullptr;
    if (object_.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *first;
  }

 private:
  std::atomic<T*> object_{nullptr};
};

}  // namespace tenure
