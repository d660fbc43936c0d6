#include "cli/plan_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "cli/bytes.h"
#include "tenure/base/text.h"
#include "tenure/base/units.h"

namespace tenure::cli {
namespace {

constexpr double kWidth = 1200;
constexpr double kHeight = 600;
constexpr double kLeft = 90;
constexpr double kTop = 40;
constexpr double kMargin = 40;
constexpr double kLetterWidth = 6.5;  // at most, in the font of labels
constexpr double kLetterHeight = 12;

/// As XML text and attributes want it. Control characters, which XML has no way to write, are left
/// out.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) result += c;
    }
  }
  return result;
}

/// As much of a label as a width takes; empty if that is next to nothing.
std::string fitting(std::string_view label, double width) {
  const auto most = static_cast<std::size_t>(std::max(0.0, width - 4) / kLetterWidth);
  if (label.size() <= most) return std::string(label);
  return most < 4 ? "" : excerpt(label, most - 3);
}

/// The same for the same text on every machine.
unsigned hue(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 8) % 360;
}

}  // namespace

void write_svg(const Drawing& drawing, const std::string& path) {
  double first = 0;
  double last = 1;
  if (!drawing.boxes.empty()) {
    const auto& boxes = drawing.boxes;
    first = static_cast<double>(std::ranges::min(boxes, {}, &Box::lower).lower);
    last = std::max(first + 1, static_cast<double>(std::ranges::max(boxes, {}, &Box::upper).upper));
  }
  const double top = std::max(
      1.0, static_cast<double>(std::max({drawing.height, drawing.capacity, drawing.budget})));
  const auto x = [&](double time) { return kLeft + (time - first) / (last - first) * kWidth; };
  const auto y = [&](double offset) { return kTop + (1 - offset / top) * kHeight; };

  std::string svg;
  const auto put = [&](fmt::string_view format, const auto&... values) {
    svg += fmt::vformat(format, fmt::make_format_args(values...));
  };
  const double width = kLeft + kWidth + kMargin;
  const double height = kTop + kHeight + kMargin;
  put("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {:.0f} {:.0f}' "
      "font-family='sans-serif' font-size='13'>\n",
      width, height);
  put("<title>{}</title>\n", escaped(drawing.title));
  put("<rect width='{:.0f}' height='{:.0f}' fill='white'/>\n", width, height);
  put("<text x='{:.0f}' y='24'>{}: {} high</text>\n", kLeft, escaped(drawing.title),
      bytes_text(drawing.height));
  put("<g stroke='black' stroke-opacity='0.35' stroke-width='0.5'>\n");
  for (const Box& box : drawing.boxes) {
    if (box.size == 0 || box.lower == box.upper) continue;
    const double left = x(static_cast<double>(box.lower));
    const double upper = y(static_cast<double>(box.offset) + static_cast<double>(box.size));
    put("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='hsl({},55%,70%)'>"
        "<title>{}: {} at {}, time {} to {}</title></rect>\n",
        left, upper, x(static_cast<double>(box.upper)) - left,
        y(static_cast<double>(box.offset)) - upper, hue(box.label), escaped(box.label),
        format_bytes(box.size), box.offset, box.lower, box.upper);
  }
  put("</g>\n<g font-size='11' text-anchor='middle' pointer-events='none'>\n");
  for (const Box& box : drawing.boxes) {
    const double width_of_box =
        x(static_cast<double>(box.upper)) - x(static_cast<double>(box.lower));
    const double height_of_box = static_cast<double>(box.size) / top * kHeight;
    const std::string label = fitting(box.label, width_of_box);
    if (height_of_box < kLetterHeight || label.empty()) continue;
    put("<text x='{:.2f}' y='{:.2f}'>{}</text>\n",
        x(static_cast<double>(box.lower)) + width_of_box / 2,
        y(static_cast<double>(box.offset)) - height_of_box / 2 + 4, escaped(label));
  }
  put("</g>\n");
  const auto line_at = [&](std::int64_t offset, const char* dashes, const char* name = "") {
    const double where = y(static_cast<double>(offset));
    put("<path d='M{:.2f} {:.2f}H{:.2f}' stroke='black' stroke-dasharray='{}'/>"
        "<text x='{:.2f}' y='{:.2f}' text-anchor='end'>{}</text>"
        "<text x='{:.2f}' y='{:.2f}' text-anchor='end'>{}</text>\n",
        kLeft - 5, where, kLeft + kWidth, dashes, kLeft - 8, where + 4, format_bytes(offset),
        kLeft + kWidth - 4, where - 4, name);
  };
  line_at(0, "none");
  if (drawing.height > 0) line_at(drawing.height, "none");
  if (drawing.capacity > 0) line_at(drawing.capacity, "6 4", "capacity");
  if (drawing.budget > 0) line_at(drawing.budget, "2 3", "budget");
  put("<text x='{:.0f}' y='{:.0f}'>time {:.0f}</text>"
      "<text x='{:.0f}' y='{:.0f}' text-anchor='end'>{:.0f}</text>\n</svg>\n",
      kLeft, height - 14, first, kLeft + kWidth, height - 14, last);

  std::ofstream file(path, std::ios::binary);
  file << svg;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace tenure::cli
