#include "tenure/eager/evictor.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "tenure/base/lasting.h"
#include "tenure/memory/accounts/device_ledger.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/core/call_context.h"

namespace tenure::eager {
namespace {

mem::Population& population() {
  static constinit Lasting<mem::Population> tracked;
  return tracked.get(
      [] { return new mem::Population("storage that can be computed again, or is read for it"); });
}

/// While it lives, the thread is in no mode.
class NoMode {
 public:
  NoMode() noexcept : outer_(std::exchange(ops::call_context(), {})) {}
  ~NoMode() { ops::call_context() = outer_; }
  NoMode(const NoMode&) = delete;
  NoMode& operator=(const NoMode&) = delete;

 private:
  ops::CallContext outer_;
};

/// While it lives, calls of the thread are as the first one of a recipe was.
struct AsAtFirst {
  AsAtFirst(mem::ThreadContext& context, const Recipe& recipe, Category category)
      : device(recipe.device), charge(*recipe.account), category(context, category) {}
  NoMode no_mode;
  DeviceScope device;
  mem::ChargeTo charge;
  mem::CategoryGuard category;
};

constinit std::mutex results_mutex;
constinit std::atomic<const mem::ThreadContext*> lock_owner{nullptr};
constinit int lock_depth = 0;  // of the owner

mem::Storage* take_storage(Tensor& tensor) {
  TensorBody& body = *tensor.body_or_null();
  const Pin pin(body, body.op(), body.created());
  return body.take_storage();
}

Category category_of(const Recipe& recipe) {
  for (const Value* const output : recipe.outputs) {
    if (output != nullptr && output->is_wanted()) return output->storage->category();
  }
  return Category::activation;
}

}  // namespace

void lock_results() noexcept {
  const mem::ThreadContext* const thread = &mem::this_thread();
  if (lock_owner.load(std::memory_order_relaxed) != thread) {
    results_mutex.lock();
    lock_owner.store(thread, std::memory_order_relaxed);
  }
  ++lock_depth;
}

void unlock_results() noexcept {
  if (--lock_depth != 0) return;
  lock_owner.store(nullptr, std::memory_order_relaxed);
  results_mutex.unlock();
}

void note_slowly(const Evictor::Call& call) {
  const auto is_concerned = [](const Tensor& output) {
    const mem::Storage& storage = *output.body_or_null()->pinned_storage();
    return storage.is_tracked() || (storage.budget() != nullptr && storage.can_be_hollow() &&
                                    storage.budget()->is_evicting());
  };
  if (std::none_of(call.outputs.begin(), call.outputs.end(), is_concerned)) return;
  const ResultsLock lock;
  Evictor::get().note(call);
}

Evictor::Evictor() : counted_(population(), Site()) {}

Evictor& Evictor::get() {
  static constinit Lasting<Evictor> evictor;  // storages may end after everything static
  return evictor.get([] { return new Evictor; });
}

void Evictor::give_up(mem::ThreadContext& context, Value& value) {
  if (policy_.is_known(value.id)) policy_.on_evict(value.id);
  if (!value.is_owner) return value.storage->hollow_out(context);
  value.is_owner = false;
  std::exchange(value.storage, nullptr)->release();
}

/// What was computed for another computation alone.
void Evictor::drop_if_idle(mem::ThreadContext& context, Value& value) {
  if (!value.is_owner || value.recipe == nullptr || value.pins != 0) return;
  for (const Recipe* const reader : value.readers) {
    for (const Value* const output : reader->outputs) {
      if (output != nullptr && output->is_wanted() && !output->is_live()) return;
    }
  }
  give_up(context, value);
}

/// Makes the call, whose inputs are live and pinned. False: another thread has just ended the last
/// tensor of one.
bool Evictor::try_run(mem::ThreadContext& context, Recipe& recipe) {
  std::vector<Tensor> tensors;
  std::vector<Operand> operands;
  tensors.reserve(recipe.inputs.size());
  operands.reserve(recipe.inputs.size());
  for (const Recipe::Input& input : recipe.inputs) {
    if (input.value == nullptr) {
      operands.emplace_back(input.number, recipe.site);
      continue;
    }
    mem::Storage* const storage = input.value->storage;
    if (!storage->retain_if_alive()) {
      ended_.emplace(storage->serial(), has_ended(*storage));
      return false;
    }
    tensors.push_back(make_tensor(context, storage, input.dtype, input.shape, input.strides,
                                  input.offset, recipe.op->name, recipe.site, HolderKind::view));
    operands.emplace_back(tensors.back(), recipe.site);
  }
  std::vector<Tensor> results;
  {
    const AsAtFirst as_at_first(context, recipe, category_of(recipe));
    is_running_ = true;
    try {
      results = run_again(recipe, operands);
    } catch (...) {
      is_running_ = false;
      throw;
    }
    is_running_ = false;
  }
  for (std::size_t o = 0; o < results.size(); ++o) {
    Value* const value = recipe.outputs[o];
    if (value == nullptr || value->is_live()) continue;
    mem::Storage* const fresh = take_storage(results[o]);
    if (value->storage != nullptr) {
      value->storage->refill(context, fresh);
    } else {
      value->storage = fresh;
      value->is_owner = true;
      mem::DeviceLedger::of(fresh->device()).recomputed(0);
    }
    if (policy_.is_known(value->id)) policy_.on_recompute(value->id);
  }
  return true;
}

/// One value that is being computed, and those of its inputs that were computed for it.
struct Evictor::Step {
  Value* value;
  Values pinned{};
};

// Without recursion: a row of values may be as long as a program.
void Evictor::compute(mem::ThreadContext& context, Value& target) {
  std::vector<Step> steps;
  const auto let_go = [&](Values& pinned) {
    for (Value* const value : pinned) {
      if (value->pins != 0) --value->pins;
      drop_if_idle(context, *value);
    }
    pinned.clear();
  };
  const auto keep = [](Step& step, Value& value) {
    if (std::find(step.pinned.begin(), step.pinned.end(), &value) != step.pinned.end()) return;
    step.pinned.push_back(&value);
    ++value.pins;
  };
  steps.push_back({.value = &target});
  try {
    while (!steps.empty()) {
      Step& step = steps.back();
      if (!step.value->is_live()) {
        Recipe& recipe = *step.value->recipe;
        const auto missing = std::find_if(
            recipe.inputs.begin(), recipe.inputs.end(),
            [](const auto& input) { return input.value != nullptr && !input.value->is_live(); });
        if (missing != recipe.inputs.end()) {
          steps.push_back({.value = missing->value});
          continue;
        }
        for (const Recipe::Input& input : recipe.inputs) {
          if (input.value != nullptr) keep(step, *input.value);
        }
        if (!try_run(context, recipe)) continue;
      }
      Value& done = *step.value;
      Values pinned = std::move(step.pinned);
      steps.pop_back();
      if (!steps.empty()) keep(steps.back(), done);
      let_go(pinned);
    }
  } catch (...) {
    for (Step& step : steps) let_go(step.pinned);
    throw;
  }
}

void Evictor::pin(mem::ThreadContext& context, mem::Storage& storage) {
  Value* const value = find(storage.serial());
  if (value == nullptr || value->is_taken) return;
  if (!value->is_live()) compute(context, *value);
  ++value->pins;
  if (policy_.is_known(value->id)) policy_.on_access(value->id);
}

void Evictor::unpin(std::uint64_t serial) noexcept {
  Value* const value = find(serial);
  if (value != nullptr && value->pins != 0) --value->pins;
}

bool Evictor::make_room(mem::ThreadContext& context, const mem::BudgetAccount& refusing,
                        std::size_t bytes) noexcept {
  if (bytes > refusing.limit()) return false;
  const auto may_go = [&](std::uint64_t id) {
    const Value& value = *results_.at(id);
    return value.pins == 0 && !value.is_exposed && value.storage->device() == refusing.device() &&
           mem::BudgetAccount::counts_in(value.storage->budget(), refusing.device(), refusing);
  };
  try {
    for (const bool is_last_try : {false, true}) {
      drop_kept(is_last_try);
      const std::size_t used = refusing.used();
      if (used <= refusing.limit() - bytes) return true;
      try {
        const std::size_t wanted = used - (refusing.limit() - bytes);
        for (const std::uint64_t id : policy_.choose(static_cast<std::int64_t>(wanted), may_go)) {
          give_up(context, *results_.at(id));
        }
        return true;
      } catch (const planner::EvictionError&) {  // NOLINT(bugprone-empty-catch): tried once more
      }
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then nothing can be done
  }
  return false;
}

bool Evictor::let_go(mem::Storage& storage) noexcept {
  Value* const value = find(storage.serial());
  if (value == nullptr || value->is_taken) return true;
  if (value->recipe != nullptr) {
    if (policy_.is_known(value->id)) policy_.on_evict(value->id);
    value->is_taken = true;
    value->is_exposed = false;
    value->storage = nullptr;
    value->pins = 0;
    return true;
  }
  if (!settle_readers(*value)) return false;
  forget_unneeded({value});
  return true;
}

void Evictor::expose(mem::Storage& storage, bool may_write) {
  Value* const value = find(storage.serial());
  if (value == nullptr || value->is_taken) return;
  if (!may_write) {
    value->is_exposed = true;
    return;
  }
  mem::ThreadContext& context = mem::this_thread();
  Values pinned;
  try {
    for (Value* const reached : reached_from(*value)) {
      if (!reached->is_live()) compute(context, *reached);
      pinned.push_back(reached);
      ++reached->pins;
    }
  } catch (...) {
    for (Value* const reached : pinned) --reached->pins;
    throw;
  }
  for (Value* const reached : pinned) settle(*reached);
  if (value->recipe != nullptr) settle(*value);
}

bool Evictor::outlives_holders(mem::Storage& storage) noexcept {
  const auto known = ended_.find(storage.serial());
  if (known == ended_.end()) {
    const bool outlives = has_ended(storage);
    counted_.set(places_.size());
    return outlives;
  }
  const bool outlives = known->second;
  ended_.erase(known);
  return outlives;
}

void Evictor::stop_evicting() noexcept {
  try {
    Values live;
    for (const auto& [id, value] : results_) {
      if (value->is_wanted() && value->is_live() && !value->storage->budget()->is_evicting()) {
        live.push_back(value);
      }
    }
    for (Value* const value : live) settle(*value);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): recipes stay, and do no harm
  }
}

}  // namespace tenure::eager
