#include "tenure/memory/callers.h"

#include <fmt/format.h>

#include <algorithm>

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

void add_calls_here(Error& error, const std::string& heading) noexcept {
  if (Callers* const known = callers()) add_calls(error, heading, known->here());
}

}  // namespace tenure::mem
