#include "tenure/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "tenure/base/error.h"
#include "tenure/data/csv_scanner.h"
#include "tenure/io/elements.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/creation.h"

namespace tenure::data {
namespace {

/// Of a number that no double comes near: whether it is too large, and not too small.
bool is_too_large(std::string_view text) {
  const std::size_t exponent_mark = text.find_first_of("eE");
  const std::string_view digits = text.substr(0, exponent_mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = std::min(digits.find_first_of("123456789"), digits.size());
  // The place of the first digit that counts, from the point.
  const std::int64_t place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (exponent_mark == text.npos) return place > 0;
  text.remove_prefix(exponent_mark + 1);
  const bool is_negative = text.starts_with('-');
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int32_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  return error == std::errc() ? place + exponent > 0 : !is_negative;
}

/// Numbers that a float cannot hold are infinite or zero, as elsewhere.
template <class T>
std::optional<T> parsed(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (error == std::errc::result_out_of_range) {
      const T size = is_too_large(text) ? std::numeric_limits<T>::infinity() : T{0};
      return text.starts_with('-') ? -size : size;
    }
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

template <>
std::optional<bool> parsed<bool>(std::string_view text) {
  const bool yes = text == "true" || text == "True" || text == "TRUE" || text == "1";
  const bool no = text == "false" || text == "False" || text == "FALSE" || text == "0";
  return yes || no ? std::optional(yes) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// What is known of a column in the making: first its type is found, then its values. A file may
/// have many, so it is small.
struct Draft {
  std::optional<DType> wanted{};
  bool whole = true;   // all fields so far are whole numbers
  bool number = true;  // ... are numbers or empty
  std::unique_ptr<std::unordered_map<std::string, std::int64_t>> places{};  // of words

  bool is_text() const { return !wanted && !number; }
  DType dtype() const {
    if (wanted) return *wanted;
    return whole || is_text() ? DType::int64 : DType::float32;
  }
  void look_at(std::string_view field) {
    whole = whole && parsed<std::int64_t>(field);
    number = number && (whole || field.empty() || parsed<double>(field));
  }
  void put(const CsvScanner& scanner, std::int64_t row, Column& column);
};

void Draft::put(const CsvScanner& scanner, std::int64_t row, Column& column) {
  const auto at = static_cast<std::size_t>(row);
  if (is_text()) {
    if (places == nullptr) places = std::make_unique<decltype(places)::element_type>();
    const auto [place, is_new] =
        places->emplace(scanner.field(), static_cast<std::int64_t>(places->size()));
    if (is_new) column.words.emplace_back(scanner.field());
    column.values.mutable_span<std::int64_t>()[at] = place->second;
    return;
  }
  visit_dtype(dtype(), [&]<class T>(TypeTag<T>) {
    constexpr bool kIsFraction = std::is_floating_point_v<T> || NarrowFloat<T>;
    using Read = std::conditional_t<kIsFraction, double, T>;
    const std::string_view field = trimmed(scanner.field());
    std::optional<Read> value = parsed<Read>(field);
    if (kIsFraction && field.empty())
      value = static_cast<Read>(std::numeric_limits<double>::quiet_NaN());
    if (!value) {
      scanner.fail(fmt::format("\"{}\" is no {} (column \"{}\")", scanner.field(), name_of(dtype()),
                               column.name));
    }
    if constexpr (NarrowFloat<T>) {
      column.values.mutable_span<T>()[at] = round_to<T>(*value);
    } else {
      column.values.mutable_span<T>()[at] = static_cast<T>(*value);
    }
  });
}

/// The columns, with nothing but their names.
std::vector<Column> read_names(CsvScanner& scanner, const CsvOptions& options) {
  std::vector<Column> columns;
  std::unordered_set<std::string_view> names;  // in the text; those in quotes are elsewhere
  std::deque<std::string> quoted;
  while (scanner.next_field()) {
    if (static_cast<std::int64_t>(columns.size()) >= options.max_columns) {
      scanner.fail(fmt::format("there are more than {} columns; raise max_columns to read them",
                               options.max_columns));
    }
    if (!options.header) {
      columns.push_back({.name = std::to_string(columns.size()), .values = {}});
      continue;
    }
    std::string_view name = scanner.field();
    if (scanner.is_quoted()) name = quoted.emplace_back(name);
    if (!names.insert(name).second) {
      scanner.fail(fmt::format("two columns have the name \"{}\"", name));
    }
    columns.push_back({.name = std::string(name), .values = {}});
  }
  columns.shrink_to_fit();
  return columns;
}

std::vector<Draft> draft(const std::vector<Column>& columns,
                         const std::map<std::string, DType>& types) {
  std::vector<Draft> drafts(columns.size());
  std::set<std::string_view> found;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto type = types.find(columns[i].name);
    if (type == types.end()) continue;
    drafts[i].wanted = type->second;
    found.insert(type->first);
  }
  for (const auto& [name, dtype] : types) {
    if (!found.contains(name))
      throw ValueError(fmt::format("read_csv: there is no column \"{}\"", name));
  }
  return drafts;
}

/// Calls `f(column, row)` for every field; there are so many columns.
template <class F>
std::int64_t for_each_field(CsvScanner& scanner, bool skip_first, std::size_t columns, const F& f) {
  std::int64_t row = 0;
  if (skip_first && scanner.next_line()) {
    while (scanner.next_field()) {
    }
  }
  for (; scanner.next_line(); ++row) {
    std::size_t i = 0;
    for (; scanner.next_field(); ++i) {
      if (i == columns) scanner.fail(fmt::format("the line has more than {} fields", i));
      f(i, row);
    }
    if (i < columns) {
      scanner.fail(fmt::format("the line has {} fields; {} are expected", i, columns));
    }
  }
  return row;
}

}  // namespace

const Column& Table::column(const std::string& name, Site site) const {
  return mem::in_call("column", site, [&]() -> const Column& {
    for (const Column& column : columns) {
      if (column.name == name) return column;
    }
    throw ValueError(
        fmt::format("the table has no column \"{}\" among its {}", name, columns.size()));
  });
}

Table read_csv(const std::string& path, const CsvOptions& options, Site site) try {
  if (std::string_view("\"\r\n").find(options.separator) != std::string_view::npos) {
    throw ValueError("read_csv: separator is a quote or the end of a line, which have a meaning");
  }
  const DeviceScope host(cpu);
  const InputFile file(path);
  io::FilePart source(file, 0, file.size());
  const Tensor bytes = io::read_elements(
      source, {.dtype = DType::uint8, .shape = {static_cast<std::int64_t>(file.size())}},
      {.op = "read_csv", .site = site});
  const auto span = bytes.span<std::uint8_t>();
  const std::string_view text(reinterpret_cast<const char*>(span.data()), span.size());
  const auto scan = [&] { return CsvScanner(text, options.separator, path); };

  Table table;
  CsvScanner names = scan();
  if (names.next_line()) table.columns = read_names(names, options);
  std::vector<Draft> drafts = draft(table.columns, options.types);

  CsvScanner first = scan();
  table.rows =
      for_each_field(first, options.header, drafts.size(), [&](std::size_t i, std::int64_t) {
        drafts[i].look_at(first.is_quoted() ? first.field() : trimmed(first.field()));
      });
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    table.columns[i].values = empty({table.rows}, drafts[i].dtype(), site);
  }
  CsvScanner second = scan();
  for_each_field(second, options.header, drafts.size(), [&](std::size_t i, std::int64_t row) {
    drafts[i].put(second, row, table.columns[i]);
  });
  return table;
} catch (Error& error) {
  mem::name_call(error, "read_csv", site);
  throw;
}

}  // namespace tenure::data
