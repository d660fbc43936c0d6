#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text that came from outside: names in files, fields of tables, names of programs. It is shown,
// never obeyed, and never shown at any length.

namespace tenure {

/// Where `text` ceases to be UTF-8; npos: nowhere.
std::size_t find_invalid_utf8(std::string_view text);

/// `text` as a JSON string with its quotes. Control characters are escaped, and bytes that are no
/// UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// `text` for a terminal: control characters and bytes that are no UTF-8 become '?'.
std::string plain(std::string_view text);

/// The beginning of `text`, plain, and "..." where it was longer: for errors that quote a file.
std::string excerpt(std::string_view text, std::size_t most = 80);

}  // namespace tenure
