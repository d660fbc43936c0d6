#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tenure/base/units.h"
#include "tenure/memory/accounts/growth_text.h"
#include "tenure/profile/growth.h"
#include "tenure/profile/text.h"

namespace tenure::profile {

std::string to_string(const GrowthHolder& holder, const Recorded& recorded) {
  const Origin& origin = recorded.origin(holder.origin);
  const bool is_plain = holder.kind == HolderKind::user || holder.kind == HolderKind::view;
  const std::string what =
      is_plain ? ""
      : holder.tape != 0 && recorded.origin(holder.tape).line != 0  // else std::make_unique's
          ? fmt::format("the tape of {}, for ", place_text(recorded.origin(holder.tape)))
          : fmt::format("{}, ", name_of(holder.kind));
  return fmt::format("{}{} at {}", what, origin.op.empty() ? "unknown" : origin.op,
                     place_text(origin));
}

std::string callers_text(const Growth& growth) {
  constexpr std::size_t kShown = 3;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(growth.callers.size(), kShown));
  return fmt::format("{}",
                     fmt::join(growth.callers.begin(), growth.callers.begin() + shown, ", by "));
}

std::string advice(const Loop& loop) {
  if (loop.growing.empty()) return {};
  const Growth& most = loop.growing.front();
  const bool is_tensor = most.what.empty() || most.what == kDisposedTensor;
  if (!is_tensor || !most.callers.empty()) return {};
  switch (most.has_callers) {
    case Growth::Callers::told:
      return {};
    case Growth::Callers::unseen:
      return "who called it was not recorded: `tenure profile --stacks` does so";
    case Growth::Callers::unnamed:
      return "who called it has no name: compile with -g, do not strip, and read the recording "
             "where the "
             "program ran";
  }
  return {};
}

std::string judgement(const Loop& loop, const Recorded& recorded) {
  const std::string name = loop.name.empty() ? "the program" : loop.name;
  if (!loop.can_tell) return fmt::format("{} has too few steps to tell whether it grows", name);
  if (loop.growing.empty()) {
    std::string text = fmt::format("{} is steady: no line holds more and more", name);
    if (loop.left.storages > 0) {
      const Origin& origin = recorded.origin(loop.left.origin);
      text += fmt::format(
          "; {} in {} by {} at {} are live at the end", format_bytes(loop.left.bytes),
          loop.left.storages == 1 ? "1 storage" : fmt::format("{} storages", loop.left.storages),
          origin.op.empty() ? "unknown" : origin.op, place_text(origin));
    }
    return text;
  }
  const Growth& most = loop.growing.front();
  const Origin& origin = recorded.origin(most.origin);
  const std::string what = most.what.empty() ? "tensor" : most.what;
  const double number = most.things_per_step + most.storages_per_step + most.sharers_per_step;
  mem::GrowthSentence sentence{.name = name,
                               .amount = mem::growth_a_step(most.bytes_per_step, number, what),
                               .place = place_text(origin),
                               .function = most.function,
                               .caller = callers_text(most)};
  if (!loop.is_marked) {
    sentence.amount =
        most.bytes > 0
            ? fmt::format("grew by {}", format_bytes(most.bytes))
            : fmt::format("keeps {}", mem::more_text(static_cast<double>(most.number), what));
  }
  if (!most.holders.empty()) sentence.holder = to_string(most.holders.front(), recorded);
  std::string text = text_of(sentence);
  if (loop.is_marked && most.is_late()) text += fmt::format(", since step {}", most.since_step);
  if (!loop.is_marked) {
    text += ", since " + seconds_text(static_cast<double>(most.since_ns) * 1e-9);
    if (!loop.name.empty()) {
      text += fmt::format(" until {}, its last allocation; nobody has used it since",
                          seconds_text(static_cast<double>(loop.times.back()) * 1e-9));
    }
  }
  for (const Growth& growth : loop.growing) {
    if (growth.thing_bytes == 0) continue;
    const Origin& made = recorded.origin(growth.origin);
    text += fmt::format(
        "; the {}{} take {}", mem::more_text(static_cast<double>(growth.number), growth.what),
        made.line == 0 ? "" : " of " + place_text(made), format_bytes(growth.thing_bytes));
    break;
  }
  std::set<std::string> lines;
  for (const Growth& growth : loop.growing)
    lines.insert(place_text(recorded.origin(growth.origin)));
  if (lines.size() > 1) {
    text += fmt::format("; {} more line{} grow{}", lines.size() - 1, lines.size() == 2 ? "" : "s",
                        lines.size() == 2 ? "s" : "");
  }
  if (const std::string what_to_do = advice(loop); !what_to_do.empty()) text += "; " + what_to_do;
  return text;
}

}  // namespace tenure::profile
