#include <algorithm>
#include <array>
#include <variant>

#include "tenure/eager/evictor.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/cost.h"

// What was computed from what. Nothing here touches data but to drop it.

namespace tenure::eager {
namespace {

/// A ghost that needs so many others first is not worth computing again; and a loop that goes on
/// for long must not leave more and more of them.
constexpr std::size_t kLongestRow = 256;

/// Computing again what a program among the attributes does is no one call.
bool has_programs(const ops::Attributes& attributes) {
  for (int i = 0; i < attributes.size(); ++i) {
    if (std::holds_alternative<std::shared_ptr<const ops::Opaque>>(attributes[i])) return true;
  }
  return false;
}

/// Whether the host may change it without telling.
bool is_open_to_host(const mem::Storage& storage) {
  return storage.is_foreign() || storage.last_write() != 0;
}

bool can_be_given_up(const mem::Storage& storage) {
  return storage.can_be_hollow() && !is_open_to_host(storage) && storage.budget() != nullptr &&
         storage.budget()->is_evicting();
}

mem::Storage& storage_of(const Tensor& tensor) { return *tensor.body_or_null()->pinned_storage(); }

std::int64_t cost_of(const Recipe& recipe, std::span<const Tensor> outputs) {
  const auto view = [](DType dtype, const Shape& shape, const Strides& strides) {
    return ops::View{.dtype = dtype, .shape = shape, .strides = strides, .data = nullptr};
  };
  std::vector<ops::View> in;
  for (const Recipe::Input& input : recipe.inputs) {
    in.push_back(view(input.value == nullptr ? input.number.dtype() : input.dtype, input.shape,
                      input.strides));
  }
  std::vector<ops::View> out;
  for (const Tensor& tensor : outputs) {
    out.push_back(view(tensor.dtype(), tensor.shape(), tensor.strides()));
  }
  const ops::Cost cost = ops::cost_of(
      *recipe.op, {.op = recipe.op->name, .in = in, .out = out, .attributes = recipe.attributes});
  const ops::WorkRates rates = ops::backend(outputs.front().device()).work_rates();
  return static_cast<std::int64_t>(std::min(ops::nanoseconds(cost, rates), 1e15));
}

}  // namespace

Value* Evictor::find(std::uint64_t serial) const {
  const auto found = places_.find(serial);
  return found == places_.end() ? nullptr : found->second;
}

/// nullptr: it is lost, or the host may change it.
Value* Evictor::value_of_input(const Operand& operand) {
  const TensorBody& body = *operand.tensor().body_or_null();
  mem::Storage* const storage = body.pinned_storage();
  if (storage == nullptr) {  // the call computed in it
    Value* const before = find(body.storage_serial());
    return before != nullptr && before->is_taken ? before : nullptr;
  }
  if (is_open_to_host(*storage)) return nullptr;
  if (Value* const known = find(storage->serial())) {
    if (!known->is_taken) return known;
    leave(*storage);
  }
  auto made = std::make_unique<Value>();
  Value* const value = made.get();
  value->storage = storage;
  values_.emplace(value, std::move(made));
  places_.emplace(storage->serial(), value);
  storage->set_tracked(true);
  return value;
}

std::unique_ptr<Recipe> Evictor::recipe_of(const Call& call) {
  const auto is_result = [](const Tensor& output) { return can_be_given_up(storage_of(output)); };
  const auto first = std::find_if(call.outputs.begin(), call.outputs.end(), is_result);
  if (first == call.outputs.end() || has_programs(call.attributes)) return nullptr;
  auto recipe = std::make_unique<Recipe>();
  recipe->op = &call.op;
  recipe->attributes = call.attributes;
  recipe->way = call.way;
  recipe->device = call.device;
  recipe->site = call.site;
  recipe->inputs.reserve(call.operands.size());
  for (const Operand& operand : call.operands) {
    Recipe::Input& input = recipe->inputs.emplace_back();
    if (operand.is_scalar()) {
      input.number = operand.scalar();
      continue;
    }
    input.value = value_of_input(operand);
    if (input.value == nullptr) return nullptr;
    const TensorBody& body = *operand.tensor().body_or_null();
    input.dtype = body.dtype;
    input.shape = body.shape;
    input.strides = body.strides;
    input.offset = body.offset;
  }
  recipe->account = storage_of(*first).budget();
  recipe->account->retain();
  return recipe;
}

void Evictor::note(const Call& call) {
  if (is_running_) return;
  std::unique_ptr<Recipe> recipe = recipe_of(call);
  if (recipe != nullptr) {
    add(std::move(recipe), call);
    return counted_.set(places_.size());
  }
  for (const Tensor& output : call.outputs) {
    if (storage_of(output).is_tracked()) leave(storage_of(output));
  }
  Values sources;  // that were made for it
  for (const Operand& operand : call.operands) {
    if (operand.is_scalar()) continue;
    Value* const value = find(operand.tensor().body_or_null()->storage_serial());
    if (value != nullptr && value->recipe == nullptr) sources.push_back(value);
  }
  forget_unneeded(sources);
}

void Evictor::add(std::unique_ptr<Recipe> made, const Call& call) {
  Recipe& recipe = *made;
  planner::Eviction::Result result{.cost = cost_of(recipe, call.outputs)};
  for (const Recipe::Input& input : recipe.inputs) {
    if (input.value == nullptr) continue;
    std::vector<Recipe*>& readers = input.value->readers;
    if (!readers.empty() && readers.back() == &recipe) continue;
    readers.push_back(&recipe);
    if (input.value->id != 0) result.inputs.push_back(input.value->id);
  }
  recipe.outputs.resize(call.outputs.size());
  recipes_.emplace(&recipe, std::move(made));
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    mem::Storage& storage = storage_of(call.outputs[o]);
    const bool is_result = can_be_given_up(storage);
    auto value = std::make_unique<Value>();
    if (is_result) {
      value->id = ++last_id_;
      result.bytes = static_cast<std::int64_t>(storage.bytes());
      policy_.on_compute(value->id, result);
    }
    if (storage.is_tracked()) leave(storage);  // what was there before
    if (!is_result) continue;
    value->storage = &storage;
    value->recipe = &recipe;
    recipe.outputs[o] = value.get();
    results_.emplace(value->id, value.get());
    places_.emplace(storage.serial(), value.get());
    values_.emplace(value.get(), std::move(value));
    storage.set_tracked(true);
    call.outputs[o].body_or_null()->tag_as_result();
  }
}

