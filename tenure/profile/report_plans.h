#pragma once

#include <string>

#include "tenure/profile/history.h"
#include "tenure/profile/report.h"
#include "tenure/profile/report_numbers.h"

namespace tenure::profile {

/// The page's "plans", without the brackets: each compiled program that ran, what its steps took,
/// what lies in its arena, and what less memory would cost it.
std::string report_plans(const History& history, WhatIfs what_ifs, ReportNumbers& numbers);

}  // namespace tenure::profile
