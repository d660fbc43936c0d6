#include "tenure/memory/out_of_memory.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tenure/memory/budget.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/holders/holder_groups.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/pool/reserve.h"

namespace tenure::mem {
namespace {

void add_calls_of_holders(OutOfMemory& error, const WhichHolders& which) noexcept try {
  for (const HolderGroup& group : error.facts().largest) {
    const std::string heading =
        fmt::format("calls that led to most of {} at {}", group.op, to_string(group.site));
    add_calls(error, heading, common_holder(group, group.tensors, which).calls);
  }
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the error says the rest
}

}  // namespace

void throw_out_of_memory(OutOfMemory::Cause cause, std::size_t requested,
                         const BudgetAccount* refusing, Device device) {
  constexpr std::size_t kShown = 5;
  if (cause == OutOfMemory::Cause::system) spend_reserve();
  OutOfMemory::Facts facts;
  facts.cause = cause;
  facts.requested = requested;
  facts.used = static_cast<std::size_t>(live_bytes(device));
  facts.cached = pool_stats(device).cached;
  if (refusing != nullptr) facts.used = refusing->used();
  ThreadContext& context = this_thread();
  if (Observer* const o = observer(context)) {
    o->refused(context, {.cause = cause,
                         .requested = requested,
                         .budget = refusing,
                         .device = device,
                         .used = facts.used});
  }
  try {
    facts.device = name_of(device);
    if (refusing != nullptr) {
      facts.budget = refusing->name();
      facts.limit = refusing->limit();
    }
    facts.largest = holder_groups({.within = refusing, .device = device});
    std::erase_if(facts.largest, [](const HolderGroup& group) { return group.bytes == 0; });
    if (facts.largest.size() > kShown) facts.largest.resize(kShown);
  } catch (const std::bad_alloc&) {
    facts.largest.clear();  // the reserve was spent before, and there is no memory to look around
  }
  OutOfMemory error(std::move(facts));
  if (callers() != nullptr) add_calls_of_holders(error, {.within = refusing, .device = device});
  throw error;
}

}  // namespace tenure::mem
