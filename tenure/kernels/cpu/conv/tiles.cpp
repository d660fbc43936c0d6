#include "tenure/kernels/cpu/conv/grid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/conv/tiles.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tenure/kernels/cpu/elementwise/after.h"
#include "tenure/kernels/cpu/gemm/tile-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::HWY_NAMESPACE::Columns;
using tile::HWY_NAMESPACE::Sums;
using tile::HWY_NAMESPACE::TileShape;

/// Bytes of packed weights that all positions of a band pass over before the next ones come.
constexpr std::int64_t kWeightBytes = 384 << 10;

/// The taps of an output as runs of neighbouring source elements.
struct Runs {
  Runs(const Grid& grid, const Source& source) {
    const Axis& x = grid.axes[2];
    const bool merged = grid.groups == 1 && x.apart == 1;
    length = merged ? x.taps * grid.in_channels : grid.in_group();
    counts = {grid.axes[0].taps, grid.axes[1].taps, merged ? 1 : x.taps};
    steps = {source.plane, grid.axes[1].apart * source.row, x.apart * grid.in_channels};
  }
  std::int64_t count() const { return counts[0] * counts[1] * counts[2]; }

  /// A run, and where it begins. To find it takes divisions, to go on to the next one none.
  struct Place {
    std::int64_t y, x;
    std::int64_t offset;
  };
  Place place(std::int64_t run) const {
    const std::int64_t y = run / counts[2] % counts[1];
    const std::int64_t x = run % counts[2];
    const std::int64_t z = run / (counts[1] * counts[2]);
    return {y, x, z * steps[0] + y * steps[1] + x * steps[2]};
  }
  void go_on(Place& place) const {
    place.offset += steps[2];
    if (++place.x < counts[2]) return;
    place.x = 0;
    place.offset += steps[1] - counts[2] * steps[2];
    if (++place.y < counts[1]) return;
    place.y = 0;
    place.offset += steps[0] - counts[1] * steps[1];
  }

  std::int64_t length = 0;
  std::array<std::int64_t, 3> counts{};
  std::array<std::int64_t, 3> steps{};
};

/// What all tiles of a band have in common.
template <class T>
struct Pass {
  const Runs& runs;
  std::int64_t begin;  // runs
  std::int64_t end;
  Runs::Place first;  // of run `begin`
  const T* weights;   // packed, of run `begin`
  const T* bias;      // or null
  std::int64_t columns;
  bool add;  // to what the target has
  bool relu;
};

