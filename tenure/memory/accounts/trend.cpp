#include "tenure/memory/accounts/trend.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tenure::mem {
namespace {

/// Windows of the longest scale have 2 to the power of this times the marks of the shortest.
constexpr std::size_t kScales = 20;

}  // namespace

void Trend::restart(std::int64_t level, const TakeSnapshot& take) {
  seen_ = 0;
  first_ = {.low = level, .high = level};
  scales_.clear();
  start_ = suspected() == 0 ? take() : nullptr;
}

std::shared_ptr<const Snapshot> Trend::add(std::int64_t level, std::int64_t slack,
                                           const TakeSnapshot& take) {
  const Window one{.low = level, .high = level};
  open_ = seen_ == 0 ? one : merged(open_, one);
  if (++seen_ < marks_) return nullptr;
  seen_ = 0;
  return close(0, open_, level, slack, take);
}

bool Trend::has_grown(const Scale& scale, std::int64_t slack) const {
  if (scale.risen < rises_) return false;
  return has_risen(std::span(scale.last).last(static_cast<std::size_t>(rises_) + 1), slack);
}

std::shared_ptr<const Snapshot> Trend::close(std::size_t at, const Window& window,
                                             std::int64_t level, std::int64_t slack,
                                             const TakeSnapshot& take) {
  if (at >= kScales) return nullptr;
  if (at == scales_.size()) {
    Scale& fresh = scales_.emplace_back();
    fresh.last = {first_};
    fresh.before = start_;
    fresh.level_before = first_.high;
  }
  Scale& scale = scales_[at];
  scale.risen = window.low > scale.last.back().low ? scale.risen + 1 : 0;
  scale.last.push_back(window);
  if (scale.last.size() > static_cast<std::size_t>(rises_) + 1) {
    scale.last.erase(scale.last.begin());
  }
  if (has_grown(scale, slack)) return scale.before;
  const bool looks =
      suspected() > 0 ? scale.risen == suspected() : scale.risen == 0 && level < scale.level_before;
  if (looks) {
    scale.before = take();
    scale.level_before = level;
  }
  if (scale.half.empty()) {
    scale.half.push_back(window);
    return nullptr;
  }
  const Window both = merged(scale.half.front(), window);
  scale.half.clear();
  return close(at + 1, both, level, slack, take);
}

}  // namespace tenure::mem
