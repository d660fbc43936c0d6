#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::cli {

/// At most three of `names` that somebody who typed `wanted` may have meant, the likeliest first.
std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace tenure::cli
