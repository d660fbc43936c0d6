#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenure::fuzz {

/// A kind of file that Tenure reads.
struct Format {
  std::string_view name;  ///< also of its folder in the corpus
  /// Reads a file, of which the content is given too, and uses what came of it. Throws Error where
  /// it refuses.
  void (*read)(const std::string& path, std::string_view content);
};

std::span<const Format> formats();

/// Reads `content` as a file of this format. Throws std::logic_error, which says why, if a promise
/// is broken: another exception, memory beyond measure, something left behind.
void survive(const Format& format, std::string_view content);

}  // namespace tenure::fuzz
