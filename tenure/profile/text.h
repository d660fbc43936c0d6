#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tenure/base/text.h"

namespace tenure::profile {

std::string base64(std::string_view bytes);

enum class Packing { zlib, gzip };
std::string packed(std::string_view bytes, Packing packing);

}  // namespace tenure::profile
