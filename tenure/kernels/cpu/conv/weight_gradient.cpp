#include "tenure/kernels/cpu/conv/grid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/conv/weight_gradient.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>

#include "tenure/kernels/cpu/conv/grid_tile-inl.h"
#include "tenure/kernels/cpu/conv/position_sums-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class WeightGradient {
 public:
  WeightGradient(const Grid& grid, const void* source, const void* dy, void* dweights, void* dbias,
                 bool adds)
      : grid_(grid),
        bands_(grid, sizeof(T), 1),
        source_(source),
        dy_(static_cast<const T*>(dy)),
        dweights_(static_cast<T*>(dweights)),
        dbias_(static_cast<T*>(dbias)),
        adds_(adds),
        full_panels_(grid.out_group() / (kWidth * lanes())),
        rest_(grid.out_group() % (kWidth * lanes())) {}

  void operator()(std::byte* room, std::int64_t slots) const {
    const Source anywhere;
    const std::int64_t items = grid_.groups * items_of_group(Runs(grid_, anywhere));
    parallel_for(slots, 1, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t slot = begin; slot < end; ++slot) {
        std::byte* const own = room + slot * static_cast<std::int64_t>(bands_.bytes);
        const std::int64_t first = items * slot / slots;
        const std::int64_t last = items * (slot + 1) / slots;
        for (std::int64_t b = 0; b < bands_.count; ++b) {
          const Band band = band_at(grid_, bands_, b);
          const Source source = source_of(grid_, bands_, band, dtype_of<T>(), source_, own);
          const Runs runs(grid_, source);
          run_items(first, last, {band, source, runs, adds_ || b > 0});
        }
      }
    });
  }

 private:
  /// A band, and whether its sums join what is there.
  struct Part {
    const Band& band;
    const Source& source;
    const Runs& runs;
    bool add;
  };
  /// Target channels that are computed together.
  struct Panel {
    std::int64_t group;
    std::int64_t first;
    std::int64_t count;
  };

  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>())); }
  static int width_of(std::int64_t columns) {
    if (columns <= lanes()) return 1;
    return columns <= 2 * lanes() ? 2 : kWidth;
  }
  /// Tiles of a run, of nearly the same size.
  static std::int64_t tiles_of(const Runs& runs, int width) {
    const std::int64_t most = width <= 2 ? kRows<2> : kRows<kWidth>;
    return (runs.length + most - 1) / most;
  }
  /// Of a panel: the bias, then the tiles of each run.
  static std::int64_t items_of(const Runs& runs, int width) {
    return runs.count() * tiles_of(runs, width) + 1;
  }
  std::int64_t items_of_group(const Runs& runs) const {
    return full_panels_ * items_of(runs, kWidth) +
           (rest_ > 0 ? items_of(runs, width_of(rest_)) : 0);
  }

  /// Items [index, end).
  void run_items(std::int64_t index, std::int64_t end, const Part& part) const {
    while (index < end) {
      const std::int64_t group = index / items_of_group(part.runs);
      std::int64_t first = index % items_of_group(part.runs);
      const std::int64_t panel = std::min(full_panels_, first / items_of(part.runs, kWidth));
      first -= panel * items_of(part.runs, kWidth);
      const Panel columns{.group = group,
                          .first = group * grid_.out_group() + panel * kWidth * lanes(),
                          .count = panel < full_panels_ ? kWidth * lanes() : rest_};
      const int width = width_of(columns.count);
      const std::int64_t last = std::min(items_of(part.runs, width), first + (end - index));
      index += last - first;
      if (width == 1) run_panel<1>(columns, first, last, part);
      if (width == 2) run_panel<2>(columns, first, last, part);
      if constexpr (kWidth > 2) {
        if (width > 2) run_panel<kWidth>(columns, first, last, part);
      }
    }
  }

  /// Items [first, last) of a panel. A tile follows from the one before: to find each by its number
  /// takes as long as the sums of a small image.
  template <int width>
  void run_panel(const Panel& panel, std::int64_t first, std::int64_t last,
                 const Part& part) const {
    const Runs& runs = part.runs;
    if (first == 0) {
      if (dbias_ != nullptr) add_bias<width>(panel, part);
      ++first;
    }
    const std::int64_t tiles = std::max<std::int64_t>(tiles_of(runs, width), 1);
    const std::int64_t high = runs.length / tiles;
    const std::int64_t higher = runs.length % tiles;
    std::int64_t run = (first - 1) / tiles;
    std::int64_t tile = (first - 1) % tiles;
    std::int64_t row = tile * high + std::min(tile, higher);
    Runs::Place place = runs.place(run);
    for (; first < last; ++first) {
      const std::int64_t rows = high + (tile < higher ? 1 : 0);
      add_tile<width>(panel, run * runs.length + row, rows, place.offset + row, part);
      row += rows;
      if (++tile < tiles) continue;
      tile = row = 0;
      ++run;
      runs.go_on(place);
    }
  }

  /// Of the first position of a run, `offset` elements on.
  Positions<T> positions_of(const Panel& panel, std::int64_t offset, const Part& part) const {
    const auto& [z, y, x] = grid_.axes;
    const Band& band = part.band;
    const std::int64_t row = (band.image * z.count + band.plane) * y.count + band.row;
    return {.x = static_cast<const T*>(part.source.data) + offset + panel.group * grid_.in_group(),
            .dy = dy_ + row * x.count * grid_.out_channels + panel.first,
            .rows = band.rows,
            .columns = x.count,
            .x_row = y.step * part.source.row,
            .x_column = x.step * grid_.in_channels,
            .dy_row = x.count * grid_.out_channels,
            .dy_column = grid_.out_channels};
  }

  template <int width>
  void add_bias(const Panel& panel, const Part& part) const {
    for_each_chain(positions_of(panel, 0, part), part.add, [&](const Positions<T>& some, bool add) {
      sum_columns<T, width>(some, dbias_ + panel.first, panel.count, add);
    });
  }

  /// `rows` rows of the gradient of the weights from `row` on, for taps from `offset` on.
  template <int width>
  void add_tile(const Panel& panel, std::int64_t row, std::int64_t rows, std::int64_t offset,
                const Part& part) const {
    T* const to = dweights_ + row * grid_.out_channels + panel.first;
    const auto which = static_cast<std::size_t>(rows - 1);
    auto sum = kSumProducts<T, width>[which];
    if constexpr (width == kWidth) {
      if (panel.count == kWidth * lanes()) sum = kSumProducts<T, width, true>[which];
    }
    for_each_chain(positions_of(panel, offset, part), part.add,
                   [&](const Positions<T>& some, bool add) {
                     sum(some, to, grid_.out_channels, panel.count, add);
                   });
  }

  const Grid& grid_;
  Bands bands_;
  const void* source_;
  const T* dy_;
  T* dweights_;
  T* dbias_;
  bool adds_;  // to what both have
  std::int64_t full_panels_;
  std::int64_t rest_;  ///< channels of the last panel, if it is not full
};

void run_weight_gradient(const Grid& grid, DType dtype, const void* source, const void* dy,
                         void* dweights, void* dbias, bool adds, std::byte* room,
                         std::int64_t slots) {
  if (dtype == DType::float32) {
    WeightGradient<float>(grid, source, dy, dweights, dbias, adds)(room, slots);
  } else {
    WeightGradient<double>(grid, source, dy, dweights, dbias, adds)(room, slots);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::conv {

HWY_EXPORT(run_weight_gradient);

void run_weight_gradient(const Grid& grid, DType dtype, const void* source, const void* dy,
                         void* dweights, void* dbias, bool adds, std::byte* room,
                         std::int64_t slots) {
  HWY_DYNAMIC_DISPATCH(run_weight_gradient)
  (grid, dtype, source, dy, dweights, dbias, adds, room, slots);
}

}  // namespace tenure::kernels::conv
#endif
