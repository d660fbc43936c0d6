#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tenure::profile {

/// `text` as a JSON string with its quotes. Control characters are escaped, and bytes that are no
/// UTF-8 become U+FFFD: names of programs are shown, never obeyed.
std::string json_string(std::string_view text);

/// `text` for a terminal: control characters and bytes that are no UTF-8 become '?'.
std::string plain(std::string_view text);

std::string base64(std::string_view bytes);

enum class Packing { zlib, gzip };
std::string packed(std::string_view bytes, Packing packing);

}  // namespace tenure::profile
