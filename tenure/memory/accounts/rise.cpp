#include "tenure/memory/accounts/rise.h"

#include <algorithm>
#include <vector>

namespace tenure::mem {
namespace {

/// Windows of so many marks, laid so that the last one ends with the levels; what is left over at
/// the beginning is in none.
std::vector<Window> windows_of(std::span<const Window> levels, std::size_t marks) {
  std::vector<Window> windows;
  for (std::size_t at = levels.size() % marks; at < levels.size(); at += marks) {
    Window window = levels[at];
    for (std::size_t i = 1; i < marks; ++i) window = merged(window, levels[at + i]);
    windows.push_back(window);
  }
  return windows;
}

/// By how much lows have ever fallen below one before.
std::int64_t deepest_fall(std::span<const Window> windows) {
  std::int64_t highest = windows.front().low;
  std::int64_t fall = 0;
  for (const Window& window : windows) {
    highest = std::max(highest, window.low);
    fall = std::max(fall, highest - window.low);
  }
  return fall;
}

Rise describe(std::span<const Window> levels, std::int64_t low_before, std::size_t marks) {
  const auto is_before = [&](const Window& level) { return level.low <= low_before; };
  const auto after = std::find_if(levels.rbegin(), levels.rend(), is_before);
  const auto last =
      std::min_element(levels.end() - static_cast<std::ptrdiff_t>(marks), levels.end(),
                       [](const Window& a, const Window& b) { return a.low < b.low; });
  Rise rise{.since = static_cast<std::size_t>(levels.rend() - after) - 1};
  rise.by = last->low - levels[rise.since].low;
  const auto length = (last - levels.begin()) - static_cast<std::ptrdiff_t>(rise.since);
  rise.each =
      static_cast<double>(rise.by) / static_cast<double>(std::max<std::ptrdiff_t>(length, 1));
  return rise;
}

}  // namespace

Window merged(const Window& a, const Window& b) noexcept {
  return {.low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
}

bool has_risen(std::span<const Window> windows, std::int64_t slack) noexcept {
  for (std::size_t i = 1; i < windows.size(); ++i) {
    if (windows[i].low <= windows[i - 1].low) return false;
  }
  const Window& newest = windows.back();
  const auto first_half = windows.first((windows.size() - 1) / 2 + 1);
  return newest.low - windows.front().low > slack &&
         std::all_of(first_half.begin(), first_half.end(),
                     [&](const Window& window) { return newest.low > window.high; });
}

std::optional<Rise> rise_at_end(std::span<const Window> levels) {
  if (levels.size() < kFewestMarks) return std::nullopt;
  const std::size_t count = std::min<std::size_t>(kRises + 1, levels.size());
  const std::size_t shortest =
      std::clamp<std::size_t>(levels.size() / count, 1, std::size_t{kPatience} / kRises);
  for (std::size_t marks = shortest; marks * count <= levels.size(); marks *= 2) {
    const std::vector<Window> windows = windows_of(levels, marks);
    if (!has_risen(std::span(windows).last(count))) continue;
    std::size_t first = windows.size() - count;
    while (first > 0 && windows[first - 1].low < windows[first].low) --first;
    const Rise rise = describe(levels, windows[first].low, marks);
    // A fall within a window shows as less than it was.
    if (4 * deepest_fall(std::span(windows).first(first + 1)) >= 3 * rise.by) continue;
    return rise;
  }
  return std::nullopt;
}

}  // namespace tenure::mem