/// The storage has another value from now on.
void Evictor::leave(mem::Storage& storage) {
  const auto place = places_.find(storage.serial());
  storage.set_tracked(false);
  if (place == places_.end()) return;
  Value& value = *place->second;
  internal_check(value.is_taken, "a result that is there was overwritten");
  places_.erase(place);
  value.storage = nullptr;
  value.is_taken = false;
  value.pins = 0;
  if (value.id != 0 && policy_.is_known(value.id)) policy_.on_free(value.id);
  forget_unneeded({&value});
}

void Evictor::remove(Recipe& recipe, Values& unneeded) {
  for (const Recipe::Input& input : recipe.inputs) {
    if (input.value == nullptr) continue;
    std::erase(input.value->readers, &recipe);
    unneeded.push_back(input.value);
  }
  recipes_.erase(&recipe);
}

void Evictor::drop_output(Value& value, Values& unneeded) {
  Recipe* const recipe = std::exchange(value.recipe, nullptr);
  if (recipe == nullptr) return;
  std::vector<Value*>& outputs = recipe->outputs;
  std::replace(outputs.begin(), outputs.end(), &value, static_cast<Value*>(nullptr));
  if (std::count(outputs.begin(), outputs.end(), nullptr) ==
      static_cast<std::ptrdiff_t>(outputs.size())) {
    remove(*recipe, unneeded);
  }
}

