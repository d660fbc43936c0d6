#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tenure/base/text.h"

namespace tenure::profile {

/// `text` with U+FFFD for each byte that belongs to no character.
std::string valid_utf8(std::string_view text);

std::string base64(std::string_view bytes);

enum class Packing { zlib, gzip };
std::string packed(std::string_view bytes, Packing packing);

}  // namespace tenure::profile
