#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tenure::mem {

// Note: what is a leak
//
// What a loop holds comes and goes: queues fill and are emptied, caches fill up, sizes vary. A leak
// is growth that goes on. So what counts is the low-water mark, below which the level does not fall
// any more:
//
//     level      .   :   .:  ::  .:: :::     marks are put together in windows
//     windows    | 1 | 2 | 3 | 4 |   ...
//     low          0 < 1 < 2 < 3 <   ...     the lowest of each is above that of the one before,
//     high         1   2 < the last low      and in the end above all that was seen at first
//
// With sixteen such rises in a row nothing that has fewer than sixteen parts looks like a leak,
// however slowly it fills, nor do levels that merely vary. The same is asked of windows twice as
// long, and again: a slow leak shows in long windows, as does one that hides under what comes and
// goes.
//
// A LeakGuard asks while the loop runs (trend.h), recordings ask at their end (rise_at_end). These
// know more: what has stopped growing is full, and what fell back before by three quarters of what
// it has risen since comes and goes, however rarely.

/// The level of something within some marks of a loop.
struct Window {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
Window merged(const Window& a, const Window& b) noexcept;

/// Rises in a row that make a leak, and marks that these take at least.
inline constexpr int kRises = 16;
inline constexpr int kPatience = 64;

/// The rule: each low above the one before, the last one by more than `slack` above the first and
/// above all that was seen in the first half. There are two or more windows, the newest last.
bool has_risen(std::span<const Window> windows, std::int64_t slack = 0) noexcept;

/// Growth that goes on at the end of a row of levels.
struct Rise {
  std::size_t since = 0;  ///< the last place where the level was as low as before
  double each = 0;        ///< how much comes from one place to the next from then on
  std::int64_t by = 0;    ///< how much it was in all
};
/// What the levels from mark to mark have come to at the last; none: they do not grow. Where there
/// are fewer than kPatience marks, windows are shorter, and below 17 rises fewer.
std::optional<Rise> rise_at_end(std::span<const Window> levels);
/// So many marks are needed to tell.
inline constexpr std::size_t kFewestMarks = 8;

}  // namespace tenure::mem
