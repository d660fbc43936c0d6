#include "tenure/memory/holders/census.h"

#include <mutex>
#include <thread>

#include "tenure/memory/holders/tenant.h"
#include "tenure/memory/pool/pool.h"

namespace tenure::mem {
namespace {

std::mutex census_mutex;

}  // namespace

std::atomic<bool> census_is_on{false};
const bool vital_sections_fence = !has_asymmetric_fence();

void wait_for_census(ThreadContext& context) noexcept {
  do {
    context.busy.store(0, std::memory_order_release);
    { const std::lock_guard wait(census_mutex); }
    context.busy.exchange(1, std::memory_order_seq_cst);
  } while (census_is_on.load(std::memory_order_seq_cst));
}

Census::Census() {
  census_mutex.lock();
  census_is_on.store(true, std::memory_order_seq_cst);
  heavy_fence();
  for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
    while (c->busy.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
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
