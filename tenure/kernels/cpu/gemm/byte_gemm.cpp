#include "tenure/kernels/cpu/gemm/byte_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/gemm/byte_gemm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tenure/kernels/cpu/gemm/byte_tile-inl.h"
#include "tenure/kernels/cpu/gemm/pack-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::byte_gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using pack::HWY_NAMESPACE::Lines;
using pack::HWY_NAMESPACE::pack_lines;

// Instructions multiply words of 32 bits: each has some neighbouring terms of a line, of a row of a
// or a column of b, and the sum of their products is added to one of 32 bits. A thread packs some
// panels of columns of b, each as wide as a tile, kDepth terms of them, and multiplies all rows
// with them, which it packs tile by tile. Sums of integers are the same in any order.

constexpr std::int64_t kShallow = 128;
constexpr std::int64_t kFew = 16;        // terms
constexpr std::int64_t kMostPanels = 4;  // beside which rows are used once they are packed

/// Word k of line i at to[i * line + k * word], its missing terms zero.
struct PackedLines {
  std::int32_t* to;
  std::int64_t line, word;
};

template <class Kind, class S, bool is_row>
HWY_INLINE std::int32_t word_of(const S* from, std::int64_t step, std::int64_t terms) {
  std::uint32_t word = 0;
  for (std::int64_t t = 0; t < terms; ++t) {
    const std::uint32_t term = Kind::term(from[t * step]);
    word |= (is_row ? Kind::row_term(term) : term) << (t * 32 / Kind::kTerms);
  }
  return static_cast<std::int32_t>(word);
}

template <class Kind, class S, bool is_row>
void pack_words(const Lines<S>& from, std::int64_t count, std::int64_t depth,
                const PackedLines& to) {
  constexpr std::int64_t kTerms = Kind::kTerms;
  const std::int64_t whole = depth / kTerms;
  if (from.term == 1 && to.word == 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      const S* HWY_RESTRICT const line = from.data + i * from.line;
      std::int32_t* HWY_RESTRICT const words = to.to + i * to.line;
      for (std::int64_t k = Kind::pack_line(line, whole, is_row, words); k < whole; ++k) {
        words[k] = word_of<Kind, S, is_row>(line + k * kTerms, 1, kTerms);
      }
    }
  } else if (from.line == 1 && to.line == 1) {
    for (std::int64_t k = 0; k < whole; ++k) {
      const S* HWY_RESTRICT const line = from.data + k * kTerms * from.term;
      std::int32_t* HWY_RESTRICT const words = to.to + k * to.word;
      for (std::int64_t i = Kind::pack_words(line, from.term, count, is_row, words); i < count;
           ++i) {
        words[i] = word_of<Kind, S, is_row>(line + i, from.term, kTerms);
      }
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t k = 0; k < whole; ++k) {
        to.to[i * to.line + k * to.word] = word_of<Kind, S, is_row>(
            from.data + i * from.line + k * kTerms * from.term, from.term, kTerms);
      }
    }
  }
  if (whole * kTerms == depth) return;
  for (std::int64_t i = 0; i < count; ++i) {
    to.to[i * to.line + whole * to.word] = word_of<Kind, S, is_row>(
        from.data + i * from.line + whole * kTerms * from.term, from.term, depth - whole * kTerms);
  }
}

template <class Kind, bool is_row>
void pack_bytes(const View& view, std::int64_t place, std::int64_t line, std::int64_t term,
                std::int64_t count, std::int64_t depth, const PackedLines& to) {
  if (view.dtype == DType::int8) {
    pack_words<Kind, std::int8_t, is_row>({view.as<std::int8_t>() + place, line, term}, count,
                                          depth, to);
  } else {
    pack_words<Kind, std::uint8_t, is_row>({view.as<std::uint8_t>() + place, line, term}, count,
                                           depth, to);
  }
}

