#pragma once

#include <cstdint>
#include <string>

namespace tenure::cli {

/// "1048576", "1MiB", "1.5 GiB", "2GB": bytes. Throws UsageError, which names `option`, for what is
/// no size.
std::int64_t parse_bytes(const std::string& text, const std::string& option);

/// "1048576 bytes (1.00 MiB)".
std::string bytes_text(std::int64_t bytes);

}  // namespace tenure::cli
