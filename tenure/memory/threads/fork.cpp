#include "tenure/memory/threads/fork.h"

#include <pthread.h>

#include <array>
#include <new>

#include "tenure/base/object_mutex.h"
#include "tenure/memory/accounts/device_ledger.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/evictable.h"
#include "tenure/memory/pool/pool.h"

namespace tenure::mem {
namespace {

constinit std::mutex fork_mutex;  // one at a time
alignas(Census) std::byte census_of_fork[sizeof(Census)];

std::array<std::mutex*, 3> leaf_locks() noexcept {
  return {&registry_mutex(), &ring_mutex(), &name_mutex()};
}

bool is_first_use = false;  // of memory in this process; guarded by fork_mutex

void before_fork() {
  fork_mutex.lock();
  is_first_use = attach_for_fork();
  reach_statics_above();
  pause_object_locks();
  lock_results();
  spare_mutex().lock();
  new (census_of_fork) Census;
  budget_mutex().lock();  // who has it asks the ledgers
  lock_pool();
  for (std::mutex* const lock : leaf_locks()) lock->lock();
  DeviceLedger::lock_for_fork();
  Population::lock_all();
}

/// In a child: a thread that was about to make or end a tensor marks itself busy before it sees the
/// census and waits, and the fork may come in between. It is not there to take the mark back.
void forget_busy_threads() noexcept {
  for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
    c->busy.store(0, std::memory_order_relaxed);
  }
}

void after_fork(bool is_child) {
  if (is_child) {
    drop_recording_of_others();
    forget_busy_threads();
    nobody_begins();
  }
  Population::unlock_all();
  DeviceLedger::unlock_for_fork();
  for (std::mutex* const lock : leaf_locks()) lock->unlock();
  unlock_pool();
  budget_mutex().unlock();
  reinterpret_cast<Census*>(census_of_fork)->~Census();
  spare_mutex().unlock();
  unlock_results();
  resume_object_locks(is_child);
  const bool begins = is_first_use && !is_child;
  fork_mutex.unlock();
  if (begins) begin_with_first_thread();
}

}  // namespace

bool prepare_for_forks() noexcept {
  return pthread_atfork(
             before_fork, [] { after_fork(false); }, [] { after_fork(true); }) == 0;
}

}  // namespace tenure::mem
