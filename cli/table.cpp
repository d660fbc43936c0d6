#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenure::cli {
namespace {

std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && ++seen == width) break;
  }
  return text.substr(0, end) + "~";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width > width_of(text) ? width - width_of(text) : 0, ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

void print_table(const Terminal& terminal, const std::vector<std::string>& heading,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> names = heading;
  std::vector<bool> right(names.size());
  std::vector<std::size_t> widths(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) {
    right[c] = names[c].starts_with('>');
    if (right[c]) names[c].erase(0, 1);
    widths[c] = width_of(names[c]);
    for (const auto& row : rows) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = "  ";
    for (std::size_t c = 0; c + 1 < cells.size(); ++c) {
      text += padded(cells[c], widths[c], right[c]) + "  ";
    }
    const std::size_t used = width_of(text);
    return text + cut(cells.back(), std::max<std::size_t>(
                                        terminal.width() - std::min(used, terminal.width()), 12));
  };
  fmt::print("{}\n", terminal.dim(line(names)));
  for (const auto& row : rows) fmt::print("{}\n", line(row));
}

}  // namespace tenure::cli
