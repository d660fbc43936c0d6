#include "tenure/data/csv_scanner.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"

namespace tenure::data {

CsvScanner::CsvScanner(std::string_view text, char separator, const std::string& path)
    : text_(text), path_(path), separator_(separator) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

void CsvScanner::fail(const std::string& problem) const {
  throw FormatError(path_, begin_, fmt::format("line {}, column {}: {}", line_, column_, problem));
}

bool CsvScanner::at_line_end() const {
  return at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

bool CsvScanner::next_line() {
  line_ += lines_inside_;
  lines_inside_ = 0;
  while (at_ < text_.size()) {
    if (line_ != 0) at_ += text_[at_] == '\r' ? 2 : 1;  // the end of the line before
    ++line_;
    column_ = 0;
    if (at_ < text_.size() && !at_line_end()) {
      expects_field_ = true;
      return true;
    }
  }
  return false;
}

bool CsvScanner::next_field() {
  if (!expects_field_) return false;
  ++column_;
  begin_ = at_;
  is_quoted_ = at_ < text_.size() && text_[at_] == '"';
  if (is_quoted_) {
    read_quoted();
  } else {
    while (!at_line_end() && text_[at_] != separator_) ++at_;
    field_ = text_.substr(begin_, at_ - begin_);
  }
  expects_field_ = !at_line_end();
  if (expects_field_ && text_[at_] != separator_) fail("text follows a quoted field");
  if (expects_field_) ++at_;
  return true;
}

void CsvScanner::read_quoted() {
  unquoted_.clear();
  for (++at_;; ++at_) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) fail("a quoted field has no end");
    const std::string_view piece = text_.substr(at_, quote - at_);
    unquoted_ += piece;
    lines_inside_ += std::count(piece.begin(), piece.end(), '\n');
    at_ = quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    unquoted_ += '"';
  }
  field_ = unquoted_;
}

}  // namespace tenure::data
