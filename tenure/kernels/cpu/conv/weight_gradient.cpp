#include "tenure/kernels/cpu/conv/grid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/conv/weight_gradient.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "tenure/kernels/cpu/gemm/tile-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::HWY_NAMESPACE::Columns;
using tile::HWY_NAMESPACE::Sums;
using tile::HWY_NAMESPACE::TileShape;

/// The positions that a tile sums over.
template <class T>
struct Positions {
  const T* x;
  const T* dy;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t x_row;  // elements from one row of outputs to the next
  std::int64_t x_column;
  std::int64_t dy_row;
  std::int64_t dy_column;
};

constexpr int kMaxRows = 6;
constexpr std::int64_t kChain = 512;  ///< positions that are added up one after the other

/// Calls `f(part, add)` for parts of the positions, none longer than a chain; all but the first are
/// added to what is there.
template <class T, class F>
HWY_INLINE void for_each_chain(const Positions<T>& all, bool add, const F& f) {
  if (all.rows * all.columns <= kChain) return f(all, add);
  const std::int64_t rows = std::max<std::int64_t>(1, kChain / all.columns);
  const std::int64_t columns = std::min(all.columns, kChain);
  for (std::int64_t row = 0; row < all.rows; row += rows) {
    for (std::int64_t column = 0; column < all.columns; column += columns) {
      Positions<T> part = all;
      part.x += row * all.x_row + column * all.x_column;
      part.dy += row * all.dy_row + column * all.dy_column;
      part.rows = std::min(rows, all.rows - row);
      part.columns = std::min(columns, all.columns - column);
      f(part, add || row > 0 || column > 0);
    }
  }
}

/// Columns of which there are as many as vectors hold, without masks, which take registers.
template <class T, int width>
class AllColumns {
 public:
  using D = hn::ScalableTag<T>;
  HWY_INLINE explicit AllColumns(std::int64_t) {}
  HWY_INLINE hn::Vec<D> load(const T* from, int v) const {
    return hn::LoadU(D(), from + v * TileShape<T>::lanes());
  }
  HWY_INLINE void store(hn::Vec<D> x, T* to, int v) const {
    hn::StoreU(x, D(), to + v * TileShape<T>::lanes());
  }
};

/// Sums of x[position + r] dy[position, column] for `rows` neighbouring elements r. `full`: of all
/// columns that vectors hold.
template <class T, int rows, int width, bool full>
HWY_NOINLINE void sum_products(const Positions<T>& p, T* to, std::int64_t to_row,
                               std::int64_t columns, bool add) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::conditional_t<full, AllColumns<T, width>, Columns<T, width>> some(columns);
  V sums[rows][width];
  TENURE_UNROLL
  for (int v = 0; v < width; ++v) {
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) sums[r][v] = hn::Zero(d);
  }
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* HWY_RESTRICT x = p.x + row * p.x_row;
    const T* HWY_RESTRICT dy = p.dy + row * p.dy_row;
    const auto add_position = [&]() HWY_ATTR {
      V column[width];
      TENURE_UNROLL
      for (int v = 0; v < width; ++v) {
        column[v] = some.load(dy, v);
      }
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        const V value = hn::Set(d, x[r]);
        TENURE_UNROLL
        for (int v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(value, column[v], sums[r][v]);
      }
      x += p.x_column;
      dy += p.dy_column;
    };
    std::int64_t i = 0;
    if constexpr (rows == kMaxRows && full) {
      for (; i + 4 <= p.columns; i += 4) {  // Of few rounds the processor foresees the end.
        add_position();
        add_position();
        add_position();
        add_position();
      }
    }
    for (; i < p.columns; ++i) add_position();
  }
  Sums<T, rows, width> done;
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) done.set(sums[r][v], r, v);
  }
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) {
      T* const place = to + r * to_row;
      const V sum = done.get(r, v);
      some.store(add ? hn::Add(some.load(place, v), sum) : sum, place, v);
    }
  }
}

template <class T, int width>
HWY_NOINLINE void sum_columns(const Positions<T>& p, T* to, std::int64_t columns, bool add) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Columns<T, width> some(columns);
  V sums[2][width];  // two, so that additions need not wait for each other
  for (int v = 0; v < width; ++v) sums[0][v] = sums[1][v] = hn::Zero(d);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* HWY_RESTRICT dy = p.dy + row * p.dy_row;
    std::int64_t i = 0;
    for (; i + 2 <= p.columns; i += 2, dy += 2 * p.dy_column) {
      for (int v = 0; v < width; ++v) {
        sums[0][v] = hn::Add(sums[0][v], some.load(dy, v));
        sums[1][v] = hn::Add(sums[1][v], some.load(dy + p.dy_column, v));
      }
    }
    if (i < p.columns) {
      for (int v = 0; v < width; ++v) sums[0][v] = hn::Add(sums[0][v], some.load(dy, v));
    }
  }
  for (int v = 0; v < width; ++v) {
    const V sum = hn::Add(sums[0][v], sums[1][v]);
    some.store(add ? hn::Add(some.load(to, v), sum) : sum, to, v);
  }
}

