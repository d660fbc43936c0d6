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
  end_ns = std::max(recorded.duration_ns, begin_ns);
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
      if (!was_before(event)) ++misses[{low(event.fourth >> 32), low(event.fourth)}];
      break;
    case EventKind::step:
      if (was_before(event)) break;
      steps.push_back({event.time_ns, low(event.third), event.thread, event.life});
      break;
    case EventKind::things:
      things[low(event.third)].push_back(
          {time_of(event), bytes_of(event.subject), low(event.third >> 32) * kThingUnit});
      break;
    case EventKind::budget:
    case EventKind::account:
    case EventKind::account_end:
    case EventKind::refuse:
    case EventKind::requester:
    case EventKind::part:
      take_limit(event);
      break;
    case EventKind::outside:
      if (was_before(event)) break;
      outside.push_back(
          {device_in(event.extra), event.time_ns, bytes_of(event.subject), bytes_of(event.third)});
      break;
    case EventKind::pool:
      pool.push_back({device_in(event.extra), event.time_ns, bytes_of(event.subject),
                      bytes_of(event.third),
                      std::clamp(std::bit_cast<double>(event.fourth), 0.0, 1.0)});
      break;
    default:
      break;
  }
  if (!was_before(event)) take_span(event, states_[event.thread]);
}

bool History::was_before(const Event& event) const {
  return is_from_before(event) || event.time_ns < begin_ns;
}

std::int64_t History::time_of(const Event& event) const {
  return was_before(event) ? begin_ns : event.time_ns;
}

/// Ends one, which may have been there before all events. nullptr: it ended before history begins.
StorageLife* History::end_storage(const Event& event) {
  StorageLife* const life = find(event.subject);
  if (was_before(event)) {
    if (life == nullptr || !life->is_live()) return nullptr;
    base_bytes += life->bytes;
    life->death_ns = begin_ns;
    return nullptr;
  }
  if (life != nullptr) {
    life->death_ns = event.time_ns;
    return life;
  }
  live_[event.subject] = static_cast<std::uint32_t>(storages.size());
  storages.push_back({.serial = event.subject,
                      .birth_ns = begin_ns,
                      .death_ns = event.time_ns,
                      .bytes = bytes_of(event.third),
                      .device = device_in(event.extra),
                      .thread = event.thread,
                      .thread_life = event.life,
                      .was_before = true});
  base_bytes -= storages.back().bytes;
  return &storages.back();
}

void History::take_storage(const Event& event) {
  StorageLife* const life = find(event.subject);
  switch (event.kind) {
    case EventKind::allocate:
      if (life != nullptr) {  // it is told twice: when all that is live is told, or comes meanwhile
        if (life->budget == 0) life->budget = budget_of(event.fourth >> 48);
        return;
      }
      live_[event.subject] = static_cast<std::uint32_t>(storages.size());
      storages.push_back({.serial = event.subject,
                          .birth_ns = time_of(event),
                          .bytes = bytes_of(event.third),
                          .address = event.fourth & kLow48,
                          .category = category_of(event.tag),
                          .device = device_in(event.extra),
                          .origin = was_before(event) ? 0 : allocator_of(event.thread),
                          .thread = event.thread,
                          .thread_life = event.life,
                          .budget = budget_of(event.fourth >> 48),
                          .was_before = was_before(event)});
      if (storages.back().was_before) base_bytes -= storages.back().bytes;
      return;
    case EventKind::free:
      end_storage(event);
      live_.erase(event.subject);
      return;
    case EventKind::evict:  // its tensors stay, and it may begin again
      if (StorageLife* const given_up = end_storage(event)) {
        ++evictions;
        given_up->was_evicted = true;
      }
      return;
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
  if (!was_before(event)) {
    ++recomputations;
    recomputed_bytes += bytes_of(event.third);
  }
  StorageLife life{.serial = event.subject, .thread = event.thread, .thread_life = event.life};
  const auto before = live_.find(event.subject);
  if (before != live_.end()) {
    if (storages[before->second].is_live()) return;  // the file is damaged
    life = storages[before->second];
    for (auto& [id, record] : records_) {
      if (tensors[record].storage != before->second || tensors[record].end_ns != kNever) continue;
      TensorLife again = tensors[record];
      tensors[record].end_ns = tensors[record].gone_ns = time_of(event);
      again.birth_ns = time_of(event);
      again.storage = static_cast<std::uint32_t>(storages.size());
      record = static_cast<std::uint32_t>(tensors.size());
      tensors.push_back(again);
    }
    storages[before->second].holders = 0;
  }
  life.birth_ns = time_of(event);
  life.death_ns = kNever;
  life.bytes = bytes_of(event.third);
  life.address = event.fourth & kLow48;
  life.category = category_of(event.tag);
  life.device = device_in(event.extra);
  life.budget = budget_of(event.fourth >> 48);
  life.was_before = was_before(event);
  life.was_evicted = false;
  if (life.was_before) base_bytes -= life.bytes;
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
      if (life->holders > 0 && !was_before(event)) ++disposed_while_held[low(event.fourth)];
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
    if (!was_before(event)) life->last_use_ns = std::max(life->last_use_ns, event.time_ns);
    records_[event.third] = static_cast<std::uint32_t>(tensors.size());
    tensors.push_back({.birth_ns = time_of(event),
                       .id = event.third,
                       .storage = live_[event.subject],
                       .origin = origin,
                       .kind = kind,
                       .is_first = is_first});
  }
  if (was_before(event)) return;
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
    tensor.end_ns = time_of(event);
    StorageLife& life = storages[tensor.storage];
    if (life.holders > 0) --life.holders;
  }
  if (event.kind == EventKind::dispose) {
    tensor.was_disposed = true;
    return;
  }
  tensor.gone_ns = time_of(event);
  records_.erase(record);
}

/// Takes out what had ended when history begins.
void History::drop_what_was_over() {
  if (begin_ns == 0) return;
  std::erase_if(parts, [&](const PoolPartLife& part) { return part.death_ns <= begin_ns; });
  const auto is_over = [&](const StorageLife& life) { return life.death_ns <= begin_ns; };
  std::vector<std::uint32_t> places(tensors.size());
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_kept = tensors[i].gone_ns > begin_ns && !is_over(storages[tensors[i].storage]);
    places[i] = is_kept ? kept : UINT32_MAX;
    if (is_kept) tensors[kept++] = tensors[i];
  }
  tensors.resize(kept);
  for (SampledCalls& sample : sampled) sample.tensor = places[sample.tensor];
  std::erase_if(sampled, [](const SampledCalls& each) { return each.tensor == UINT32_MAX; });
  places.resize(storages.size());
  kept = 0;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    places[i] = kept;
    if (!is_over(storages[i])) storages[kept++] = storages[i];
  }
  storages.resize(kept);
  for (TensorLife& tensor : tensors) tensor.storage = places[tensor.storage];
  for (RunLife& run : run_lives) {
    if (run.arena != RunLife::kNoArena) run.arena = places[run.arena];
  }
}

void History::finish() {
  for (auto& [thread, state] : states_) {  // those that the recording's end interrupted
    for (const Frame& frame : state.frames) {
      if (frame.is_run) end_run(frame, thread, kNever);
    }
  }
  drop_what_was_over();
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
  // What a device did later was told later.
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.end_ns < b.end_ns; });
  live_ = {};
  records_ = {};
  states_ = {};
  queued_ = {};
  queued_runs_ = {};
  accounts_ = {};
  parts_there_ = {};
  last_refusal_ = {};
}

}  // namespace tenure::profile
