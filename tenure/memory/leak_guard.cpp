#include "tenure/memory/leak_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/memory/accounts/growth_text.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/holders/holder_groups.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/threads/arguments.h"

namespace tenure {
namespace {

/// The first levels; those of populations follow.
enum Level : std::size_t { kTensors, kRecords, kBytes };

bool same_place(const HolderGroup& a, const HolderGroup& b) {
  return a.op == b.op && a.site.line() == b.site.line() &&
         std::string_view(a.site.file_name()) == b.site.file_name();
}

/// The groups that have more now than before.
std::vector<LeakError::Growth> growth_of(const std::vector<HolderGroup>& before,
                                         const std::vector<HolderGroup>& now) {
  std::vector<LeakError::Growth> growing;
  for (const HolderGroup& group : now) {
    LeakError::Growth growth{.group = group};
    const auto old = std::find_if(before.begin(), before.end(), [&](const HolderGroup& other) {
      return same_place(other, group);
    });
    if (old != before.end()) {
      growth.tensors_before = old->tensors;
      growth.bytes_before = old->bytes;
      growth.disposed_before = old->disposed;
    }
    if (group.tensors > growth.tensors_before || group.bytes > growth.bytes_before ||
        group.disposed > growth.disposed_before) {
      growing.push_back(std::move(growth));
    }
  }
  return growing;
}

HolderGroup sum_of(const std::vector<HolderGroup>& groups) {
  HolderGroup all;
  for (const HolderGroup& group : groups) {
    all.tensors += group.tensors;
    all.bytes += group.bytes;
    all.disposed += group.disposed;
  }
  return all;
}

/// Whether a level has grown by what counts: caches that have a bound may be what grew.
bool is_leak(std::size_t level, const mem::Snapshot& before, const mem::Snapshot& now) {
  const HolderGroup old = sum_of(before.tensors);
  const HolderGroup held = sum_of(now.tensors);
  const auto is_most = [](std::int64_t growth, std::int64_t of) { return 2 * growth > of; };
  const std::int64_t tensors = now.counts.tensors - before.counts.tensors;
  switch (level) {
    case kTensors:
      return is_most(held.tensors - old.tensors, tensors);
    case kRecords:
      return is_most(held.tensors + held.disposed - old.tensors - old.disposed,
                     tensors + now.counts.disposed - before.counts.disposed);
    case kBytes:
      return is_most(held.bytes - old.bytes, now.counts.bytes - before.counts.bytes);
    default:
      return true;
  }
}

/// How much more of what a level counts.
std::int64_t more_of(std::size_t level, const LeakError::Growth& growth) {
  if (level == kBytes) return growth.group.bytes - growth.bytes_before;
  const std::int64_t tensors = growth.group.tensors - growth.tensors_before;
  return level == kRecords ? tensors + growth.group.disposed - growth.disposed_before : tensors;
}

/// The line that grows most, and what is said of it.
struct Finding {
  std::string sentence;
  std::uint32_t calls = 0;
};

Finding describe(const std::string& loop, const LeakError::Growth& growth, double steps) {
  const std::int64_t bytes = growth.group.bytes - growth.bytes_before;
  const std::int64_t tensors = growth.group.tensors - growth.tensors_before;
  const std::int64_t disposed = growth.group.disposed - growth.disposed_before;
  const bool is_disposed = tensors <= 0 && bytes <= 0;
  const auto each = [&](std::int64_t number) { return static_cast<double>(number) / steps; };
  mem::GrowthSentence sentence{
      .name = loop,
      .amount = mem::growth_a_step(each(bytes), each(is_disposed ? disposed : tensors),
                                   is_disposed ? "disposed tensor" : "tensor"),
      .place = to_string(growth.group.site)};
  const mem::CommonHolder holder = mem::common_holder(
      growth.group, std::max<std::int64_t>(tensors + disposed, 1), {.with_caches = false});
  if (holder.kind == HolderKind::view && bytes > 0) {  // the line that made the bytes is gone
    sentence.holder = fmt::format("{} at {}", growth.group.op, std::exchange(sentence.place, {}));
  } else if (holder.kind != HolderKind::user && holder.kind != HolderKind::view) {
    sentence.holder = name_of(holder.kind);
  }
  if (mem::Callers* const callers = mem::callers()) {
    const std::string itself = " at " + to_string(growth.group.site);
    const std::vector<std::string> calls = callers->names(holder.calls);
    const auto other = std::find_if(calls.begin(), calls.end(), [&](const std::string& call) {
      const bool has_line = call.find(" at ") != std::string::npos;
      return has_line ? !call.ends_with(itself) : &call != &calls.front();
    });
    if (other != calls.end()) sentence.caller = *other;
  }
  return {.sentence = text_of(sentence), .calls = holder.calls};
}

Finding find_most(const std::string& loop, std::size_t level,
                  const std::vector<LeakError::Growth>& tensors,
                  const std::vector<LeakError::Growth>& things, double steps) {
  const auto& growing = level <= kBytes ? tensors : things;
  const auto most = std::max_element(
      growing.begin(), growing.end(),
      [&](const auto& a, const auto& b) { return more_of(level, a) < more_of(level, b); });
  if (most == growing.end()) return {.sentence = fmt::format("{} holds more and more", loop)};
  if (level <= kBytes) return describe(loop, *most, steps);
  const double each = static_cast<double>(more_of(level, *most)) / steps;
  return {.sentence =
              text_of(mem::GrowthSentence{.name = loop,
                                          .amount = mem::growth_a_step(0, each, most->group.op),
                                          .place = to_string(most->group.site)})};
}

}  // namespace

LeakGuard::LeakGuard(std::string name, Site site) : LeakGuard(std::move(name), Options{}, site) {}

LeakGuard::LeakGuard(std::string name, Options options, Site site)
    : name_(std::move(name)), options_(std::move(options)) {
  mem::require_least("LeakGuard",
                     {{"warm_up", options_.warm_up, 0},
                      {"patience", options_.patience},
                      {"slack_bytes", options_.slack_bytes, 0}},
                     site);
  if (options_.warm_up > 0) return;
  read_levels();
  restart();
}

void LeakGuard::read_levels() {
  counts_ = mem::counts();
  levels_ = {counts_.tensors, counts_.tensors + counts_.disposed, counts_.bytes};
  mem::Population::count(things_);
  levels_.insert(levels_.end(), things_.begin(), things_.end());
}

std::shared_ptr<const mem::Snapshot> LeakGuard::look() {
  if (present_ == nullptr) {
    present_ = std::make_shared<const mem::Snapshot>(
        mem::Snapshot{.iteration = iterations_,
                      .counts = counts_,
                      .tensors = mem::holder_groups({.with_caches = false}),
                      .things = mem::Population::groups()});
  }
  return present_;
}

void LeakGuard::restart() {
  const int rises = std::min(mem::kRises, options_.patience);
  trends_.assign(levels_.size(), mem::Trend(rises, (options_.patience + rises - 1) / rises));
  for (std::size_t i = 0; i < trends_.size(); ++i) {
    trends_[i].restart(levels_[i], [this] { return look(); });
  }
  present_.reset();
}

void LeakGuard::mark() {
  ++iterations_;
  mark_step(name_);
  if (iterations_ < options_.warm_up) return;
  read_levels();
  if (iterations_ == options_.warm_up) return restart();
  const auto look_now = [this] { return look(); };
  while (trends_.size() < levels_.size()) {  // the first of its kind
    trends_.push_back(trends_.front());
    trends_.back().restart(0, look_now);
  }
  for (std::size_t i = 0; i < trends_.size(); ++i) {
    const std::int64_t slack = i == kBytes ? options_.slack_bytes : 0;
    const auto before = trends_[i].add(levels_[i], slack, look_now);
    if (before == nullptr) continue;
    const auto now = look();
    if (is_leak(i, *before, *now)) {
      restart();
      return complain(i, *before, *now);
    }
    trends_[i].restart(levels_[i], look_now);
  }
  present_.reset();
}

void LeakGuard::complain(std::size_t level, const mem::Snapshot& before, const mem::Snapshot& now) {
  std::vector<LeakError::Growth> growing = growth_of(before.tensors, now.tensors);
  std::vector<LeakError::Growth> things = growth_of(before.things, now.things);
  const auto steps = static_cast<double>(now.iteration - before.iteration);
  const Finding finding = find_most(name_, level, growing, things, steps);
  std::string text = fmt::format(
      "{}\n  after iteration {} it holds {} tensors and {}, after iteration {} it held {} and {}",
      finding.sentence, now.iteration, now.counts.tensors, format_bytes(now.counts.bytes),
      before.iteration, before.counts.tensors, format_bytes(before.counts.bytes));
  if (now.counts.disposed > before.counts.disposed) {
    text += fmt::format("; handles of {} disposed tensors remain, then of {}", now.counts.disposed,
                        before.counts.disposed);
  }
  for (const LeakError::Growth& growth : growing) {
    text += fmt::format("\n  {} at {}: {} -> {} tensors, {} -> {}", growth.group.op,
                        to_string(growth.group.site), growth.tensors_before, growth.group.tensors,
                        format_bytes(growth.bytes_before), format_bytes(growth.group.bytes));
    if (growth.group.disposed > growth.disposed_before) {
      text += fmt::format(", {} -> {} disposed", growth.disposed_before, growth.group.disposed);
    }
  }
  for (LeakError::Growth& growth : things) {
    text += fmt::format("\n  {}s made at {}: {} -> {}", growth.group.op,
                        to_string(growth.group.site), growth.tensors_before, growth.group.tensors);
    if (growth.group.bytes > 0) {
      text += fmt::format(", which take {} -> {}", format_bytes(growth.bytes_before),
                          format_bytes(growth.group.bytes));
    }
    growing.push_back(std::move(growth));
  }
  LeakError error(text, std::move(growing));
  mem::add_calls(error, "calls that led to most of what grows", finding.calls);
  if (!options_.report) throw LeakError(error);
  options_.report(error);
}

}  // namespace tenure
