#include "tenure/autograd/control.h"
#include "tenure/autograd/function.h"
#include "tenure/autograd/late.h"
#include "tenure/eager/evictor.h"
#include "tenure/eager/run.h"
#include "tenure/graph/ir/control_ops.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/threads/fork.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/list.h"
#include "tenure/profile/profile.h"
#include "tenure/tensor/host.h"

// Note: where lower folders call upper ones
//
// A folder includes and links what lies below it. Where it needs something of a folder above, it
// declares what it needs, in a header of its own, and here is who does it. Nothing registers
// itself, and there is no other way up: tools/check_links.py holds every folder to that.

namespace tenure {

// memory/observer.h

void mem::begin_as_environment_says() noexcept { profile::begin_as_environment_says(); }

// memory/holders/evictable.h

void mem::pin_result(ThreadContext& context, Storage& storage) {
  const eager::ResultsLock lock;
  eager::Evictor::get().pin(context, storage);
}
void mem::unpin_result(std::uint64_t storage_serial) noexcept {
  const eager::ResultsLock lock;
  eager::Evictor::get().unpin(storage_serial);
}
bool mem::make_room(ThreadContext& context, const BudgetAccount& refusing,
                    std::size_t bytes) noexcept {
  const eager::ResultsLock lock;
  return eager::Evictor::get().make_room(context, refusing, bytes);
}
bool mem::let_go(Storage& storage) noexcept {
  const eager::ResultsLock lock;
  return eager::Evictor::get().let_go(storage);
}
void mem::expose(Storage& storage, bool may_write) {
  const eager::ResultsLock lock;
  eager::Evictor::get().expose(storage, may_write);
}
bool mem::outlives_holders(Storage& storage) noexcept {
  const eager::ResultsLock lock;
  return eager::Evictor::get().outlives_holders(storage);
}
void mem::stop_evicting() noexcept {
  const eager::ResultsLock lock;
  eager::Evictor::get().stop_evicting();
}
void mem::lock_results() noexcept { eager::lock_results(); }
void mem::unlock_results() noexcept { eager::unlock_results(); }

// memory/threads/fork.h

void mem::reach_statics_above() noexcept {
  try {
    ops::all_ops();                  // the record of each op
  } catch (const std::exception&) {  // no memory for the list: no op can be called either
  }
}

// ops/core/backend.h: each device has its line here

ops::Backend* ops::find_backend(Device device) {
  if (device.kind == Device::Kind::cpu) return &kernels::cpu_backend();
  return find_added_backend(device);
}

// tensor/host.h

void read_from_device(Device device, void* host, const void* from, std::size_t bytes) {
  ops::backend(device).read(host, from, bytes);
}
void write_to_device(Device device, void* to, const void* host, std::size_t bytes) {
  ops::backend(device).write(to, host, bytes);
}

// ops/core/dispatch.h

Tensor ops::run_now(const OpRecord& op, std::span<const Operand> operands,
                    const Attributes& attributes, Site site) {
  return eager::run_now(op, operands, attributes, site);
}
Tensor ops::run_now(const OpRecord& op, const Operand& a, const Operand& b) {
  return eager::run_now(op, a, b);
}
std::vector<Tensor> ops::run_many_now(const OpRecord& op, std::span<const Operand> operands,
                                      const Attributes& attributes, Site site) {
  return eager::run_many_now(op, operands, attributes, site);
}
Tensor ops::run_untaped(const OpRecord& op, std::span<const Operand> operands,
                        const Attributes& attributes, Site site) {
  return eager::run_untaped(op, operands, attributes, site);
}
std::vector<Tensor> ops::run_many_untaped(const OpRecord& op, std::span<const Operand> operands,
                                          const Attributes& attributes, Site site) {
  return eager::run_many_untaped(op, operands, attributes, site);
}

// ops/core/list.h

std::vector<const ops::OpRecord*> ops::ops_from_above() {
  std::vector<const OpRecord*> list = graph::control_ops();
  for (const OpRecord* const op : autograd::gradient_ops()) list.push_back(op);
  return list;
}

// graph/function.h

std::optional<graph::FunctionCore::Result> graph::call_taped(FunctionCore& core,
                                                             const FunctionCore::Call& call,
                                                             const FunctionCore::Trace& trace) {
  return autograd::call_taped(core, call, trace);
}

// graph/ir/control_ops.h

void graph::gradient_of_cond(ops::Backward& b) { autograd::gradient_of_cond(b); }
void graph::gradient_of_while(ops::Backward& b) { autograd::gradient_of_while(b); }
void graph::gradient_of_scan(ops::Backward& b) { autograd::gradient_of_scan(b); }

}  // namespace tenure
