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
// Analysis tools built on older Clang front ends parse the headers but have no source_location.
class Site {
 public:
  static constexpr Site current(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                std::uint_least32_t line = __builtin_LINE()) {
    Site site;
    site.file_ = file;
    site.function_ = function;
    site.line_ = line;
    return site;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr const char* function_name() const { return function_; }
  constexpr std::uint_least32_t line() const { return line_; }

 private:
  const char* file_ = "";
  const char* function_ = "";
  std::uint_least32_t line_ = 0;
};
#endif

}  // namespace tenure