template <class T>
void add_sums(const std::int32_t* HWY_RESTRICT sums, std::int64_t rows, std::int64_t columns,
              T* HWY_RESTRICT c, std::int64_t c_row, bool add) {
  for (std::int64_t r = 0; r < rows; ++r, sums += tile_columns(), c += c_row) {
    if (add) {
      for (std::int64_t j = 0; j < columns; ++j) {
        c[j] =
            static_cast<T>(static_cast<std::uint32_t>(c[j]) + static_cast<std::uint32_t>(sums[j]));
      }
    } else {
      for (std::int64_t j = 0; j < columns; ++j) c[j] = static_cast<T>(sums[j]);
    }
  }
}

/// add_sums of a whole tile.
HWY_INLINE void add_tile(const std::int32_t* HWY_RESTRICT sums, std::int64_t rows,
                         std::int32_t* HWY_RESTRICT c, std::int64_t c_row, bool add) {
  const Words d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < rows; ++r, c += c_row) {
    TENURE_UNROLL
    for (int v = 0; v < kTileWidth; ++v, sums += lanes) {
      const V sum = hn::Load(d, sums);
      std::int32_t* const to = c + v * lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
    }
  }
}

template <class Kind>
class Multiplication {
 public:
  explicit Multiplication(const Products& p)
      : p_(p),
        g_(p.batch.gemm),
        panels_((g_.n + tile_columns() - 1) / tile_columns()),
        tiles_((g_.m + kTileRows - 1) / kTileRows),
        high_((g_.m + tiles_ - 1) / tiles_) {}

  void run() const {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    if constexpr (Kind::kTerms == 4) {
      if (g_.m <= 2 * kFewRows && g_.b_column == 1 && g_.n >= kFewColumns) return run_few();
    }
#endif
    // Columns are packed once for each group of rows: as few as give every thread its share. Rows
    // are packed once for some panels of columns, unless threads had too little to share then.
    const std::int64_t threads = num_threads();
    const std::int64_t all = p_.batch.size * panels_;
    const std::int64_t wide = std::clamp<std::int64_t>(all / (2 * threads), 1, kMostPanels);
    const std::int64_t spans = (panels_ + wide - 1) / wide;
    const std::int64_t blocks = p_.batch.size * spans;
    const std::int64_t groups = std::clamp<std::int64_t>(2 * threads / blocks, 1, tiles_);
    const double work = std::max(1.0, static_cast<double>(g_.m) *
                                          static_cast<double>(wide * tile_columns() * g_.k) /
                                          static_cast<double>(groups));
    const auto block_at = [&](std::int64_t i) {
      const std::int64_t span = i / groups % spans;
      return Block{.product = i / groups / spans,
                   .panel = span * wide,
                   .panels = std::min(wide, panels_ - span * wide),
                   .row = tiles_ * (i % groups) / groups * high_,
                   .end = std::min(g_.m, tiles_ * (i % groups + 1) / groups * high_)};
    };
    parallel_for(blocks * groups, static_cast<std::int64_t>(std::max(1.0, kShare / work)),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   if (tiles_ == 1) {
                     // Each column is used once: rows of b are read from end to end.
                     for_depths(kShallow, [&](std::int64_t k, std::int64_t depth) HWY_ATTR {
                       for (std::int64_t i = begin; i < end; ++i) run_block(block_at(i), k, depth);
                     });
                   } else {
                     for (std::int64_t i = begin; i < end; ++i) {
                       for_depths(kDepth, [&](std::int64_t k, std::int64_t depth)
                                              HWY_ATTR { run_block(block_at(i), k, depth); });
                     }
                   }
                 });
  }

 private:
  /// Rows [row, end) beside some panels of columns.
  struct Block {
    std::int64_t product;
    std::int64_t panel, panels;
    std::int64_t row, end;
  };

  template <class F>
  HWY_INLINE void for_depths(std::int64_t step, const F& f) const {
    for (std::int64_t k = 0; k == 0 || k < g_.k; k += step) f(k, std::min(step, g_.k - k));
  }

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  /// Columns of b are read where they lie: so few rows are not worth packing them.
  void run_few() const {
    const std::int64_t spans = (g_.n + kFewColumns - 1) / kFewColumns;
    const double work = std::max(1.0, static_cast<double>(g_.m * g_.k * kFewColumns));
    parallel_for(p_.batch.size * spans, static_cast<std::int64_t>(std::max(1.0, kShare / work)),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   for_depths(kShallow, [&](std::int64_t k, std::int64_t depth) HWY_ATTR {
                     for (std::int64_t i = begin; i < end; ++i) {
                       run_few(i / spans, i % spans * kFewColumns, k, depth);
                     }
                   });
                 });
  }

  /// kFewColumns columns, or what there is of them, and all rows: some at a time, for which the
  /// columns are still in the nearest cache.
  void run_few(std::int64_t product, std::int64_t column, std::int64_t k,
               std::int64_t depth) const {
    HWY_ALIGN std::int32_t rows[kFewRows * kRowStep<Kind>];
    HWY_ALIGN std::int32_t sums[kFewRows * kFewColumns];
    static constexpr auto kFewTiles = few_table<Kind>(std::make_integer_sequence<int, kFewRows>());
    const std::int64_t columns = std::min(kFewColumns, g_.n - column);
    const std::int64_t a = p_.batch.at(product, p_.batch.a) + k * g_.a_column;
    const std::int64_t b = p_.batch.at(product, p_.batch.b) + k * g_.b_row + column;
    const std::int64_t c = p_.batch.at(product, p_.batch.c) + column;
    const std::int64_t groups = (g_.m + kFewRows - 1) / kFewRows;
    for (std::int64_t i = 0; i < groups; ++i) {
      const std::int64_t row = g_.m * i / groups;
      const std::int64_t high = g_.m * (i + 1) / groups - row;
      pack_rows(a + row * g_.a_row, high, depth, rows);
      kFewTiles[static_cast<std::size_t>(high - 1)](depth, rows, p_.b.as<std::int8_t>() + b,
                                                    g_.b_row, columns, sums);
      for (std::int64_t j = 0; j < columns; j += tile_columns()) {
        store(sums + j * high, high, std::min(tile_columns(), columns - j), c + row * g_.c_row + j,
              k > 0);
      }
    }
  }
