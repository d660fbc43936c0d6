#include "tenure/base/per_thread.h"

#include <pthread.h>

#include <type_traits>

namespace tenure {

static_assert(std::is_same_v<pthread_key_t, unsigned>);

void ThreadKey::set(void* value) noexcept {
  std::int64_t key = key_.load(std::memory_order_acquire);
  if (key < 0) {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, end_) != 0) return;
    if (key_.compare_exchange_strong(key, made, std::memory_order_acq_rel)) {
      key = made;
    } else {
      pthread_key_delete(made);  // another thread's came first
    }
  }
  pthread_setspecific(static_cast<pthread_key_t>(key), value);
}

}  // namespace tenure
