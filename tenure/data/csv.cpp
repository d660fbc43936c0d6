#include "tenure/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
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

/// A column in the making: first its type is found, then its values.
struct Draft {
  std::string name;
  std::optional<DType> wanted{};
  bool whole = true;   // all fields so far are whole numbers
  bool number = true;  // ... are numbers or empty
  std::unordered_map<std::string, std::int64_t> places{};
  Column column{};

  bool is_text() const { return !wanted && !number; }
  DType dtype() const {
    if (wanted) return *wanted;
    return whole || is_text() ? DType::int64 : DType::float32;
  }
  void look_at(std::string_view field) {
    whole = whole && parsed<std::int64_t>(field);
    number = number && (whole || field.empty() || parsed<double>(field));
  }
  void put(const CsvScanner& scanner, std::int64_t row);
};

void Draft::put(const CsvScanner& scanner, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  if (is_text()) {
    const auto [place, is_new] =
        places.emplace(scanner.field(), static_cast<std::int64_t>(places.size()));
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
      scanner.fail(
          fmt::format("\"{}\" is no {} (column \"{}\")", scanner.field(), name_of(dtype()), name));
    }
    if constexpr (NarrowFloat<T>) {
      column.values.mutable_span<T>()[at] = round_to<T>(*value);
    } else {
      column.values.mutable_span<T>()[at] = static_cast<T>(*value);
    }
  });
}

std::vector<Draft> read_names(CsvScanner& scanner, const CsvOptions& options) {
  std::vector<Draft> drafts;
  std::unordered_set<std::string> names;
  while (scanner.next_field()) {
    Draft draft{.name =
                    options.header ? std::string(scanner.field()) : std::to_string(drafts.size())};
    if (!names.insert(draft.name).second) {
      scanner.fail(fmt::format("two columns have the name \"{}\"", draft.name));
    }
    if (const auto type = options.types.find(draft.name); type != options.types.end()) {
      draft.wanted = type->second;
    }
    drafts.push_back(std::move(draft));
  }
  for (const auto& [name, dtype] : options.types) {
    if (!names.contains(name))
      throw ValueError(fmt::format("read_csv: there is no column \"{}\"", name));
  }
  return drafts;
}

/// Calls `f(draft, row)` for every field.
template <class F>
std::int64_t for_each_field(CsvScanner& scanner, bool skip_first, std::vector<Draft>& drafts,
                            const F& f) {
  std::int64_t row = 0;
  if (skip_first && scanner.next_line()) {
    while (scanner.next_field()) {
    }
  }
  for (; scanner.next_line(); ++row) {
    std::size_t i = 0;
    for (; scanner.next_field(); ++i) {
      if (i == drafts.size()) scanner.fail(fmt::format("the line has more than {} fields", i));
      f(drafts[i], row);
    }
    if (i < drafts.size()) {
      scanner.fail(fmt::format("the line has {} fields; {} are expected", i, drafts.size()));
    }
  }
  return row;
}

}  // namespace

const Column& Table::column(const std::string& name) const {
  for (const Column& column : columns) {
    if (column.name == name) return column;
  }
  throw ValueError(
      fmt::format("the table has no column \"{}\" among its {}", name, columns.size()));
}

Table read_csv(const std::string& path, const CsvOptions& options, Site site) try {
  const DeviceScope host(cpu);
  const InputFile file(path);
  io::FilePart source(file, 0, file.size());
  const Tensor bytes = io::read_elements(
      source, {.dtype = DType::uint8, .shape = {static_cast<std::int64_t>(file.size())}},
      {.op = "read_csv", .site = site});
  const auto span = bytes.span<std::uint8_t>();
  const std::string_view text(reinterpret_cast<const char*>(span.data()), span.size());
  const auto scan = [&] { return CsvScanner(text, options.separator, path); };

  CsvScanner names = scan();
  std::vector<Draft> drafts;
  if (names.next_line()) drafts = read_names(names, options);

  Table table;
  CsvScanner first = scan();
  table.rows = for_each_field(first, options.header, drafts, [&](Draft& draft, std::int64_t) {
    draft.look_at(first.is_quoted() ? first.field() : trimmed(first.field()));
  });
  for (Draft& draft : drafts) {
    draft.column = {.name = draft.name, .values = empty({table.rows}, draft.dtype(), site)};
  }
  CsvScanner second = scan();
  for_each_field(second, options.header, drafts,
                 [&](Draft& draft, std::int64_t row) { draft.put(second, row); });
  for (Draft& draft : drafts) table.columns.push_back(std::move(draft.column));
  return table;
} catch (Error& error) {
  mem::name_call(error, "read_csv", site);
  throw;
}

}  // namespace tenure::data
