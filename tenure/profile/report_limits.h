#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenure/profile/history.h"

namespace tenure::profile {

/// The numbers that a page knows an origin by.
struct ReportPlace {
  std::uint32_t op = 0;
  std::uint32_t site = 0;
};

/// Budgets, refusals, the pool and its segments as members of a page's header, each with a comma
/// behind. Addresses count from `origins`, by device.
std::string report_limits(const History& history, const std::vector<double>& origins,
                          const std::function<ReportPlace(std::uint32_t)>& place);

}  // namespace tenure::profile
