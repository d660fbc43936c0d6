#include "tenure/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenure {
namespace {

/// Bytes of the well-formed UTF-8 character that `text` begins with; 0: there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool is_short = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return is_short || is_outside ? 0 : length;
}

/// Whether a character of so many bytes is one of C1, which are commands to some terminals too.
bool is_second_control(std::string_view text, std::size_t length) {
  return length == 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string json_string(std::string_view text) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kEscaped = "\"\\bfnrt";
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text[0];
    if (length == 0) {
      result += "\\ufffd";
    } else if (const std::size_t i = kSpecial.find(c); i != std::string_view::npos) {
      result += '\\';
      result += kEscaped[i];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (is_second_control(text, length)) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + '"';
}

std::string plain(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    const bool is_control = c < 0x20 || c == 0x7f || is_second_control(text, length);
    if (length == 0 || is_control) {
      result += '?';
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return plain(text);
  std::size_t end = most;
  // A character is not cut in two.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return plain(text.substr(0, end)) + "...";
}

}  // namespace tenure
