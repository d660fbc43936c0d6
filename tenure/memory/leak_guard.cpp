#include "tenure/memory/leak_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/memory/groups.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/population.h"

namespace tenure {
namespace {

bool same_place(const HolderGroup& a, const HolderGroup& b) {
  return a.op == b.op && a.site.line() == b.site.line() &&
         std::string_view(a.site.file_name()) == b.site.file_name();
}

}  // namespace

LeakGuard::LeakGuard(std::string name) : LeakGuard(std::move(name), Options{}) {}

LeakGuard::LeakGuard(std::string name, Options options)
    : name_(std::move(name)), options_(std::move(options)) {
  if (options_.warm_up < 0 || options_.patience < 1 || options_.slack_bytes < 0) {
    throw ValueError("LeakGuard: warm_up and slack_bytes must be at least 0, patience at least 1");
  }
  if (options_.warm_up == 0) set_baseline(mem::counts(), mem::Population::total());
}

void LeakGuard::set_baseline(const mem::Counts& counts, std::int64_t things) {
  baseline_ = counts;
  baseline_things_ = things;
  baseline_groups_ = mem::holder_groups();
  baseline_populations_ = mem::Population::groups();
  above_ = 0;
}

void LeakGuard::mark() {
  ++iterations_;
  mark_step(name_);
  const mem::Counts now = mem::counts();
  const std::int64_t things = mem::Population::total();
  if (iterations_ <= options_.warm_up) {
    if (iterations_ == options_.warm_up) set_baseline(now, things);
    return;
  }
  const bool grown = now.tensors > baseline_.tensors ||
                     now.bytes > baseline_.bytes + options_.slack_bytes ||
                     now.tensors + now.disposed > baseline_.tensors + baseline_.disposed ||
                     things > baseline_things_;
  above_ = grown ? above_ + 1 : 0;
  if (above_ < options_.patience) return;
  const LeakError error = explain(now);
  set_baseline(now, things);
  if (!options_.report) throw LeakError(error);
  options_.report(error);
}

LeakError LeakGuard::explain(const mem::Counts& now) const {
  std::vector<LeakError::Growth> growing;
  for (const HolderGroup& group : mem::holder_groups()) {
    const auto before =
        std::find_if(baseline_groups_.begin(), baseline_groups_.end(),
                     [&](const HolderGroup& old) { return same_place(old, group); });
    LeakError::Growth growth{.group = group};
    if (before != baseline_groups_.end()) {
      growth.tensors_before = before->tensors;
      growth.bytes_before = before->bytes;
      growth.disposed_before = before->disposed;
    }
    if (group.tensors > growth.tensors_before || group.bytes > growth.bytes_before ||
        group.disposed > growth.disposed_before) {
      growing.push_back(std::move(growth));
    }
  }
  std::string text = fmt::format(
      "\"{}\" leaks: after iteration {} it holds {} tensors and {}, after the warm-up {} and {}",
      name_, iterations_, now.tensors, format_bytes(now.bytes), baseline_.tensors,
      format_bytes(baseline_.bytes));
  if (now.disposed > baseline_.disposed) {
    text += fmt::format("; handles of {} disposed tensors remain, after the warm-up of {}",
                        now.disposed, baseline_.disposed);
  }
  for (const LeakError::Growth& growth : growing) {
    text += fmt::format("\n  {} at {}: {} -> {} tensors, {} -> {}", growth.group.op,
                        to_string(growth.group.site), growth.tensors_before, growth.group.tensors,
                        format_bytes(growth.bytes_before), format_bytes(growth.group.bytes));
    if (growth.group.disposed > growth.disposed_before) {
      text += fmt::format(", {} -> {} disposed", growth.disposed_before, growth.group.disposed);
    }
  }
  for (const HolderGroup& group : mem::Population::groups()) {
    LeakError::Growth growth{.group = group};
    for (const HolderGroup& old : baseline_populations_) {
      if (same_place(old, group)) growth.tensors_before = old.tensors;
    }
    if (group.tensors <= growth.tensors_before) continue;
    text += fmt::format("\n  {}s made at {}: {} -> {}", group.op, to_string(group.site),
                        growth.tensors_before, group.tensors);
    growing.push_back(std::move(growth));
  }
  return LeakError(text, std::move(growing));
}

}  // namespace tenure
