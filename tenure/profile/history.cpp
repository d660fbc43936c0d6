#include "tenure/profile/history.h"

#include <algorithm>
#include <bit>

#include "tenure/profile/event_words.h"

namespace tenure::profile {
namespace {

/// Of a plan's arena, at each step.
std::vector<std::int64_t> bytes_in_use(const RecordedPlan& plan) {
  const std::size_t n = plan.steps.size();
  std::vector<std::int64_t> levels(n + 1);
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    if (!buffer.is_shown || static_cast<std::size_t>(buffer.first) >= n) continue;
    levels[static_cast<std::size_t>(buffer.first)] += buffer.bytes;
    levels[std::min(static_cast<std::size_t>(buffer.last) + 1, n)] -= buffer.bytes;
  }
  for (std::size_t i = 1; i < n; ++i) levels[i] += levels[i - 1];
  levels.resize(n);
  return levels;
}

}  // namespace

History::History(const Recorded& recorded, bool with_spans)
    : recorded(recorded),
      base_bytes(recorded.base_bytes),
      begin_ns(recorded.horizon_ns),
      with_spans_(with_spans) {
  end_ns = recorded.duration_ns;
  for (const RecordedPlan& plan : recorded.plans()) {
    plans_.emplace(plan.id, static_cast<std::uint32_t>(plans_.size()));
    in_use.push_back(bytes_in_use(plan));
  }
  recorded.for_each([this](const Event& event) {
    take(event);
    return true;
  });
  finish();
}

StorageLife* History::find(std::uint64_t serial) {
  const auto found = live_.find(serial);
  return found == live_.end() ? nullptr : &storages[found->second];
}

void History::take(const Event& event) {
  threads = std::max(threads, std::min<std::uint32_t>(event.thread, 1u << 20) + 1);
  last_thread = event.thread;
  last_life = event.life;
  end_ns = std::max(end_ns, event.time_ns);
  switch (event.kind) {
    case EventKind::allocate:
    case EventKind::free:
    case EventKind::recategorize:
    case EventKind::use:
    case EventKind::evict:
      take_storage(event);
      break;
    case EventKind::recompute:
      take_recomputation(event);
      break;
    case EventKind::create:
    case EventKind::dispose:
    case EventKind::destroy:
    case EventKind::name:
    case EventKind::kind:
      take_tensor(event);
      break;
    case EventKind::calls:
      if (const auto record = records_.find(event.third); record != records_.end()) {
        sampled.push_back({record->second, low(event.subject)});
      }
      break;
    case EventKind::thread:
      states_.erase(event.thread);  // of one that has ended
      break;
    case EventKind::miss:
      ++misses[{low(event.fourth >> 32), low(event.fourth)}];
      break;
    case EventKind::step:
      steps.push_back({event.time_ns, low(event.third), event.thread, event.life});
      break;
    case EventKind::things:
      things[low(event.third)].push_back({event.time_ns, bytes_of(event.subject)});
      break;
    case EventKind::budget:
    case EventKind::account:
    case EventKind::account_end:
    case EventKind::refuse:
    case EventKind::requester:
    case EventKind::part:
      take_limit(event);
      break;
    case EventKind::pool:
      pool.push_back({device_in(event.extra), event.time_ns, bytes_of(event.subject),
                      bytes_of(event.third),
                      std::clamp(std::bit_cast<double>(event.fourth), 0.0, 1.0)});
      break;
    default:
      break;
  }
  if (!is_from_before(event)) take_span(event, states_[event.thread]);
}

/// Of one that ends; it may have been there before all events.
StorageLife& History::ending(const Event& event) {
  if (StorageLife* const life = find(event.subject)) return *life;
  live_[event.subject] = static_cast<std::uint32_t>(storages.size());
  storages.push_back({.serial = event.subject,
                      .birth_ns = begin_ns,
                      .bytes = bytes_of(event.third),
                      .device = device_in(event.extra),
                      .thread = event.thread,
                      .thread_life = event.life,
                      .was_before = true});
  base_bytes -= storages.back().bytes;
  return storages.back();
}

