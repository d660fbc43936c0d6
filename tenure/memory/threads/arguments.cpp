#include "tenure/memory/threads/arguments.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"

namespace tenure::mem {

void require_least(std::string_view what, std::initializer_list<NamedSize> sizes, Site site) {
  in_call(what, site, [&] {
    for (const auto& [name, value, least] : sizes) {
      if (value >= least) continue;
      throw ValueError(fmt::format("{}: {} is {}; it is at least {}", what, name, value, least));
    }
  });
}

void require_in(const Domain& domain, std::string_view what,
                std::initializer_list<NamedNumber> numbers, Site site) {
  in_call(what, site, [&] {
    for (const auto& [name, value] : numbers) {
      const bool is_above = domain.has_low ? value >= domain.low : value > domain.low;
      const bool is_below = domain.has_high ? value <= domain.high : value < domain.high;
      if (is_above && is_below) continue;
      throw ValueError(fmt::format("{}: {} is {}; it is {}", what, name, value, domain.text));
    }
  });
}

}  // namespace tenure::mem