/// kRows positions times `width` vectors of target channels.
template <class T, int rows, int width>
HWY_NOINLINE void tile(const Pass<T>& pass, const T* const* HWY_RESTRICT from,
                       T* const* HWY_RESTRICT to, std::int64_t filled) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[rows][width];
  TENURE_UNROLL
  for (int v = 0; v < width; ++v) {
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) sums[r][v] = hn::Zero(d);
  }
  const T* HWY_RESTRICT w = pass.weights;
  Runs::Place place = pass.first;
  for (std::int64_t run = pass.begin; run < pass.end; ++run, pass.runs.go_on(place)) {
    const T* at[rows];
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) at[r] = from[r] + place.offset;
    TENURE_UNROLL_SOME
    for (std::int64_t i = 0; i < pass.runs.length; ++i, w += width * lanes) {
      V column[width];
      TENURE_UNROLL
      for (int v = 0; v < width; ++v) column[v] = hn::Load(d, w + v * lanes);
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        const V x = hn::Set(d, at[r][i]);
        TENURE_UNROLL
        for (int v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(x, column[v], sums[r][v]);
      }
    }
  }
  // The larger of this and then a NaN is the NaN.
  const V least = hn::Set(d, pass.relu ? T{0} : -std::numeric_limits<T>::infinity());
  if (filled == rows && pass.columns == width * lanes) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) {
      const V bias = pass.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, pass.bias + v * lanes);
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        T* const at = to[r] + v * lanes;
        const V sum = hn::Add(sums[r][v], pass.add ? hn::LoadU(d, at) : bias);
        hn::StoreU(hn::Max(least, sum), d, at);
      }
    }
    return;
  }
  Sums<T, rows, width> done;
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) done.set(sums[r][v], r, v);
  }
  const Columns<T, width> columns(pass.columns);
  TENURE_UNROLL
  for (int v = 0; v < width; ++v) {
    const V bias = pass.bias == nullptr ? hn::Zero(d) : columns.load(pass.bias, v);
    for (int r = 0; r < filled; ++r) {
      const V sum = hn::Add(done.get(r, v), pass.add ? columns.load(to[r], v) : bias);
      columns.store(hn::Max(least, sum), to[r], v);
    }
  }
}

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
    return packed_ + grid_.depth() * (group * Shape::padded_group(grid_.out_group()) +
                                      panel * Shape::columns());
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
            std::max<std::int64_t>(1, kWeightBytes / static_cast<std::int64_t>(sizeof(T)) /
                                          std::max<std::int64_t>(1, padded * runs.length));
        for (std::int64_t begin = 0; begin < runs.count(); begin += at_once) {
          const std::int64_t end = std::min(begin + at_once, runs.count());
          const T* const bias =
              bias_ == nullptr ? nullptr : bias_ + group * grid_.out_group() + first;
          const Pass<T> pass{.runs = runs,
                             .begin = begin,
                             .end = end,
                             .first = {},
                             .weights = panel_at(group, panel) + begin * runs.length * padded,
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
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    switch (padded / lanes) {
      case 1:
        return run_tiles<Shape::kTall, 1>(pass, band, source, group, first);
      case 2:
        return run_tiles<Shape::kMiddle, 2>(pass, band, source, group, first);
      default:
        if constexpr (Shape::kWidth == 4) {
          return run_tiles<Shape::kShort, 4>(pass, band, source, group, first);
        }
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
  template <int rows, int width>
  void run_tiles(const Pass<T>& pass, const Band& band, const Source& source, std::int64_t group,
                 std::int64_t first) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    for (std::int64_t row = 0; row < band.rows;) {
      const auto inside = runs_of_row(pass.runs, band.row + row);
      const std::int64_t begin_row = row++;
      while (row < band.rows && runs_of_row(pass.runs, band.row + row) == inside) ++row;
      Pass<T> part = pass;
      part.begin = std::clamp(inside.first, pass.begin, pass.end);
      part.end = std::clamp(inside.second, part.begin, pass.end);
      part.first = pass.runs.place(part.begin);
      part.weights += (part.begin - pass.begin) * pass.runs.length * width * lanes;
      run_rows<rows, width>(part, band, begin_row, row, source, group, first);
    }
  }

  /// Rows [row, end) of a band.
  template <int rows, int width>
  void run_rows(const Pass<T>& pass, const Band& band, std::int64_t row, std::int64_t end,
                const Source& source, std::int64_t group, std::int64_t first) const {
    const Axis& y = grid_.axes[1];
    const Axis& x = grid_.axes[2];
    const T* const from_group = static_cast<const T*>(source.data) + group * grid_.in_group();
    const std::int64_t plane = grid_.axes[0].to + band.plane * grid_.axes[0].to_step;
    T* const to_group =
        target_ +
        (band.image * grid_.axes[0].target + plane) * y.target * x.target * grid_.out_channels +
        group * grid_.out_group() + first;
    const T* from[rows];
    T* to[rows];
    const std::int64_t positions = (end - row) * x.count;
    std::int64_t column = 0;
    for (std::int64_t position = 0; position < positions; position += rows) {
      const std::int64_t filled = std::min<std::int64_t>(rows, positions - position);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (r >= filled) {  // computed, but not stored
          from[r] = from[r - 1];
          continue;
        }
        from[r] = from_group + row * y.step * source.row + column * x.step * grid_.in_channels;
        to[r] = to_group +
                ((y.to + (band.row + row) * y.to_step) * x.target + x.to + column * x.to_step) *
                    grid_.out_channels;
        if (++column == x.count) {
          column = 0;
          ++row;
        }
      }
      tile<T, rows, width>(pass, from, to, filled);
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
