#include "tenure/nn/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace tenure::nn {
namespace {

// Of each panel, in the units of the picture.
constexpr double kWidth = 640;
constexpr double kHeight = 200;
constexpr double kLeft = 64;  // numbers
constexpr double kRight = 16;
constexpr double kTop = 28;  // what it is of
constexpr double kBottom = 34;

using Curve = std::vector<double>;  // by epoch; what is not finite is left out

struct Panel {
  std::string name;
  Curve training{};
  Curve validation{};
};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<'   ? "&lt;"
            : c == '&' ? "&amp;"
            : c == '>' ? "&gt;"
            : c == '"' ? "&quot;"
                       : std::string(1, c);
  }
  return safe;
}

std::vector<Panel> panels_of(const History& history) {
  std::vector<Panel> panels{{.name = "loss"}};
  for (const std::string& name : history.metrics) panels.push_back({.name = name});
  const auto number = [](const Scores& scores, std::size_t i) {
    if (i == 0) return scores.loss;
    return i <= scores.metrics.size() ? scores.metrics[i - 1] : std::nan("");
  };
  for (const Epoch& epoch : history.epochs) {
    for (std::size_t i = 0; i < panels.size(); ++i) {
      panels[i].training.push_back(number(epoch.training, i));
      panels[i].validation.push_back(epoch.validation ? number(*epoch.validation, i)
                                                      : std::nan(""));
    }
  }
  return panels;
}

/// Round numbers from low to high, about four of them.
std::vector<double> ticks(double low, double high) {
  const double rough = (high - low) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> all;
  for (double i = std::ceil(low / step); i * step <= high; ++i) all.push_back(i * step);
  return all;
}

/// Where numbers lie in a panel whose upper edge is `top`.
struct Axes {
  double top;
  double low = 0;
  double high = 1;
  std::size_t epochs = 0;
  int first = 1;  ///< the number of the first epoch

  double x(std::size_t i) const {
    const double inner = kWidth - kLeft - kRight;
    return kLeft + (epochs < 2 ? inner / 2
                               : inner * static_cast<double>(i) / static_cast<double>(epochs - 1));
  }
  double y(double value) const {
    return top + kTop + (kHeight - kTop - kBottom) * (high - value) / (high - low);
  }
};

Axes axes_of(const Panel& panel, const History& history, double top) {
  Axes axes{.top = top, .epochs = panel.training.size()};
  std::vector<double> all;
  for (const Curve* const curve : {&panel.training, &panel.validation}) {
    std::copy_if(curve->begin(), curve->end(), std::back_inserter(all),
                 [](double value) { return std::isfinite(value); });
  }
  if (!history.epochs.empty()) axes.first = history.epochs.front().number;
  if (all.empty()) return axes;
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  const double range = *high - *low;
  const double room =
      range > 0 && std::isfinite(range) ? range * 0.05 : std::max(std::abs(*low) * 0.05, 1e-12);
  axes.low = *low - room;
  axes.high = *high + room;
  return axes;
}

/// A line for each run of finite numbers, and a dot for a run of one.
std::string drawn(const Curve& curve, const Axes& axes, const char* style) {
  std::string svg;
  for (std::size_t i = 0; i < curve.size();) {
    std::string points;
    std::size_t n = 0;
    const std::size_t begin = i;
    for (; i < curve.size() && std::isfinite(curve[i]); ++i, ++n)
      points += fmt::format("{}{:.1f},{:.1f}", n == 0 ? "" : " ", axes.x(i), axes.y(curve[i]));
    if (n == 1) {
      svg += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="currentColor"/>)",
                         axes.x(begin), axes.y(curve[begin]));
    } else if (n > 1) {
      svg += fmt::format(
          R"(<polyline points="{}" fill="none" stroke="currentColor" stroke-width="1.5"{}/>)",
          points, style);
    }
    if (n == 0) ++i;
  }
  return svg;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                     text);
}

std::string drawn(const Panel& panel, const Axes& axes) {
  const bool has_validation = std::any_of(panel.validation.begin(), panel.validation.end(),
                                          [](double value) { return std::isfinite(value); });
  std::string svg = label(kLeft, axes.top + 16, "start",
                          escaped(panel.name) + (has_validation ? ", of validation dashed" : ""));
  for (const double tick : ticks(axes.low, axes.high)) {
    svg += fmt::format(R"(<path d="M{} {:.1f}H{}" stroke="currentColor" opacity=".2"/>)", kLeft,
                       axes.y(tick), kWidth - kRight);
    svg += label(kLeft - 8, axes.y(tick) + 4, "end", fmt::format("{:.4g}", tick));
  }
  const double below = axes.top + kHeight - kBottom + 18;
  for (std::size_t i = 0, step = std::max<std::size_t>(1, (axes.epochs + 7) / 8); i < axes.epochs;
       i += step) {
    svg += label(axes.x(i), below, "middle", std::to_string(axes.first + static_cast<int>(i)));
  }
  svg += drawn(panel.training, axes, "");
  return svg + drawn(panel.validation, axes, R"( stroke-dasharray="5 4")");
}

}  // namespace

std::string plot(const History& history) {
  const std::vector<Panel> panels = panels_of(history);
  const double height = kHeight * static_cast<double>(panels.size());
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" )"
      R"(role="img" aria-label="loss and metrics by epoch" font-family="sans-serif" )"
      R"(font-size="12" fill="currentColor">)",
      kWidth, height, kWidth, height);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    svg += drawn(panels[i], axes_of(panels[i], history, kHeight * static_cast<double>(i)));
  }
  return svg + "</svg>";
}

}  // namespace tenure::nn
