#include "tenure/base/per_thread.h"

#include <pthread.h>

#include <type_traits>

namespace tenure {

static_assert(std::is_same_v<pthread_key_t, unsigned>);

ThreadKey::ThreadKey(void (*end)(void*)) noexcept {
  if (pthread_key_create(&key_, end) != 0) key_ = static_cast<unsigned>(-1);
}

void ThreadKey::set(void* value) const noexcept { pthread_setspecific(key_, value); }

}  // namespace tenure
