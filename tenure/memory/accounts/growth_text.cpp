#include "tenure/memory/accounts/growth_text.h"

#include <fmt/format.h>

#include <cstdint>

#include "tenure/base/units.h"

namespace tenure::mem {

std::string more_text(double number, std::string_view what) {
  const std::string text =
      number < 100 ? fmt::format("{:.3g}", number) : fmt::format("{:.0f}", number);
  return fmt::format("{} more {}{}", text, what, text == "1" ? "" : "s");
}

std::string growth_a_step(double bytes, double number, std::string_view what) {
  if (bytes > 0) {
    return fmt::format("grows {} a step", format_bytes(static_cast<std::int64_t>(bytes)));
  }
  return fmt::format("keeps {} a step", more_text(number, what));
}

std::string text_of(const GrowthSentence& sentence) {
  std::string text = fmt::format("{} {}", sentence.name, sentence.amount);
  if (!sentence.place.empty()) text += fmt::format(" at {}", sentence.place);
  if (!sentence.function.empty()) text += fmt::format(" in {}", sentence.function);
  if (!sentence.caller.empty()) text += fmt::format(", called by {}", sentence.caller);
  if (!sentence.holder.empty()) text += fmt::format(", held by {}", sentence.holder);
  return text;
}

}  // namespace tenure::mem
