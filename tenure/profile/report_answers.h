#pragma once

#include <string>

#include "tenure/profile/history.h"
#include "tenure/profile/report_numbers.h"

// What a page says besides its rows, as JSON.

namespace tenure::profile {

/// Its "growth", "judgement" and "moments", with a comma at the end.
std::string report_growth(const History& history, ReportNumbers& numbers);
/// What ops and kernels took, by all numbers that were given so far.
std::string report_times(const History& history, ReportNumbers& numbers);
/// Items of lists: uses that came after the disposal, disposals while others held the data.
std::string report_misses(const History& history, ReportNumbers& numbers);
std::string report_held(const History& history, ReportNumbers& numbers);

}  // namespace tenure::profile
