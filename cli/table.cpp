#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace tenure::cli {
namespace {

constexpr std::size_t kNarrow = 28;  // less room than that is none for a text
constexpr std::size_t kIndent = 6;

/// The last `width` characters, the first of them '~' if there are more.
std::string ending(const std::string& word, std::size_t width) {
  const std::size_t whole = width_of(word);
  if (whole <= width) return word;
  std::size_t begin = 0;
  for (std::size_t left = whole - width + 1; begin < word.size(); ++begin) {
    const bool begins = (static_cast<unsigned char>(word[begin]) & 0xc0) != 0x80;
    if (begins && left-- == 0) break;
  }
  return "~" + word.substr(begin);
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

std::vector<std::string> lines_of(const std::string& text, std::size_t width, std::size_t most) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    word = ending(word, width);
    std::string& line = lines.back();
    if (line.empty()) {
      line = std::move(word);
    } else if (width_of(line) + 1 + width_of(word) <= width) {
      line += ' ' + word;
    } else if (lines.size() < most) {
      lines.push_back(std::move(word));
    } else {
      line += width_of(line) < width ? "~" : "";
      break;
    }
  }
  return lines;
}

void print_beside(const Terminal& terminal, const std::string& amount, const std::string& text,
                  bool is_dim) {
  std::string left = amount;
  for (const std::string& line : lines_of(text, terminal.width() - 14)) {
    fmt::print("  {:>10}  {}\n", left, is_dim ? terminal.dim(line) : line);
    left.clear();
  }
}

void print_heading(const Terminal& terminal, const std::string& text) {
  fmt::print("\n");
  for (const std::string& line : lines_of(text, terminal.width())) {
    fmt::print("{}\n", terminal.bold(line));
  }
}

void print_indented(const Terminal& terminal, const std::string& text) {
  for (const std::string& line : lines_of(text, terminal.width() - 2)) fmt::print("  {}\n", line);
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
  std::size_t used = 2;
  for (std::size_t c = 0; c + 1 < names.size(); ++c) used += widths[c] + 2;
  const std::size_t room = terminal.width() - std::min(used, terminal.width());
  std::size_t beside = names.size() - 1;  // columns that stand beside each other
  std::size_t taken = used;
  for (; beside > 1 && taken > terminal.width() + 2; --beside) taken -= widths[beside - 1] + 2;
  const bool is_beneath = beside + 1 < names.size() || (widths.back() > room && room < kNarrow);
  const std::size_t indent = is_beneath ? kIndent : used;
  const auto print = [&](const std::vector<std::string>& cells, const auto& style) {
    std::string text = "  ";
    for (std::size_t c = 0; c < beside; ++c) {
      text += padded(cells[c], widths[c], right[c]) + "  ";
    }
    if (is_beneath) {
      fmt::print("{}\n", style(text.substr(0, text.find_last_not_of(' ') + 1)));
      text = std::string(indent, ' ');
    }
    std::string rest;
    for (std::size_t c = beside; c < cells.size(); ++c) rest += cells[c] + ' ';
    for (const std::string& line : lines_of(rest, terminal.width() - indent)) {
      fmt::print("{}\n", style(text + line));
      text = std::string(indent, ' ');
    }
  };
  print(names, [&](const std::string& text) { return terminal.dim(text); });
  for (const auto& row : rows) print(row, [](const std::string& text) { return text; });
}

}  // namespace tenure::cli
