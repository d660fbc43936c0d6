#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/text.h"
#include "tenure/planner/formats.h"

namespace tenure::planner {
namespace {

enum Column : std::size_t {
  kId,
  kLower,
  kUpper,
  kEnd,
  kSize,
  kAlignment,
  kOffset,
  kGaps,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames{"id",   "lower",     "upper",  "end",
                                                        "size", "alignment", "offset", "gaps"};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class Table {
 public:
  Table(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Splits the next line that is not blank into fields. False at the end.
  bool next_line() {
    std::string_view line;
    do {
      if (text_.empty()) return false;
      const std::size_t end = text_.find('\n');
      line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
    } while (trimmed(line).empty());
    split(line);
    return true;
  }

  std::size_t fields() const { return fields_.size(); }
  std::string_view field(std::size_t i) const { return fields_[i]; }
  int line() const { return line_; }

  std::int64_t integer(std::size_t i, std::string_view name) const {
    return integer(fields_[i], name);
  }

  std::int64_t integer(std::string_view text, std::string_view name) const {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) {
      fail(fmt::format("{} is {}: more than 64 bits hold", name, excerpt(text)));
    }
    if (error != std::errc() || rest != text.data() + text.size()) {
      fail(fmt::format("{} must be a whole number, and here is \"{}\"", name, excerpt(text)));
    }
    return value;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw ValueError(fmt::format("{}:{}: {}", file_, line_ == 0 ? 1 : line_, problem));
  }

 private:
  void split(std::string_view line) {
    fields_.clear();
    unquoted_.clear();
    for (bool more = true; more;) {
      if (trimmed(line).substr(0, 1) == "\"") {
        line.remove_prefix(line.find('"') + 1);
        std::string field;
        for (;;) {
          const std::size_t quote = line.find('"');
          if (quote == std::string_view::npos) fail("a quoted field does not end in its line");
          field += line.substr(0, quote);
          line.remove_prefix(quote + 1);
          if (line.substr(0, 1) != "\"") break;
          field += '"';
          line.remove_prefix(1);
        }
        if (!trimmed(line.substr(0, line.find(','))).empty()) fail("text follows a quoted field");
        unquoted_.push_back(std::make_unique<std::string>(std::move(field)));
        fields_.emplace_back(*unquoted_.back());
      } else {
        fields_.push_back(trimmed(line.substr(0, line.find(','))));
      }
      const std::size_t comma = line.find(',');
      more = comma != std::string_view::npos;
      if (more) line.remove_prefix(comma + 1);
    }
  }

  std::string_view text_;
  const std::string& file_;
  int line_ = 0;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unquoted_;  ///< what fields of this line refer to
};

using Places = std::array<std::optional<std::size_t>, kColumns>;

Places read_header(Table& table) {
  if (!table.next_line())
    table.fail("the file is empty; its first line must be id,lower,upper,size");
  Places places;
  for (std::size_t i = 0; i < table.fields(); ++i) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (table.field(i) != kNames[column]) continue;
      if (places[column]) table.fail(fmt::format("column {} is there twice", kNames[column]));
      places[column] = i;
    }
  }
  for (const Column column : {kId, kLower, kSize}) {
    if (!places[column]) {
      table.fail(
          fmt::format("column {} is missing; the first line must name id, lower, upper and "
                      "size, in any order",
                      kNames[column]));
    }
  }
  if (places[kUpper].has_value() == places[kEnd].has_value()) {
    table.fail("there must be a column upper (exclusive) or a column end (inclusive), not both");
  }
  return places;
}

/// "3-7" or "3-7@0:64"; `more` is 1 where the end is inclusive.
Gap read_gap(const Table& table, std::string_view text, std::int64_t more) {
  const std::size_t mark = text.find('@');
  const bool has_window = mark != std::string_view::npos;
  const std::string_view time = text.substr(0, mark);
  const std::string_view window = has_window ? text.substr(mark + 1) : "";
  // A time may be negative: its sign is not the dash between two.
  const std::size_t sign = time.starts_with('-') ? 1 : 0;
  const std::string_view unsigned_time = time.substr(sign);
  const std::size_t dash = unsigned_time.find('-');
  const std::size_t colon = window.find(':');
  if (dash == std::string_view::npos || (has_window && colon == std::string_view::npos)) {
    table.fail(
        fmt::format("a gap must be like 3-7 or 3-7@0:64, and here is \"{}\"", excerpt(text)));
  }
  Gap gap{.lower = table.integer(time.substr(0, sign + dash), "a gap's lower end"),
          .upper = table.integer(unsigned_time.substr(dash + 1), "a gap's upper end")};
  if (gap.upper > std::numeric_limits<std::int64_t>::max() - more) {
    table.fail("a gap's upper end: what follows is more than 64 bits hold");
  }
  gap.upper += more;
  if (has_window) {
    gap.bottom = table.integer(window.substr(0, colon), "what a gap leaves");
    gap.top = table.integer(window.substr(colon + 1), "what a gap leaves");
  }
  return gap;
}

std::vector<Gap> read_gaps(const Table& table, std::string_view text, std::int64_t more) {
  std::vector<Gap> gaps;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return gaps;
    text.remove_prefix(begin);
    const std::string_view one = text.substr(0, text.find_first_of(" \t"));
    gaps.push_back(read_gap(table, one, more));
    text.remove_prefix(one.size());
  }
}

