#pragma once

#include <string>
#include <string_view>

#include "tenure/profile/history.h"

namespace tenure::profile {

/// What the report page is given: a JSON header and columns, one row per storage. viewer/FORMAT.md
/// has the format.
std::string report_data(const History& history);

/// `page` with the data in place of its marker. Throws InternalError if it has none.
std::string report_page(const History& history, std::string_view page);
/// One that shows two recordings side by side.
std::string report_page(const History& before, const History& after, std::string_view page);

}  // namespace tenure::profile