void History::take_storage(const Event& event) {
  StorageLife* const life = find(event.subject);
  switch (event.kind) {
    case EventKind::allocate:
      if (life != nullptr) return;  // it was there when the recording began, and is told twice
      live_[event.subject] = static_cast<std::uint32_t>(storages.size());
      storages.push_back({.serial = event.subject,
                          .birth_ns = is_from_before(event) ? begin_ns : event.time_ns,
                          .bytes = bytes_of(event.third),
                          .address = event.fourth & kLow48,
                          .category = category_of(event.tag),
                          .device = device_in(event.extra),
                          .origin = is_from_before(event) ? 0 : allocator_of(event.thread),
                          .thread = event.thread,
                          .thread_life = event.life,
                          .budget = budget_of(event.fourth >> 48),
                          .was_before = is_from_before(event)});
      if (storages.back().was_before) base_bytes -= storages.back().bytes;
      return;
    case EventKind::free:
      ending(event).death_ns = event.time_ns;
      live_.erase(event.subject);
      return;
    case EventKind::evict: {  // its tensors stay, and it may begin again
      ++evictions;
      StorageLife& given_up = ending(event);
      given_up.death_ns = event.time_ns;
      given_up.was_evicted = true;
      return;
    }
    case EventKind::recategorize:
      if (life != nullptr) life->category = category_of(event.tag);
      return;
    default:  // use
      if (life == nullptr) return;
      life->last_use_ns = event.time_ns;
      life->last_user = low(event.third);
  }
}

/// It begins another life, with the tensors of the one before.
void History::take_recomputation(const Event& event) {
  ++recomputations;
  recomputed_bytes += bytes_of(event.third);
  StorageLife life{.serial = event.subject, .thread = event.thread, .thread_life = event.life};
  const auto before = live_.find(event.subject);
  if (before != live_.end()) {
    if (storages[before->second].is_live()) return;  // the file is damaged
    life = storages[before->second];
    for (auto& [id, record] : records_) {
      if (tensors[record].storage != before->second || tensors[record].end_ns != kNever) continue;
      TensorLife again = tensors[record];
      tensors[record].end_ns = tensors[record].gone_ns = event.time_ns;
      again.birth_ns = event.time_ns;
      again.storage = static_cast<std::uint32_t>(storages.size());
      record = static_cast<std::uint32_t>(tensors.size());
      tensors.push_back(again);
    }
    storages[before->second].holders = 0;
  }
  life.birth_ns = event.time_ns;
  life.death_ns = kNever;
  life.bytes = bytes_of(event.third);
  life.address = event.fourth & kLow48;
  life.category = category_of(event.tag);
  life.device = device_in(event.extra);
  life.budget = budget_of(event.fourth >> 48);
  life.was_before = false;
  life.was_evicted = false;
  live_[event.subject] = static_cast<std::uint32_t>(storages.size());
  storages.push_back(life);
}

void History::take_tensor(const Event& event) {
  StorageLife* const life = find(event.subject);
  const auto record = records_.find(event.third);
  TensorLife* const tensor = record == records_.end() ? nullptr : &tensors[record->second];
  switch (event.kind) {
    case EventKind::create:
      // It may have come while the recording began, and is told twice.
      if (tensor == nullptr) take_birth(event, life);
      return;
    case EventKind::dispose:
      end_tensor(event);
      if (life == nullptr) return;
      life->disposed = low(event.fourth);
      if (life->holders > 0) ++disposed_while_held[low(event.fourth)];
      return;
    case EventKind::destroy:
      end_tensor(event);
      return;
    case EventKind::name:
      if (tensor != nullptr) tensor->name = low(event.fourth);
      if (life != nullptr && !is_part_of(event.fourth, life->name)) {
        life->name = low(event.fourth);
      }
      return;
    case EventKind::kind:
      if (tensor != nullptr) tensor->kind = kind_of(event.tag);
      return;
    default:  // told by other functions
      return;
  }
}

bool History::is_part_of(std::uint64_t name, std::uint64_t path) const {
  const std::string& whole = recorded.string(path);
  const std::string& last = recorded.string(name);
  return whole.size() > last.size() && whole.ends_with(last) &&
         whole[whole.size() - last.size() - 1] == '/';
}

