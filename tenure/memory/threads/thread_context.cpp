#include "tenure/memory/threads/thread_context.h"

#include <chrono>
#include <mutex>
#include <thread>

#include "tenure/base/per_thread.h"
#include "tenure/memory/holders/tenant.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/threads/fork.h"
#include "tenure/memory/threads/frame.h"

namespace tenure::mem {
namespace {

constinit std::mutex contexts_mutex;
std::atomic<ThreadContext*> registry{nullptr};
std::uint32_t next_number = 0;  // guarded by contexts_mutex
std::atomic<bool> is_beginning{false};

void detach(void* /*key_value*/) {
  ThreadContext* const context = current_context;
  leave_scopes(*context);
  leave_budgets(*context);
  context->fail_after = -1;
  context->attention = 0;
  receive_mail(*context);
  context->tally.settle();
  flush_thread_cache(*context);
  current_context = nullptr;
  const std::lock_guard lock(contexts_mutex);
  context->in_use = false;
}

/// Keys are destroyed after thread_local objects, so tensors among those still have a context.
constinit ThreadKey detach_key(detach);

// Before anybody can have a thread that allocates.
[[maybe_unused]] const bool is_prepared_for_forks = prepare_for_forks();

/// True if nobody was known before.
bool attach() {
  bool is_first = false;
  {
    const std::lock_guard lock(contexts_mutex);
    for (ThreadContext* c = registry.load(std::memory_order_relaxed); c != nullptr; c = c->next) {
      if (!c->in_use) {
        c->in_use = true;
        current_context = c;
        break;
      }
    }
    if (current_context == nullptr) {
      auto* const context = new ThreadContext;
      is_first = next_number == 0;
      if (is_first) is_beginning.store(true, std::memory_order_relaxed);
      context->number = next_number++;
      context->next = registry.load(std::memory_order_relaxed);
      registry.store(context, std::memory_order_seq_cst);  // a census sees it, or it the census
      current_context = context;
    }
  }
  detach_key.set(current_context);
  return is_first;
}

}  // namespace

std::mutex& registry_mutex() noexcept { return contexts_mutex; }

constinit thread_local ThreadContext* current_context = nullptr;
std::atomic<std::uint32_t> process_attention{0};

ThreadContext* all_contexts() noexcept { return registry.load(std::memory_order_seq_cst); }

// Threads that come while the first one begins to record wait for it, so that nothing of them is
// missed; not for ever, whatever else may wait for whom.
ThreadContext& attach_thread() {
  if (attach()) {
    begin_with_first_thread();
  } else {
    constexpr int kPatience = 2000;
    for (int i = 0; i < kPatience && is_beginning.load(std::memory_order_acquire); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return *current_context;
}

void begin_with_first_thread() noexcept {
  begin_as_environment_says();
  nobody_begins();
}

void nobody_begins() noexcept { is_beginning.store(false, std::memory_order_release); }

bool attach_for_fork() { return current_context == nullptr && attach(); }

}  // namespace tenure::mem
