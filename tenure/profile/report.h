#pragma once

#include <string>
#include <string_view>

#include "tenure/profile/history.h"

namespace tenure::profile {

/// Of which compiled programs a page says what a part of their peak would cost. That is searched.
enum class WhatIfs {
  none,
  quick,  ///< of the largest one, where it takes some seconds at most
  all,
};

/// What the report page is given: a JSON header and columns, one row per storage. viewer/FORMAT.md
/// has the format.
std::string report_data(const History& history, WhatIfs what_ifs = WhatIfs::none);

/// `page` with the data in place of its marker. Throws InternalError if it has none.
std::string report_page(const History& history, std::string_view page,
                        WhatIfs what_ifs = WhatIfs::none);
/// One that shows two recordings side by side.
std::string report_page(const History& before, const History& after, std::string_view page);

}  // namespace tenure::profile
