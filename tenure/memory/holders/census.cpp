#include "tenure/memory/holders/census.h"

#include <mutex>
#include <thread>

#include "tenure/memory/holders/tenant.h"
#include "tenure/memory/pool/pool.h"

namespace tenure::mem {
namespace {

std::mutex census_mutex;

bool does_anybody_wait() noexcept {
  for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
    if (c->busy.load(std::memory_order_relaxed) == kWaits) return true;
  }
  return false;
}

/// A mutex is had by whoever comes at the right moment: without this, looks without a pause would
/// leave the others no turn. As long as no census is on nobody begins to wait, so this ends.
void lock_after_those_who_wait() {
  for (;;) {
    census_mutex.lock();
    if (!does_anybody_wait()) return;
    census_mutex.unlock();
    std::this_thread::yield();
  }
}

}  // namespace

std::atomic<bool> census_is_on{false};
const bool vital_sections_fence = !has_asymmetric_fence();

void wait_for_census(ThreadContext& context) noexcept {
  context.busy.store(kWaits, std::memory_order_release);
  const std::lock_guard wait(census_mutex);  // while somebody has it no other census begins
  context.busy.exchange(kBusy, std::memory_order_seq_cst);
}

Census::Census() {
  lock_after_those_who_wait();
  census_is_on.store(true, std::memory_order_seq_cst);
  heavy_fence();
  for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
    while (c->busy.load(std::memory_order_seq_cst) == kBusy) std::this_thread::yield();
  }
}

Census::~Census() {
  census_is_on.store(false, std::memory_order_seq_cst);
  census_mutex.unlock();
}

void Census::for_each(const std::function<void(const Tenant&)>& visit) const {
  for_each_block(kTenantBin, [&](void* block) {
    const auto& tenant = *static_cast<const Tenant*>(block);
    if (tenant.id() != 0) visit(tenant);
  });
}

}  // namespace tenure::mem
