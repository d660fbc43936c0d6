#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::data {

/// Walks over the fields of a text with separators.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, char separator, const std::string& path);

  /// Goes to the next field of the line; false at the line's end.
  bool next_field();
  /// Goes to the next line that is not empty; false at the end. The line before must be at its end.
  bool next_line();

  /// The current field without its quotes; valid until the next one.
  std::string_view field() const { return field_; }
  bool is_quoted() const { return is_quoted_; }
  /// Of the current field's beginning, from 1 on.
  std::int64_t line() const { return line_; }
  std::int64_t column() const { return column_; }

  /// Throws FormatError about the current field, with line and column.
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  void read_quoted();
  bool at_line_end() const;

  std::string_view text_;
  const std::string& path_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the current field
  std::int64_t line_ = 0;
  std::int64_t lines_inside_ = 0;  // ends of lines in quotes of this line
  std::int64_t column_ = 0;
  bool expects_field_ = false;
  bool is_quoted_ = false;
  std::string_view field_;
  std::string unquoted_;
};

}  // namespace tenure::data
