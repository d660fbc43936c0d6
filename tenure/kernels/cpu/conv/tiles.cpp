#include "tenure/kernels/cpu/conv/grid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/conv/tiles.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "tenure/kernels/cpu/conv/grid_tile-inl.h"
#include "tenure/kernels/cpu/elementwise/after.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::HWY_NAMESPACE::TileShape;

/// Terms of which all positions of a band have their sums before the next ones come: their weights
/// stay in the second level of the cache. The same for all vectors, as are the bits that follow.
constexpr std::int64_t kTerms = 3072;

template <class T>
class GridRunner {
 public:
  GridRunner(const Grid& grid, const void* source, const Weights& weights, const Finish& finish,
             void* target, std::byte* packed, std::int64_t slots)
      : grid_(grid),
        bands_(grid, sizeof(T), slots),
        source_(source),
        weights_(weights),
        bias_(static_cast<const T*>(finish.bias)),
        relu_(finish.relu),
        after_(finish.after),
        target_(static_cast<T*>(target)),
        packed_(reinterpret_cast<T*>(packed)) {}

  void operator()(std::byte* room, std::int64_t slots) const {
    pack();
    parallel_for(slots, 1, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t slot = begin; slot < end; ++slot) {
        for (std::int64_t i = bands_.count * slot / slots; i < bands_.count * (slot + 1) / slots;
             ++i) {
          const Band band = band_at(grid_, bands_, i);
          run_band(band, room + slot * static_cast<std::int64_t>(bands_.bytes));
          if (after_ != nullptr) follow(band);
        }
      }
    });
  }

 private:
  using Shape = TileShape<T>;
  static std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

  /// Weights in the order in which tiles read them: panel by panel, tap by tap.
  void pack() const {
    const std::int64_t panels = Shape::panels(grid_.out_group());
    parallel_for(grid_.groups * panels, 1, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t i = begin; i < end; ++i) pack_panel(i / panels, i % panels);
    });
  }
  void pack_panel(std::int64_t group, std::int64_t panel) const {
    const std::int64_t first = panel * Shape::columns();
    const std::int64_t columns = std::min(grid_.out_group() - first, Shape::columns());
    const std::int64_t padded = Shape::padded(columns);
    T* to = panel_at(group, panel);
    const auto& axes = grid_.axes;
    const T* const base =
        static_cast<const T*>(weights_.data) + group * weights_.group + first * weights_.target;
    for (std::int64_t z = 0; z < axes[0].taps; ++z) {
      for (std::int64_t y = 0; y < axes[1].taps; ++y) {
        for (std::int64_t x = 0; x < axes[2].taps; ++x) {
          const std::int64_t place =
              ((axes[0].weight + z * axes[0].weight_step) * weights_.kernel[1] + axes[1].weight +
               y * axes[1].weight_step) *
                  weights_.kernel[2] +
              axes[2].weight + x * axes[2].weight_step;
          const T* from = base + place * weights_.place;
          for (std::int64_t c = 0; c < grid_.in_group(); ++c, from += weights_.source) {
            for (std::int64_t j = 0; j < columns; ++j) to[j] = from[j * weights_.target];
            std::fill(to + columns, to + padded, T{0});
            to += padded;
          }
        }
      }
    }
  }
  T* panel_at(std::int64_t group, std::int64_t panel) const {
    return packed_ +
           grid_.depth() * (group * Shape::padded(grid_.out_group()) + panel * Shape::columns());
  }

  /// The loop that follows, on the rows of a band: those of a target that the grid fills lie one
  /// after the other.
  void follow(const Band& band) const {
    const Axis& y = grid_.axes[1];
    const std::int64_t row = grid_.axes[2].count * grid_.out_channels;
    const std::int64_t plane = band.image * grid_.axes[0].count + band.plane;
    const std::int64_t begin = (plane * y.count + band.row) * row;
    run_after_here(*after_, begin, begin + band.rows * row);
  }

  void run_band(const Band& band, std::byte* room) const {
    const Source source = source_of(grid_, bands_, band, dtype_of<T>(), source_, room);
    const Runs runs(grid_, source);
    const std::int64_t panels = Shape::panels(grid_.out_group());
    for (std::int64_t group = 0; group < grid_.groups; ++group) {
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        const std::int64_t first = panel * Shape::columns();
        const std::int64_t columns = std::min(grid_.out_group() - first, Shape::columns());
        const std::int64_t padded = Shape::padded(columns);
        const std::int64_t at_once =
            std::max<std::int64_t>(1, kTerms / std::max<std::int64_t>(1, runs.length));
        for (std::int64_t begin = 0; begin < runs.count(); begin += at_once) {
          const std::int64_t end = std::min(begin + at_once, runs.count());
          const T* const bias =
              bias_ == nullptr ? nullptr : bias_ + group * grid_.out_group() + first;
          const Pass<T> pass{.runs = runs,
                             .begin = begin,
                             .end = end,
                             .first = {},
                             .length = runs.length,
                             .weights = panel_at(group, panel) + begin * runs.length * padded,
                             .rest = 0,
                             .bias = bias,
                             .columns = columns,
                             .add = begin > 0,
                             .relu = relu_ && end == runs.count()};
          run_pass(pass, band, source, group, first, padded);
        }
      }
    }
  }

  void run_pass(const Pass<T>& pass, const Band& band, const Source& source, std::int64_t group,
                std::int64_t first, std::int64_t padded) const {
    if (padded > Shape::lanes()) {
      run_tiles<Shape::kWidth>(pass, band, source, group, first);
    } else {
      run_tiles<1>(pass, band, source, group, first);
    }
  }

  /// Runs that a row of outputs finds inside the image, where they follow one after the other. The
  /// others are of padding: zeros, which are not worth adding.
  std::pair<std::int64_t, std::int64_t> runs_of_row(const Runs& runs, std::int64_t row) const {
    if (runs.counts[0] != 1) return {0, runs.count()};
    const Axis& y = grid_.axes[1];
    const std::int64_t at = y.first + row * y.step;
    const auto taps_below = [&](std::int64_t end) {  // that lie before source row `end`
      return std::clamp<std::int64_t>((end - at + y.apart - 1) / y.apart, 0, y.taps);
    };
    const std::int64_t begin = at < 0 ? taps_below(0) : 0;
    const std::int64_t end = at < y.in ? taps_below(y.in) : 0;
    return {begin * runs.counts[2], std::max(begin, end) * runs.counts[2]};
  }

  /// The tiles of a band: rows that have the same taps together.
  template <int width>
  void run_tiles(const Pass<T>& pass, const Band& band, const Source& source, std::int64_t group,
                 std::int64_t first) const {
    for (std::int64_t row = 0; row < band.rows;) {
      const auto inside = runs_of_row(pass.runs, band.row + row);
      const std::int64_t begin_row = row++;
      while (row < band.rows && runs_of_row(pass.runs, band.row + row) == inside) ++row;
      Pass<T> part = pass;
      part.begin = std::clamp(inside.first, pass.begin, pass.end);
      part.end = std::clamp(inside.second, part.begin, pass.end);
      part.first = pass.runs.place(part.begin);
      part.weights += (part.begin - pass.begin) * pass.runs.length * width * Shape::lanes();
      const Lines lines = lines_of(band, source, group, first);
      run_part<width>(part, lines, begin_row, row);
    }
  }

  /// Rows of outputs of a band, for the channels of a panel.
  struct Lines {
    const T* from;
    T* to;
    std::int64_t count;  ///< positions of a row
    std::int64_t from_row, from_step;
    std::int64_t to_row, to_step;
  };
  Lines lines_of(const Band& band, const Source& source, std::int64_t group,
                 std::int64_t first) const {
    const auto& [z, y, x] = grid_.axes;
    const std::int64_t plane = band.image * z.target + z.to + band.plane * z.to_step;
    const std::int64_t row = plane * y.target + y.to + band.row * y.to_step;
    return {.from = static_cast<const T*>(source.data) + group * grid_.in_group(),
            .to = target_ + (row * x.target + x.to) * grid_.out_channels +
                  group * grid_.out_group() + first,
            .count = x.count,
            .from_row = y.step * source.row,
            .from_step = x.step * grid_.in_channels,
            .to_row = y.to_step * x.target * grid_.out_channels,
            .to_step = x.to_step * grid_.out_channels};
  }

  /// Rows [row, end), in tiles of the sizes that leave the least over.
  template <int width>
  void run_part(const Pass<T>& pass, const Lines& lines, std::int64_t row, std::int64_t end) const {
    if constexpr (!Shape::kManyRegisters) {
      run_spots<Shape::kRows, width>(pass, lines, row, end);
    } else {
      if (makes_rows(lines.count)) return run_columns<width>(pass, lines, row, end);
      constexpr int kMany = 12;
      constexpr int kFew = 8;  // a tenth slower for each
      const std::int64_t positions = (end - row) * lines.count;
      if (divide_up(positions, kFew) * (kFew + 1) < divide_up(positions, kMany) * kMany) {
        run_spots<kFew, width>(pass, lines, row, end);
      } else {
        run_spots<kMany, width>(pass, lines, row, end);
      }
    }
  }

  /// Whether so many neighbours fill tiles of their own.
  static bool makes_rows(std::int64_t count) {
    return count / divide_up(count, Shape::kRows) >= kFewestOfRow;
  }

  /// Rows [row, end). Columns that find some taps in the padding alone, zeros, leave them out, if
  /// they are long enough for tiles.
  template <int width>
  void run_columns(const Pass<T>& pass, const Lines& lines, std::int64_t row,
                   std::int64_t end) const {
    const Axis& x = grid_.axes[2];
    const auto taps_of = [&x](std::int64_t column) {  // that are inside
      const std::int64_t at = x.first + column * x.step;
      const std::int64_t first = std::clamp<std::int64_t>(-at, 0, x.taps);
      return std::pair(first, std::clamp(x.in - at, first, x.taps));
    };
    const auto is_inner = [&](std::int64_t column) {
      return taps_of(column) == std::pair(std::int64_t{0}, x.taps);
    };
    std::int64_t first = 0;
    std::int64_t last = x.count;
    if (makes_rows(end - row) && pass.runs.length == x.taps * grid_.in_channels && x.apart == 1) {
      while (first < last && !is_inner(first)) ++first;
      while (last > first && !is_inner(last - 1)) --last;
      if (last == first || !makes_rows(last - first)) first = 0, last = x.count;
    }
    for (std::int64_t i = row; i < end; ++i) {
      run_row<width>(pass,
                     {.from = lines.from + i * lines.from_row + first * lines.from_step,
                      .to = lines.to + i * lines.to_row + first * lines.to_step,
                      .from_step = lines.from_step,
                      .to_step = lines.to_step},
                     last - first);
    }
    for (std::int64_t column = 0; column < x.count; ++column) {
      if (first <= column && column < last) continue;
      const auto [begin_tap, end_tap] = taps_of(column);
      Pass<T> part = pass;
      part.length = (end_tap - begin_tap) * grid_.in_channels;
      part.weights += begin_tap * grid_.in_channels * width * Shape::lanes();
      part.rest = (pass.runs.length - part.length) * width * Shape::lanes();
      run_row<width>(part,
                     {.from = lines.from + row * lines.from_row + column * lines.from_step +
                              begin_tap * grid_.in_channels,
                      .to = lines.to + row * lines.to_row + column * lines.to_step,
                      .from_step = lines.from_row,
                      .to_step = lines.to_row},
                     end - row);
    }
  }

  /// So many neighbours, in tiles of nearly the same size.
  template <int width>
  void run_row(const Pass<T>& pass, Row<T> at, std::int64_t count) const {
    const std::int64_t tiles = divide_up(count, Shape::kRows);
    const std::int64_t high = count / tiles;
    const std::int64_t higher = count % tiles;
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t size = high + (i < higher ? 1 : 0);
      kRowTiles<T, width>[static_cast<std::size_t>(size - kFewestOfRow)](pass, at, size);
      at.from += size * at.from_step;
      at.to += size * at.to_step;
    }
  }

  /// Rows [row, end), whose ends tiles may have in their middle.
  template <int rows, int width>
  void run_spots(const Pass<T>& pass, const Lines& lines, std::int64_t row,
                 std::int64_t end) const {
    Spots<T> spots;
    const std::int64_t positions = (end - row) * lines.count;
    std::int64_t column = 0;
    for (std::int64_t position = 0; position < positions; position += rows) {
      const std::int64_t filled = std::min<std::int64_t>(rows, positions - position);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (r >= filled) {  // computed, but not stored
          spots.from[r] = spots.from[r - 1];
          continue;
        }
        spots.from[r] = lines.from + row * lines.from_row + column * lines.from_step;
        spots.to[r] = lines.to + row * lines.to_row + column * lines.to_step;
        if (++column == lines.count) {
          column = 0;
          ++row;
        }
      }
      tile<T, rows, width>(pass, spots, filled);
    }
  }

  const Grid& grid_;
  Bands bands_;
  const void* source_;
  const Weights& weights_;
  const T* bias_;
  bool relu_;
  const ops::FusedNeighbours* after_;
  T* target_;
  T* packed_;
};

void run_grid(const Grid& grid, DType dtype, const void* source, const Weights& weights,
              const Finish& finish, void* target, std::byte* packed, std::byte* room,
              std::int64_t slots) {
  if (dtype == DType::float32) {
    GridRunner<float>(grid, source, weights, finish, target, packed, slots)(room, slots);
  } else {
    GridRunner<double>(grid, source, weights, finish, target, packed, slots)(room, slots);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::conv {

HWY_EXPORT(run_grid);

void run_grid(const Grid& grid, DType dtype, const void* source, const Weights& weights,
              const Finish& finish, void* target, std::byte* packed, std::byte* room,
              std::int64_t slots) {
  HWY_DYNAMIC_DISPATCH(run_grid)
  (grid, dtype, source, weights, finish, target, packed, room, slots);
}

}  // namespace tenure::kernels::conv
#endif