template <class T>
using SumProducts = void (*)(const Positions<T>&, T*, std::int64_t, std::int64_t, bool);
/// By rows less one.
template <class T, int width, bool full, int... rows>
constexpr std::array<SumProducts<T>, sizeof...(rows)> sums_of(std::integer_sequence<int, rows...>) {
  return {sum_products<T, rows + 1, width, full>...};
}
template <class T, int width, bool full = false>
constexpr auto kSumProducts = sums_of<T, width, full>(std::make_integer_sequence<int, kMaxRows>());

/// Some rows of the kernel's gradient times a panel of channels; no rows: the bias.
struct Item {
  std::int64_t group = 0;
  std::int64_t run = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
};

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
        merged_(grid.groups == 1 && grid.axes[2].apart == 1),
        length_(merged_ ? grid.axes[2].taps * grid.in_channels : grid.in_group()),
        runs_(merged_ ? grid.axes[0].taps * grid.axes[1].taps : grid.taps()),
        tiles_((length_ + kMaxRows - 1) / kMaxRows),
        panels_(Shape::panels(grid.out_group())) {}

  void operator()(std::byte* room, std::int64_t slots) const {
    const std::int64_t items = grid_.groups * panels_ * (runs_ * tiles_ + 1);
    parallel_for(slots, 1, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t slot = begin; slot < end; ++slot) {
        std::byte* const own = room + slot * static_cast<std::int64_t>(bands_.bytes);
        for (std::int64_t b = 0; b < bands_.count; ++b) {
          const Band band = band_at(grid_, bands_, b);
          const Source source = source_of(grid_, bands_, band, dtype_of<T>(), source_, own);
          for (std::int64_t i = items * slot / slots; i < items * (slot + 1) / slots; ++i) {
            run_item(item_at(i), band, source, adds_ || b > 0);
          }
        }
      }
    });
  }

 private:
  using Shape = TileShape<T>;

  Item item_at(std::int64_t index) const {
    Item item;
    const std::int64_t per_panel = runs_ * tiles_ + 1;
    const std::int64_t panel = index / per_panel;
    const std::int64_t tile = index % per_panel;
    item.group = panel / panels_;
    item.column = panel % panels_ * Shape::columns();
    item.columns = std::min(Shape::columns(), grid_.out_group() - item.column);
    if (tile < runs_ * tiles_) {
      item.run = tile / tiles_;
      item.row = tile % tiles_ * kMaxRows;
      item.rows = std::min<std::int64_t>(kMaxRows, length_ - item.row);
    }
    return item;
  }

  void run_item(const Item& item, const Band& band, const Source& source, bool add) const {
    switch (Shape::padded(item.columns) / Shape::lanes()) {
      case 1:
        return run_item<1>(item, band, source, add);
      case 2:
        return run_item<2>(item, band, source, add);
      default:
        if constexpr (Shape::kWidth == 4) return run_item<4>(item, band, source, add);
    }
  }
  template <int width>
  void run_item(const Item& item, const Band& band, const Source& source, bool add) const {
    const Axis& z = grid_.axes[0];
    const Axis& y = grid_.axes[1];
    const Axis& x = grid_.axes[2];
    const std::int64_t across = merged_ ? 1 : x.taps;
    const std::int64_t offset = item.run / (y.taps * across) * source.plane +
                                item.run / across % y.taps * y.apart * source.row +
                                item.run % across * x.apart * grid_.in_channels;
    const std::int64_t channel = item.group * grid_.out_group() + item.column;
    const Positions<T> positions{
        .x = static_cast<const T*>(source.data) + offset + item.group * grid_.in_group() + item.row,
        .dy = dy_ +
              ((band.image * z.count + band.plane) * y.count + band.row) * x.count *
                  grid_.out_channels +
              channel,
        .rows = band.rows,
        .columns = x.count,
        .x_row = y.step * source.row,
        .x_column = x.step * grid_.in_channels,
        .dy_row = x.count * grid_.out_channels,
        .dy_column = grid_.out_channels};
    if (item.rows == 0) {
      if (dbias_ != nullptr) {
        for_each_chain(positions, add, [&](const Positions<T>& part, bool adds) {
          sum_columns<T, width>(part, dbias_ + channel, item.columns, adds);
        });
      }
      return;
    }
    T* const to = dweights_ + (item.run * length_ + item.row) * grid_.out_channels + channel;
    const auto rows = static_cast<std::size_t>(item.rows - 1);
    auto sum = kSumProducts<T, width>[rows];
    if constexpr (width == Shape::kWidth && !Shape::kManyRegisters) {
      if (item.columns == Shape::columns()) sum = kSumProducts<T, width, true>[rows];
    }
    for_each_chain(positions, add, [&](const Positions<T>& part, bool adds) {
      sum(part, to, grid_.out_channels, item.columns, adds);
    });
  }

  const Grid& grid_;
  Bands bands_;
  const void* source_;
  const T* dy_;
  T* dweights_;
  T* dbias_;
  bool adds_;    // to what both have
  bool merged_;  // taps of a row of the kernel are one run
  std::int64_t length_;
  std::int64_t runs_;
  std::int64_t tiles_;
  std::int64_t panels_;
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
