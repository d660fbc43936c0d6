#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tenure/base/text.h"

namespace tenure::profile {

/// `text` with U+FFFD for each byte that belongs to no character.
std::string valid_utf8(std::string_view text);

/// "1.50 s", "12.3 ms", "4 us".
std::string seconds_text(double seconds);

std::string base64(std::string_view bytes);

enum class Packing { zlib, gzip };
std::string packed(std::string_view bytes, Packing packing);

}  // namespace tenure::profile
