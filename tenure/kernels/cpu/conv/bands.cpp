#include <algorithm>
#include <cstring>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/conv/grid.h"

namespace tenure::kernels::conv {
namespace {

/// A band's source stays in the second level of the cache with the weights beside it. Copies are
/// smaller: each thread has one.
constexpr std::int64_t kBandBytes = 256 << 10;
constexpr std::int64_t kCopyBytes = 128 << 10;

}  // namespace

Bands::Bands(const Grid& grid, std::size_t element, std::int64_t least) {
  const Axis& y = grid.axes[1];
  const Axis& x = grid.axes[2];
  width = x.reach(x.count);
  const std::int64_t row =
      grid.axes[0].taps * width * grid.in_channels * static_cast<std::int64_t>(element);
  const std::int64_t most = grid.is_inside() ? kBandBytes : kCopyBytes;
  const std::int64_t fit = std::max<std::int64_t>(1, most / std::max<std::int64_t>(row, 1));
  const std::int64_t room = fit - (y.taps - 1) * y.apart - 1;
  rows = std::clamp<std::int64_t>(room < 0 ? 1 : room / y.step + 1, 1,
                                  std::max<std::int64_t>(y.count, 1));
  const std::int64_t planes = std::max<std::int64_t>(grid.batch * grid.axes[0].count, 1);
  rows = std::min(rows, std::max<std::int64_t>(1, planes * y.count / least));
  per_plane = (y.count + rows - 1) / rows;
  rows =
      std::max<std::int64_t>(1, (y.count + per_plane - 1) / std::max<std::int64_t>(per_plane, 1));
  count = grid.batch * grid.axes[0].count * per_plane;
  if (!grid.is_inside()) bytes = round_up(static_cast<std::size_t>(row * y.reach(rows)), 64);
}

Band band_at(const Grid& grid, const Bands& bands, std::int64_t index) {
  const std::int64_t row = index % bands.per_plane * bands.rows;
  const std::int64_t plane = index / bands.per_plane;
  return {.image = plane / grid.axes[0].count,
          .plane = plane % grid.axes[0].count,
          .row = row,
          .rows = std::min(bands.rows, grid.axes[1].count - row)};
}

Source source_of(const Grid& grid, const Bands& bands, const Band& band, DType dtype,
                 const void* source, std::byte* room) {
  const Axis& z = grid.axes[0];
  const Axis& y = grid.axes[1];
  const Axis& x = grid.axes[2];
  const std::int64_t pixel = grid.in_channels;
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const auto* const image =
      static_cast<const std::byte*>(source) + band.image * z.in * y.in * x.in * pixel * element;
  const std::int64_t z0 = z.first + band.plane * z.step;
  const std::int64_t y0 = y.first + band.row * y.step;
  if (bands.bytes == 0) {
    return {.data = image + ((z0 * y.in + y0) * x.in + x.first) * pixel * element,
            .plane = z.apart * y.in * x.in * pixel,
            .row = x.in * pixel};
  }
  const std::int64_t rows = y.reach(band.rows);
  const std::int64_t bytes = bands.width * pixel * element;
  const std::int64_t from = std::clamp<std::int64_t>(-x.first, 0, bands.width);
  const std::int64_t until = std::clamp(x.in - x.first, from, bands.width);
  std::byte* to = room;
  for (std::int64_t tap = 0; tap < z.taps; ++tap) {
    const std::int64_t at_z = z0 + tap * z.apart;
    for (std::int64_t row = 0; row < rows; ++row, to += bytes) {
      const std::int64_t at_y = y0 + row;
      if (at_z < 0 || at_z >= z.in || at_y < 0 || at_y >= y.in) {
        std::memset(to, 0, static_cast<std::size_t>(bytes));
        continue;
      }
      const std::int64_t one = pixel * element;
      std::memset(to, 0, static_cast<std::size_t>(from * one));
      std::memcpy(to + from * one, image + ((at_z * y.in + at_y) * x.in + x.first + from) * one,
                  static_cast<std::size_t>((until - from) * one));
      std::memset(to + until * one, 0, static_cast<std::size_t>((bands.width - until) * one));
    }
  }
  return {.data = room, .plane = rows * bands.width * pixel, .row = bands.width * pixel};
}

}  // namespace tenure::kernels::conv