void History::take_birth(const Event& event, StorageLife* life) {
  const std::uint32_t origin = low(event.fourth);
  const HolderKind kind = kind_of(event.tag);
  const bool is_foreign = (event.extra & kForeign) != 0;
  const bool is_first = life != nullptr && life->tensors == 0;
  if (life != nullptr) {
    if (is_first) {
      life->origin = origin;
      life->layout = low(event.fourth >> 32);
    }
    ++life->tensors;
    ++life->holders;
    if (!is_from_before(event)) {
      life->last_use_ns = std::max(life->last_use_ns, event.time_ns);
    }
    records_[event.third] = static_cast<std::uint32_t>(tensors.size());
    tensors.push_back({.birth_ns = is_from_before(event) ? begin_ns : event.time_ns,
                       .id = event.third,
                       .storage = live_[event.subject],
                       .origin = origin,
                       .kind = kind,
                       .is_first = is_first});
  }
  if (is_from_before(event)) return;
  // What a tape or a variable holds is no result of an op.
  if (kind != HolderKind::user && kind != HolderKind::view && !is_first) return;
  OpCounts& counts = ops[std::string(recorded.origin(origin).op)];
  ++counts.calls;
  if (kind == HolderKind::view) {
    ++counts.viewed;
  } else if (is_first) {
    ++counts.allocated;
    counts.bytes += life->bytes;
  } else if (!is_foreign) {
    ++counts.reused;
  }
}

/// Its hold ends, and unless it is disposed its record goes too.
void History::end_tensor(const Event& event) {
  const auto record = records_.find(event.third);
  if (record == records_.end()) return;
  TensorLife& tensor = tensors[record->second];
  if (tensor.end_ns == kNever) {
    tensor.end_ns = event.time_ns;
    StorageLife& life = storages[tensor.storage];
    if (life.holders > 0) --life.holders;
  }
  if (event.kind == EventKind::dispose) {
    tensor.was_disposed = true;
    return;
  }
  tensor.gone_ns = event.time_ns;
  records_.erase(record);
}

void History::finish() {
  for (auto& [thread, state] : states_) {  // those that the recording's end interrupted
    for (const Frame& frame : state.frames) {
      if (frame.is_run) end_run(frame, thread, kNever);
    }
  }
  // What was there before comes first: it was born before all others.
  std::vector<std::uint32_t> places(storages.size());
  std::uint32_t next = 0;
  for (const bool was_before : {true, false}) {
    for (std::size_t i = 0; i < storages.size(); ++i) {
      if (storages[i].was_before == was_before) places[i] = next++;
    }
  }
  std::stable_partition(storages.begin(), storages.end(),
                        [](const StorageLife& life) { return life.was_before; });
  for (RunLife& run : run_lives) {
    if (run.arena != RunLife::kNoArena) run.arena = places[run.arena];
  }
  for (TensorLife& tensor : tensors) {
    tensor.storage = places[tensor.storage];
    // Its data may have been given up.
    if (tensor.end_ns != kNever || !storages[tensor.storage].is_live()) continue;
    holders.push_back(
        {tensor.id, tensor.storage, tensor.kind, tensor.origin, recorded.string(tensor.name)});
  }
  std::sort(holders.begin(), holders.end(), [](const LiveHolder& a, const LiveHolder& b) {
    return a.storage != b.storage ? a.storage < b.storage : a.tensor < b.tensor;
  });
  base_bytes = std::max<std::int64_t>(base_bytes, 0);
  std::vector<bool> occurs(mem::kDevices);
  for (const StorageLife& life : storages) occurs[mem::place_of(life.device)] = true;
  if (std::find(occurs.begin(), occurs.end(), true) == occurs.end()) occurs[0] = true;
  for (std::size_t place = 0; place < mem::kDevices; ++place) {
    if (occurs[place]) devices.push_back(mem::device_at(place));
  }
  live_ = {};
  records_ = {};
  states_ = {};
  accounts_ = {};
  parts_there_ = {};
  last_refusal_ = {};
}

}  // namespace tenure::profile
