#include "tenure/base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/base/text.h"

namespace tenure {
namespace {

void append_utf8(std::string& text, unsigned code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

void JsonReader::fail(int line, const std::string& problem) const {
  constexpr std::size_t kLongest = 400;  // it may quote the text, whose strings may be of any size
  throw ValueError(fmt::format("{}:{}: {}", file_, line, excerpt(problem, kLongest)));
}

void JsonReader::fail_here(const std::string& problem) { fail(line(), problem); }

char JsonReader::peek() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return c;
  }
  return '\0';
}

int JsonReader::line() {
  peek();
  return line_;
}

std::string JsonReader::next_text() {
  peek();
  if (at_ == text_.size()) return "the end of the text";
  const std::string_view rest = text_.substr(at_, 12);
  return fmt::format("`{}`", rest.substr(0, rest.find_first_of("\r\n")));
}

void JsonReader::expect(char c) {
  if (peek() != c) fail_here(fmt::format("`{}` is missing before {}", c, next_text()));
  ++at_;
}

bool JsonReader::begins(char bracket, const char* what) {
  if (peek() != bracket) {
    fail_here(fmt::format("{} must be {}, and here is {}", what,
                          bracket == '{' ? "an object" : "a list", next_text()));
  }
  ++at_;
  if (peek() != (bracket == '{' ? '}' : ']')) return true;
  ++at_;
  return false;
}

bool JsonReader::goes_on(char bracket) {
  const char c = peek();
  if (c != ',' && c != bracket) {
    fail_here(fmt::format("`,` or `{}` is missing before {}", bracket, next_text()));
  }
  ++at_;
  return c == ',';
}

std::string JsonReader::read_string(const char* what) {
  if (peek() != '"')
    fail_here(fmt::format("{} must be a string, and here is {}", what, next_text()));
  std::string result;
  const auto hex = [&] {
    unsigned code = 0;
    const char* const begin = text_.data() + std::min(at_ + 1, text_.size());
    const char* const end =
        begin + std::min<std::size_t>(4, text_.size() - std::min(at_ + 1, text_.size()));
    const auto [rest, error] = std::from_chars(begin, end, code, 16);
    if (error != std::errc() || rest != begin + 4)
      fail(line_, "`\\u` needs four hexadecimal digits");
    at_ += 4;
    return code;
  };
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20) fail(line_, "a string has no closing quote");
    if (c != '\\') {
      result += c;
      continue;
    }
    if (++at_ == text_.size()) break;
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kFrom.find(text_[at_]); i != std::string_view::npos) {
      result += kTo[i];
      continue;
    }
    if (text_[at_] != 'u') fail(line_, fmt::format("`\\{}` means nothing in a string", text_[at_]));
    unsigned code = hex();
    if (code >> 11 == 0x1b) {  // half of a character
      const bool is_first = code >> 10 == 0x36 && text_.substr(at_ + 1, 2) == "\\u";
      if (is_first) at_ += 2;
      const unsigned second = is_first ? hex() : 0;
      if (second >> 10 != 0x37) fail(line_, "`\\u` has half of a character");
      code = 0x10000 + ((code & 0x3ff) << 10 | (second & 0x3ff));
    }
    append_utf8(result, code);
  }
  if (at_ == text_.size()) fail(line_, "a string has no closing quote");
  ++at_;
  return result;
}

std::int64_t JsonReader::read_integer(const char* what) {
  peek();
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) {
    fail_here(fmt::format("{} is {}: more than 64 bits hold", what,
                          std::string_view(begin, static_cast<std::size_t>(rest - begin))));
  }
  const bool goes_on = rest != end && (*rest == '.' || *rest == 'e' || *rest == 'E');
  if (error != std::errc() || goes_on) {
    fail_here(fmt::format("{} must be a whole number, and here is {}", what, next_text()));
  }
  at_ += static_cast<std::size_t>(rest - begin);
  return value;
}

bool JsonReader::read_bool(const char* what) {
  peek();
  for (const std::string_view word : {"true", "false"}) {
    if (text_.substr(at_, word.size()) != word) continue;
    at_ += word.size();
    return word == "true";
  }
  fail_here(fmt::format("{} must be true or false, and here is {}", what, next_text()));
}

std::string JsonReader::read_name(const char* what) {
  return peek() == '"' ? read_string(what) : std::to_string(read_integer(what));
}

void JsonReader::skip_value() {
  std::vector<char> open;  // brackets that are to close
  do {
    const char c = peek();
    if (c == '{' || c == '[') {
      const char close = c == '{' ? '}' : ']';
      if (begins(c, "a value")) {
        open.push_back(close);
        if (c == '{') {
          read_string("a key");
          expect(':');
        }
        continue;
      }
    } else if (c == '"') {
      read_string("a value");
    } else {
      const std::size_t end =
          text_.find_first_not_of("+-.0123456789abcdefghijklmnopqrstuvwxyzE", at_);
      const std::string_view word =
          text_.substr(at_, end == std::string_view::npos ? end : end - at_);
      double number = 0;
      const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      const bool is_number = !word.empty() && error == std::errc() &&
                             rest == word.data() + word.size() &&
                             (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
      if (!is_number && word != "true" && word != "false" && word != "null") {
        fail_here(fmt::format("a value is missing before {}", next_text()));
      }
      at_ += word.size();
    }
    while (!open.empty() && !goes_on(open.back())) open.pop_back();
    if (!open.empty() && open.back() == '}') {
      read_string("a key");
      expect(':');
    }
  } while (!open.empty());
}

void JsonReader::expect_end() {
  peek();
  if (at_ != text_.size()) fail_here(fmt::format("after the last bracket comes {}", next_text()));
}

}  // namespace tenure
