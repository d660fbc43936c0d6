#pragma once

#include <string>
#include <vector>

#include "tenure/profile/history.h"
#include "tenure/profile/report_numbers.h"

namespace tenure::profile {

/// Budgets, refusals, the pool and its segments as members of a page's header, each with a comma
/// behind. Addresses count from `origins`, by device.
std::string report_limits(const History& history, const std::vector<double>& origins,
                          ReportNumbers& numbers);

}  // namespace tenure::profile
