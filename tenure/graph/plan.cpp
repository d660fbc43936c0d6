#include "tenure/graph/plan.h"

#include <fmt/format.h>

#include <ostream>

#include "tenure/base/error.h"
#include "tenure/base/units.h"

namespace tenure {

std::string to_string(const Plan& plan) {
  std::string text = fmt::format("  peak {} = arena {} + outputs {}\n", format_bytes(plan.peak),
                                 format_bytes(plan.arena), format_bytes(plan.peak - plan.arena));
  if (plan.constants != 0) {
    text += fmt::format("  {} of constants between runs\n", format_bytes(plan.constants));
  }
  if (plan.packed != 0) {
    text += fmt::format("  up to {} of packed weights between runs\n", format_bytes(plan.packed));
  }
  for (const Plan::Step& step : plan.steps) {
    text += fmt::format(
        "  {:<44} {:>10} of {:>10} live{}{}{}  {}\n", step.op, format_bytes(step.bytes),
        format_bytes(step.live),
        step.workspace == 0 ? std::string()
                            : fmt::format(" + {} workspace", format_bytes(step.workspace)),
        step.in_place ? ", in place" : "",
        step.parts == 1 ? std::string()
                        : fmt::format(", in {} parts along the first axis", step.parts),
        to_string(step.site));
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << to_string(plan); }

}  // namespace tenure