Buffer read_buffer(const Table& table, const Places& places) {
  const auto integer = [&](Column column) {
    return table.integer(*places[column], kNames[column]);
  };
  const auto has = [&](Column column) {
    return places[column] && !table.field(*places[column]).empty();
  };
  Buffer buffer;
  buffer.size = integer(kSize);
  buffer.lower = integer(kLower);
  if (buffer.size < 0) table.fail(fmt::format("size is {}; it cannot be negative", buffer.size));
  const Column last = places[kUpper] ? kUpper : kEnd;
  buffer.upper = integer(last);
  if (last == kEnd) {
    if (buffer.upper == std::numeric_limits<std::int64_t>::max()) {
      table.fail(fmt::format("end is {}: what follows is more than 64 bits hold", buffer.upper));
    }
    ++buffer.upper;
  }
  if (buffer.upper < buffer.lower) {
    table.fail(fmt::format("the lifetime ends before it begins: lower is {}, {} is {}",
                           buffer.lower, kNames[last], integer(last)));
  }
  if (has(kAlignment)) {
    buffer.alignment = integer(kAlignment);
    if (buffer.alignment <= 0 || (buffer.alignment & (buffer.alignment - 1)) != 0) {
      table.fail(fmt::format("alignment is {}; it must be a power of two", buffer.alignment));
    }
  }
  if (has(kOffset)) {
    buffer.offset = integer(kOffset);
    if (*buffer.offset < 0)
      table.fail(fmt::format("offset is {}; it cannot be negative", *buffer.offset));
  }
  if (has(kGaps)) buffer.gaps = read_gaps(table, table.field(*places[kGaps]), last == kEnd ? 1 : 0);
  return buffer;
}

}  // namespace

BufferTable read_buffers(std::string_view text, const std::string& file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Table table(text, file);
  const Places places = read_header(table);
  const std::size_t columns = table.fields();
  BufferTable result;
  std::vector<int> lines;
  while (table.next_line()) {
    if (table.fields() != columns) {
      table.fail(
          fmt::format("here are {} fields; the first line names {}", table.fields(), columns));
    }
    result.problem.buffers.push_back(read_buffer(table, places));
    result.ids.emplace_back(table.field(*places[kId]));
    lines.push_back(table.line());
  }
  std::unordered_map<std::string_view, int> seen;
  seen.reserve(result.ids.size());
  for (std::size_t i = 0; i < result.ids.size(); ++i) {
    const auto [first, is_new] = seen.emplace(result.ids[i], lines[i]);
    if (is_new) continue;
    throw ValueError(fmt::format("{}:{}: id \"{}\" was given in line {} already", file, lines[i],
                                 excerpt(result.ids[i]), first->second));
  }
  try {
    check(result.problem);
  } catch (const BufferError& error) {
    throw ValueError(fmt::format("{}:{}: {}", file, lines[error.buffer()], error.what()));
  }
  return result;
}

}  // namespace tenure::planner
