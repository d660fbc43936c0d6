#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tenure/base/text.h"

namespace tenure::cli {
namespace {

std::size_t width_of_output() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  const long wanted = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return wanted > 0 ? static_cast<std::size_t>(wanted) : 100;
}

/// One that shows escapes as text.
bool is_dumb() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

}  // namespace

Terminal::Terminal()
    : width_(std::clamp<std::size_t>(width_of_output(), 40, 140)),
      colours_(isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr && !is_dumb()) {}

std::string Terminal::styled(std::string_view code, std::string_view text) const {
  return colours_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!lines.back().empty() && lines.back().size() + 1 + end > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string plain_lines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += plain(text.substr(0, end));
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace tenure::cli
