#pragma once

#include <string_view>

namespace tenure::cli {

/// The report page with a marker in place of its data; see viewer/.
std::string_view report_template();

}  // namespace tenure::cli