void Evictor::forget_unneeded(Values pending) {
  std::vector<mem::Storage*> released;
  while (!pending.empty()) {
    Value* const value = pending.back();
    pending.pop_back();
    const auto known = values_.find(value);
    if (known == values_.end() || !value->readers.empty() || value->is_taken) continue;
    const bool is_source = value->recipe == nullptr;
    if (value->is_wanted() && !is_source) continue;
    if (value->storage != nullptr) {
      if (is_source) {
        places_.erase(value->storage->serial());
        value->storage->set_tracked(false);
        kept_.erase(value);
      }
      if (value->is_owner) released.push_back(value->storage);
    }
    if (value->id != 0) {
      results_.erase(value->id);
      if (policy_.is_known(value->id)) policy_.on_free(value->id);
    }
    drop_output(*value, pending);
    values_.erase(known);
  }
  for (mem::Storage* const storage : released) {
    const auto waiting = ended_.find(storage->serial());
    if (waiting == ended_.end()) {
      storage->release();
    } else {
      waiting->second = false;  // whoever waits to hear of it frees it
    }
  }
}

void Evictor::settle(Value& value) {
  if (policy_.is_known(value.id)) policy_.on_settle(value.id);
  results_.erase(std::exchange(value.id, 0));
  Values unneeded{&value};
  drop_output(value, unneeded);
  forget_unneeded(std::move(unneeded));
}

Evictor::Values Evictor::reached_from(const Value& value) {
  Values found;
  std::unordered_set<const Value*> seen{&value};
  std::vector<const Value*> pending{&value};
  while (!pending.empty()) {
    const Value* const next = pending.back();
    pending.pop_back();
    for (const Recipe* const reader : next->readers) {
      for (Value* const output : reader->outputs) {
        if (output == nullptr || !seen.insert(output).second) continue;
        if (output->is_wanted()) {
          found.push_back(output);
        } else {
          pending.push_back(output);
        }
      }
    }
  }
  return found;
}

bool Evictor::settle_readers(Value& value) {
  const Values reached = reached_from(value);
  const auto is_live = [](const Value* reached) { return reached->is_live(); };
  if (!std::all_of(reached.begin(), reached.end(), is_live)) return false;
  const bool is_wanted = value.is_wanted();
  for (Value* const next : reached) settle(*next);
  return !is_wanted || values_.find(&value) == values_.end() || value.readers.empty();
}

void Evictor::shorten_ghosts(Value& value) {
  std::unordered_set<const Value*> row{&value};
  std::vector<const Value*> pending{&value};
  while (!pending.empty() && row.size() < kLongestRow) {
    const Value* const next = pending.back();
    pending.pop_back();
    for (const Recipe::Input& input : next->recipe->inputs) {
      const Value* const before = input.value;
      if (before == nullptr || before->recipe == nullptr || before->is_wanted()) continue;
      if (row.insert(before).second) pending.push_back(before);
    }
  }
  if (row.size() >= kLongestRow) settle_readers(value);
}

/// Sources that are kept for recipes, where these are worth less than their room; or all that can
/// go.
void Evictor::drop_kept(bool all) {
  const Values kept(kept_.begin(), kept_.end());
  for (Value* const source : kept) {
    if (kept_.find(source) == kept_.end()) continue;
    if (!source->storage->can_be_hollow()) continue;  // too small to help
    std::size_t bytes = 0;                            // that could not be given up any more
    for (const Value* const reached : reached_from(*source)) bytes += reached->storage->bytes();
    if (all || bytes <= source->storage->bytes()) settle_readers(*source);
  }
}

/// True: it is kept for recipes.
bool Evictor::has_ended(mem::Storage& storage) {
  Value* const value = find(storage.serial());
  if (value == nullptr) return false;
  if (value->is_taken || value->recipe != nullptr) {
    const bool is_ghost = !value->is_taken;
    if (is_ghost && value->is_live() && policy_.is_known(value->id)) policy_.on_evict(value->id);
    value->is_exposed = false;
    places_.erase(storage.serial());
    value->storage = nullptr;
    value->is_taken = false;
    value->pins = 0;
    if (policy_.is_known(value->id)) policy_.on_free(value->id);
    if (is_ghost && !value->readers.empty()) {
      shorten_ghosts(*value);
    } else {
      forget_unneeded({value});
    }
    return false;
  }
  if (value->readers.empty()) {
    forget_unneeded({value});
    return false;
  }
  value->is_owner = true;  // and its place stays
  kept_.insert(value);
  storage.revive();
  return true;
}

}  // namespace tenure::eager
