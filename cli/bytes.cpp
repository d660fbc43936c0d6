#include "cli/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "cli/commands.h"
#include "tenure/base/units.h"

namespace tenure::cli {
namespace {

/// Zero for what is no unit.
double unit_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kPrefixes = "kmgt";
  if (name.empty() || name == "b") return 1;
  const std::size_t prefix = kPrefixes.find(name[0]);
  if (prefix == std::string_view::npos) return 0;
  const double power = static_cast<double>(prefix) + 1;
  const std::string rest = name.substr(1);
  if (rest.empty() || rest == "i" || rest == "ib") return std::pow(1024.0, power);
  return rest == "b" ? std::pow(1000.0, power) : 0;
}

}  // namespace

std::int64_t parse_bytes(const std::string& text, const std::string& option) {
  // What was printed in full can be given in full: not every number of bytes is a double.
  std::int64_t whole = 0;
  const auto [after, problem] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (problem == std::errc() && after == text.data() + text.size() && whole >= 0) return whole;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.substr(0, 1) == " ") unit.remove_prefix(1);
  const double factor = unit_of(std::string(unit));
  constexpr double kMost = 9e18;
  if (error != std::errc() || factor == 0 || !(value >= 0) || value * factor > kMost) {
    throw UsageError(fmt::format("{} is \"{}\"; it must be a size such as 1048576, 512KiB or 8GiB",
                                 option, text));
  }
  return std::llround(value * factor);
}

std::string bytes_text(std::int64_t bytes) {
  return bytes < 1024 ? fmt::format("{} bytes", bytes)
                      : fmt::format("{} bytes ({})", bytes, format_bytes(bytes));
}

}  // namespace tenure::cli
