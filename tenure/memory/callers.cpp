#include "tenure/memory/callers.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error_calls.h"

namespace tenure::mem {

std::atomic<Callers*> installed_callers{nullptr};

void add_calls(Error& error, const std::string& heading, std::uint32_t calls) noexcept try {
  constexpr std::size_t kShown = 16;
  Callers* const known = callers();
  if (known == nullptr || calls == 0) return;
  const std::vector<std::string> names = known->names(calls);
  if (names.empty()) return;
  std::string text = heading;
  const std::size_t shown = std::min(names.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) text += "\n    " + names[i];
  if (names.size() > shown) text += fmt::format("\n    and {} more", names.size() - shown);
  error.add_line(text);
} catch (...) {  // NOLINT(bugprone-empty-catch): the error says what it said before
}

void install_callers(Callers* callers) noexcept {
  installed_callers.store(callers, std::memory_order_release);
  error_calls.store(callers == nullptr ? nullptr : add_calls_here, std::memory_order_release);
}

KnowsItsMaker::KnowsItsMaker() noexcept : made_by_(calls_here()) {}

std::uint32_t calls_here() noexcept {
  Callers* const known = callers();
  return known == nullptr ? 0 : known->here();
}

void add_calls_here(Error& error, const char* heading) noexcept {
  add_calls(error, heading, calls_here());
}

}  // namespace tenure::mem
