#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tenure::ops {

/// Pooling over up to three spatial axes of channels-last images; missing axes have size 1 and come
/// first.
struct Pooling {
  struct Axis {
    std::int64_t in = 1;
    std::int64_t out = 1;
    std::int64_t kernel = 1;  ///< 0: adaptive, windows that cover the axis evenly
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t dilation = 1;

    /// Where window o begins; negative in the padding.
    std::int64_t first(std::int64_t o) const {
      return kernel == 0 ? o * in / out : o * stride - padding;
    }
    /// How many places window o has, those in the padding among them.
    std::int64_t places(std::int64_t o) const {
      return kernel == 0 ? ((o + 1) * in + out - 1) / out - o * in / out : kernel;
    }
    /// The most places that a window has.
    std::int64_t most() const { return kernel == 0 ? (in + out - 1) / out + 1 : kernel; }
    /// The places of window o that lie inside: [begin, end).
    std::int64_t begin(std::int64_t o) const {
      const std::int64_t at = first(o);
      return at >= 0 ? 0 : (-at + dilation - 1) / dilation;
    }
    std::int64_t end(std::int64_t o) const {
      const std::int64_t room = in - first(o);
      return std::min(places(o), room <= 0 ? 0 : (room + dilation - 1) / dilation);
    }
  };
  std::array<Axis, 3> axes{};
  std::int64_t batch = 0;
  std::int64_t channels = 0;

  /// No position lies in two windows.
  bool is_disjoint() const {
    return std::all_of(axes.begin(), axes.end(), [](const Axis& a) {
      return a.kernel == 0 ? a.in % std::max<std::int64_t>(a.out, 1) == 0
                           : a.stride >= (a.kernel - 1) * a.dilation + 1;
    });
  }
  /// They are disjoint, and every position lies in one.
  bool covers() const {
    return is_disjoint() && std::all_of(axes.begin(), axes.end(), [](const Axis& a) {
             return a.kernel == 0 || (a.stride == a.kernel && a.dilation == 1 && a.padding == 0 &&
                                      a.in == a.out * a.kernel);
           });
  }
  /// The most places of a window; they are numbered in row-major order.
  std::int64_t places() const { return axes[0].most() * axes[1].most() * axes[2].most(); }
};

}  // namespace tenure::ops
