#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::cli {

/// Where standard output goes: how wide that is, and whether it shows colours.
class Terminal {
 public:
  Terminal();
  std::size_t width() const { return width_; }
  std::string bold(std::string_view text) const { return styled("1", text); }
  std::string dim(std::string_view text) const { return styled("2", text); }

 private:
  std::string styled(std::string_view code, std::string_view text) const;

  std::size_t width_;
  bool colours_;
};

/// `text` in lines of at most `width` characters, broken at spaces.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Lines of text for a terminal: in each, what would command it becomes '?'. Errors quote what the
/// command was given, and names of files may be anybody's.
std::string plain_lines(std::string_view text);

}  // namespace tenure::cli