#endif

  /// `depth` terms from k on.
  void run_block(const Block& block, std::int64_t k, std::int64_t depth) const {
    HWY_ALIGN std::int32_t columns[kMostPanels][kDepth / Kind::kTerms * kMostColumns];
    HWY_ALIGN std::int32_t start[kMostPanels][kMostColumns];
    HWY_ALIGN std::int32_t rows[kTileRows * kRowStep<Kind>];
    HWY_ALIGN std::int32_t sums[kTileRows * kMostColumns];
    static constexpr auto kTiles = tile_table<Kind>(std::make_integer_sequence<int, kTileRows>());
    const std::int64_t words = (depth + Kind::kTerms - 1) / Kind::kTerms;
    const std::int64_t b = p_.batch.at(block.product, p_.batch.b) + k * g_.b_row;
    const std::int64_t first = block.panel * tile_columns();
    const auto width_of = [&](std::int64_t p) {
      return std::min(tile_columns(), g_.n - (first + p * tile_columns()));
    };
    // Rows of b are read once for all panels: far from each other, they push each other out of
    // caches.
    const std::int64_t some = g_.b_row == 1 ? depth : kFew;
    for (std::int64_t at = 0; at < depth; at += some) {
      for (std::int64_t p = 0; p < block.panels; ++p) {
        pack_columns(b + at * g_.b_row + (first + p * tile_columns()) * g_.b_column, width_of(p),
                     std::min(some, depth - at), columns[p] + at / Kind::kTerms * tile_columns());
      }
    }
    if (Kind::kAddsStart) {
      for (std::int64_t p = 0; p < block.panels; ++p) set_start(columns[p], words, start[p]);
    }
    const std::int64_t a = p_.batch.at(block.product, p_.batch.a) + k * g_.a_column;
    const std::int64_t c = p_.batch.at(block.product, p_.batch.c) + first;
    for (std::int64_t row = block.row; row < block.end; row += high_) {
      const std::int64_t high = std::min(high_, block.end - row);
      pack_rows(a + row * g_.a_row, high, depth, rows);
      for (std::int64_t p = 0; p < block.panels; ++p) {
        kTiles[static_cast<std::size_t>(high - 1)](words, rows, columns[p], start[p], sums);
        store(sums, high, width_of(p), c + row * g_.c_row + p * tile_columns(), k > 0);
      }
    }
  }

  // Lines that lie the other way are packed as they lie, and turned.
  void pack_columns(std::int64_t place, std::int64_t width, std::int64_t depth,
                    std::int32_t* to) const {
    const std::int64_t step = tile_columns();
    const std::int64_t words = (depth + Kind::kTerms - 1) / Kind::kTerms;
    if (g_.b_row == 1 && g_.b_column != 1) {
      HWY_ALIGN std::int32_t lines[kMostColumns * kRowStep<Kind>];
      pack_bytes<Kind, false>(p_.b, place, g_.b_column, 1, width, depth,
                              {lines, kRowStep<Kind>, 1});
      pack_lines(Lines<std::int32_t>{lines, kRowStep<Kind>, 1}, width, words, to, step);
      return;
    }
    if (width < step) std::fill_n(to, words * step, 0);
    pack_bytes<Kind, false>(p_.b, place, g_.b_column, g_.b_row, width, depth, {to, 1, step});
  }
  void pack_rows(std::int64_t place, std::int64_t high, std::int64_t depth,
                 std::int32_t* to) const {
    if (g_.a_row == 1 && g_.a_column != 1) {
      constexpr std::int64_t kStep = 16;
      static_assert(kTileRows <= kStep);
      HWY_ALIGN std::int32_t terms[kDepth / Kind::kTerms * kStep];
      pack_bytes<Kind, true>(p_.a, place, 1, g_.a_column, high, depth, {terms, 1, kStep});
      pack_lines(Lines<std::int32_t>{terms, kStep, 1}, (depth + Kind::kTerms - 1) / Kind::kTerms,
                 high, to, kRowStep<Kind>);
      return;
    }
    pack_bytes<Kind, true>(p_.a, place, g_.a_row, g_.a_column, high, depth,
                           {to, kRowStep<Kind>, 1});
  }
  static void set_start(const std::int32_t* columns, std::int64_t words, std::int32_t* start) {
    const Words d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const V each = hn::Set(d, static_cast<std::int32_t>(0x80808080u));  // 128 four times
    for (std::int64_t j = 0; j < tile_columns(); j += lanes) {
      V sum = hn::Zero(d);
      for (std::int64_t k = 0; k < words; ++k) {
        sum = Kind::multiply_add(each, hn::Load(d, columns + k * tile_columns() + j), sum);
      }
      hn::Store(hn::Neg(sum), d, start + j);
    }
  }

  void store(const std::int32_t* sums, std::int64_t rows, std::int64_t columns, std::int64_t place,
             bool add) const {
    if (p_.out.dtype == DType::int32 && columns == tile_columns()) {
      add_tile(sums, rows, p_.out.as<std::int32_t>() + place, g_.c_row, add);
    } else if (p_.out.dtype == DType::int32) {
      add_sums(sums, rows, columns, p_.out.as<std::int32_t>() + place, g_.c_row, add);
    } else {
      add_sums(sums, rows, columns, p_.out.as<std::uint8_t>() + place, g_.c_row, add);
    }
  }

  static constexpr double kShare = 4e5;  // products that are worth waking a thread

  const Products& p_;
  const Gemm& g_;
  std::int64_t panels_;
  std::int64_t tiles_;
  std::int64_t high_;  // rows of a tile; the last ones may have fewer
};

void multiply(const Products& products) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (products.b.dtype == DType::int8 && has_quads()) {
    if (products.a.dtype == DType::int8) return Multiplication<Quads<true>>(products).run();
    return Multiplication<Quads<false>>(products).run();
  }
#endif
  Multiplication<Pairs>(products).run();
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::byte_gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::byte_gemm {

HWY_EXPORT(multiply);

void multiply(const Products& products) { HWY_DYNAMIC_DISPATCH(multiply)(products); }

}  // namespace tenure::kernels::byte_gemm
#endif
