#pragma once

#if __has_builtin(__builtin_source_location)
#include <source_location>
#else
#include <cstdint>
#endif

namespace tenure {

/// A place in the user's source: file, line and function. One pointer wide.
///
/// Functions that record where they were called take `Site site = Site::current()` as their last
/// parameter; operators get it through `Operand`, whose converting constructors carry the default.
#if __has_builtin(__builtin_source_location)
using Site = std::source_location;
#else
// Analysis tools built on older Clang front ends parse the headers but have no source_location;
// they run nothing, so the file will do.
class Site {
 public:
  static constexpr Site current(const char* file = __builtin_FILE()) {
    Site site;
    site.file_ = file;
    return site;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr const char* function_name() const { return ""; }
  constexpr std::uint_least32_t line() const { return 0; }

 private:
  const char* file_ = "";
};
#endif

}  // namespace tenure
