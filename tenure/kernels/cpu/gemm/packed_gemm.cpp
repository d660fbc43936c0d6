#include "tenure/kernels/cpu/gemm/packed_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/gemm/packed_gemm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/after.h"
#include "tenure/kernels/cpu/gemm/cut-inl.h"
#include "tenure/kernels/cpu/gemm/packing-inl.h"
#include "tenure/kernels/cpu/gemm/panels-inl.h"
#include "tenure/kernels/cpu/gemm/shares.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using cut::HWY_NAMESPACE::Cut;
using cut::HWY_NAMESPACE::PackedColumns;
using cut::HWY_NAMESPACE::Source;
using panels::HWY_NAMESPACE::kLineTerms;
using panels::HWY_NAMESPACE::kRowStep;
using panels::HWY_NAMESPACE::kTileRows;
using panels::HWY_NAMESPACE::kTiles;
using panels::HWY_NAMESPACE::kTilesByRows;
using panels::HWY_NAMESPACE::kTileWidth;
using panels::HWY_NAMESPACE::Panels;
using panels::HWY_NAMESPACE::RowPanel;
using panels::HWY_NAMESPACE::Upcoming;

template <class Packing>
class PackedGemm {
  using Terms = typename Packing::Terms;
  using T = typename Terms::Sum;
  using E = typename Packing::Element;

 public:
  PackedGemm(DType dtype, const GemmBatch& batch, const void* a, const void* b, void* c,
             std::byte* room, const std::byte* columns, const ops::FusedNeighbours* after)
      : dtype_(dtype),
        batch_(batch),
        g_(batch.gemm),
        stay_(padded_terms(dtype, g_), batch.size, sizeof(T)),
        a_(static_cast<const std::byte*>(a)),
        b_(static_cast<const std::byte*>(b)),
        c_(static_cast<T*>(c)),
        room_(reinterpret_cast<E*>(room)),
        columns_{reinterpret_cast<const E*>(columns), Packing::elements(g_.k)},
        after_(after) {}

  void run() const {
    const std::int64_t lines = stay_.rows ? g_.m : g_.n;
    for (std::int64_t product = 0; product < batch_.size; product += stay_.products) {
      for (std::int64_t line = 0; line < lines; line += stay_.lines) {
        for (std::int64_t k = 0; k < g_.k; k += stay_.depth) {
          run_part({.product = product,
                    .products = std::min(stay_.products, batch_.size - product),
                    .line = line,
                    .staying = Cut(stay_.rows, std::min(stay_.lines, lines - line), lanes()),
                    .passing = Cut(!stay_.rows, stay_.rows ? g_.n : g_.m, lanes()),
                    .k = k,
                    .depth = std::min(stay_.depth, g_.k - k)});
        }
        // Of several products at a time, all rows stay.
        if (stay_.rows) follow(product, line, std::min(stay_.lines, lines - line));
      }
      if (!stay_.rows) follow(product, 0, g_.m);
    }
  }

 private:
  /// What is packed at a time.
  struct Part {
    std::int64_t product, products;
    std::int64_t line;
    Cut staying, passing;
    std::int64_t k, depth;

    PartSizes sizes() const {
      return {.products = products,
              .staying_lines = staying.lines,
              .staying_panels = staying.panels,
              .passing_lines = passing.lines,
              .passing_panels = passing.panels,
              .depth = depth};
    }
  };

  /// Staying panels [begin, end) of a product, and what passes by.
  struct Block {
    std::int64_t product;
    std::int64_t begin, end;
    Source lines;
    T* c;
  };

  /// What passes by at a time.
  struct Turn {
    std::int64_t panel;
    std::int64_t k;
  };

  /// Where a thread packs panels that pass by: the one that is used, and the next one.
  struct Rooms {
    static constexpr std::int64_t kSize = std::max<std::int64_t>(
        kTileRows * kRowStep<E>, kGemmDepth* kTileWidth* HWY_MAX_BYTES / sizeof(E));
    HWY_ALIGN E panels[2][kSize];
    int used = 0;
    bool next_is_there = false;
  };

  /// A panel of one of the matrices.
  struct Side {
    const Cut& cut;
    std::int64_t panel;
    std::int64_t line;  ///< of the cut's first
    const E* data;
    std::int64_t step;
    RowPanel lies = RowPanel::by_terms;
    const std::byte* ahead = nullptr;  ///< if it lies by rows: what is read next
  };

  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>())); }

  /// Whether all panels of a matrix were packed before.
  bool is_packed(bool rows) const { return !rows && columns_.data != nullptr; }
  bool narrow() const { return sizeof(T) > size_of(dtype_); }

  Source lines_of(bool rows, std::int64_t product) const {
    const std::int64_t at = batch_.at(product, rows ? batch_.a : batch_.b);
    const std::byte* const data =
        (rows ? a_ : b_) + at * static_cast<std::int64_t>(size_of(dtype_));
    if (rows) return {dtype_, data, g_.a_row, g_.a_column};
    return {dtype_, data, g_.b_column, g_.b_row};
  }

  /// Where a staying panel of kGemmDepth terms lies.
  E* staying_panel(const Part& part, std::int64_t product, std::int64_t panel,
                   std::int64_t k) const {
    const std::int64_t depth = Packing::elements(std::min(kGemmDepth, part.depth - k));
    const std::int64_t padded = part.staying.rows ? part.staying.lines
                                                  : part.staying.first(part.staying.panels - 1) +
                                                        part.staying.width(part.staying.panels - 1);
    return room_ + product * stay_.elements + padded * Packing::elements(k) +
           part.staying.first(panel) * depth;
  }

  /// A thread packs what stays for itself, or all threads pack it for all.
  void run_part(const Part& part) const {
    const std::int64_t own = is_packed(stay_.rows) ? 0 : own_blocks(part.sizes());
    if (own == 0) return run_shared(part);
    parallel_for(part.products * own, 1, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t i = begin; i < end; ++i) {
        pack_staying(part, i / own, first_of(part, i % own, own), first_of(part, i % own + 1, own));
        run_block(part, i, own, 0, part.passing.panels);
      }
    });
  }

  void run_shared(const Part& part) const {
    const Cut& staying = part.staying;
    const std::int64_t per_line = part.depth * (staying.lines / staying.panels);
    if (!is_packed(stay_.rows)) {
      parallel_for(part.products * staying.panels,
                   std::max<std::int64_t>(1, kPackShare / std::max<std::int64_t>(per_line, 1)),
                   [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                     while (begin < end) {
                       const std::int64_t first = begin % staying.panels;
                       const std::int64_t last = std::min(staying.panels, first + (end - begin));
                       pack_staying(part, begin / staying.panels, first, last);
                       begin += last - first;
                     }
                   });
    }
    const std::int64_t blocks = shared_blocks(part.sizes());
    const std::int64_t tasks = part.products * blocks * part.passing.panels;
    parallel_for(tasks, tasks_worth_a_thread(part.sizes(), tasks),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   while (begin < end) {
                     const std::int64_t first = begin % part.passing.panels;
                     const std::int64_t last = std::min(part.passing.panels, first + (end - begin));
                     run_block(part, begin / part.passing.panels, blocks, first, last);
                     begin += last - first;
                   }
                 });
  }

  /// The first staying panel of a block.
  static std::int64_t first_of(const Part& part, std::int64_t block, std::int64_t blocks) {
    return part.staying.panels * block / blocks;
  }

  /// The loop that follows, on rows that are complete: these of a product, and all of those that
  /// were computed with it.
  void follow(std::int64_t product, std::int64_t row, std::int64_t rows) const {
    if (after_ == nullptr) return;
    const std::int64_t others = std::min(stay_.products, batch_.size - product) - 1;
    const std::int64_t first = product * g_.m + row;
    run_after(*after_, first * g_.n, (first + rows + others * g_.m) * g_.n);
  }

  /// Panels [begin, end) of those that stay. Where lines are neighbours, a few terms of all of them
  /// at a time: what is in a line of the cache then belongs to several panels.
  void pack_staying(const Part& part, std::int64_t product, std::int64_t begin,
                    std::int64_t end) const {
    const Cut& cut = part.staying;
    const Source lines = lines_of(stay_.rows, part.product + product);
    const std::int64_t some = lines.line == 1 ? kFewTerms : kGemmDepth;
    for (std::int64_t k = 0; k < part.depth; k += some) {
      const std::int64_t slab = k / kGemmDepth * kGemmDepth;
      for (std::int64_t panel = begin; panel < end; ++panel) {
        Packing::pack(lines.at(part.line + cut.first(panel), part.k + k), cut.count(panel),
                      std::min(some, part.depth - k),
                      staying_panel(part, product, panel, slab) +
                          Packing::elements(k - slab) * cut.width(panel),
                      cut.width(panel));
      }
    }
  }

  /// Passing panels [first, last) beside a block of the staying ones.
  void run_block(const Part& part, std::int64_t index, std::int64_t blocks, std::int64_t first,
                 std::int64_t last) const {
    [[maybe_unused]] const typename Packing::Mode mode;
    const std::int64_t product = index / blocks;
    const Block block{.product = product,
                      .begin = first_of(part, index % blocks, blocks),
                      .end = first_of(part, index % blocks + 1, blocks),
                      .lines = lines_of(!stay_.rows, part.product + product),
                      .c = c_ + batch_.at(part.product + product, batch_.c)};
    const std::int64_t lines = part.staying.first(block.end) - part.staying.first(block.begin);
    const bool all_near = lines * part.depth <= kBlockLines * kGemmDepth;
    const bool by_terms = block.lines.line != 1 || is_packed(!stay_.rows);
    Rooms rooms;
    if (all_near && by_terms) {  // Lines are read from end to end.
      for (Turn now{first, 0}; now.panel < last;) {
        const bool goes_on = now.k + kGemmDepth < part.depth;
        const Turn next = goes_on ? Turn{now.panel, now.k + kGemmDepth} : Turn{now.panel + 1, 0};
        pass(part, block, now, next.panel < last ? &next : nullptr, rooms);
        now = next;
      }
      return;
    }
    for (Turn now{first, 0}; now.k < part.depth;) {
      const Turn next =
          now.panel + 1 < last ? Turn{now.panel + 1, now.k} : Turn{first, now.k + kGemmDepth};
      pass(part, block, now, next.k < part.depth ? &next : nullptr, rooms);
      now = next;
    }
  }

  static std::int64_t depth_of(const Part& part, const Turn& turn) {
    return std::min(kGemmDepth, part.depth - turn.k);
  }
  Source lines_of(const Part& part, const Block& block, const Turn& turn) const {
    return block.lines.at(part.passing.first(turn.panel), part.k + turn.k);
  }

  /// Whether a passing panel is read where it lies.
  bool stays_there(const Part& part, const Block& block, const Turn& turn) const {
    const Source& lines = block.lines;
    if (narrow() || lines.line != 1) return false;
    if (part.passing.count(turn.panel) != part.passing.width(turn.panel)) return false;
    const std::int64_t bytes =
        std::abs(lines.term) * depth_of(part, turn) * std::int64_t{sizeof(T)};
    return bytes <= kNear || block.end - block.begin <= kFew;
  }

  /// The panel that passes by next, if it can be packed beside the one before; otherwise none.
  Upcoming<Terms> upcoming(const Part& part, const Block& block, const Turn& next, E* to) const {
    using Given = typename Terms::Given;
    const std::int64_t depth = depth_of(part, next);
    if (!stay_.rows || is_packed(false) || block.lines.line != 1) return {};
    if (size_of(dtype_) != sizeof(Given) || depth % Terms::kGiven != 0) return {};
    if (part.passing.count(next.panel) != kTileWidth * lanes()) return {};
    if (stays_there(part, block, next)) return {};
    const std::int64_t elements = Packing::elements(depth);
    const std::int64_t times = (block.end - block.begin) * (elements / kLineTerms<E>);
    const auto from = lines_of(part, block, next).template lines<Given>();
    return {from.data, from.term, elements, times, to};
  }

  /// A panel of those that pass, from a term on; `next`, if not null, comes after it.
  HWY_NOINLINE void pass(const Part& part, const Block& block, const Turn& now, const Turn* next,
                         Rooms& rooms) const {
    const std::int64_t p = now.panel;
    const std::int64_t k = now.k;
    if (rooms.next_is_there) rooms.used = 1 - rooms.used;
    E* const packed = rooms.panels[rooms.used];
    const Source lines = lines_of(part, block, now);
    const std::int64_t depth = depth_of(part, now);
    const std::int64_t tiles = block.end - block.begin;
    const std::int64_t count = part.passing.count(p);
    const std::int64_t width = part.passing.width(p);
    Side passing{.cut = part.passing, .panel = p, .line = 0, .data = packed, .step = width};
    const std::byte* const after = next == nullptr ? nullptr : lines_of(part, block, *next).data;
    const std::byte* ahead = nullptr;
    if (is_packed(!stay_.rows)) {
      passing.data = columns_.panel(part.passing.first(p), width, Packing::elements(part.k + k));
    } else if (rooms.next_is_there) {
      // It was packed beside the one before.
    } else if (stays_there(part, block, now)) {
      passing.data = lines.template lines<E>().data;
      passing.step = lines.term;
    } else if (!stay_.rows && lines.term == 1 && count >= kTileRows - 1) {
      // Columns stay where there are few of them, so that a row is used but a few times.
      for (std::int64_t i = 0; i < count; ++i)
        Packing::copy_row(lines.at(i, 0), depth, packed + i * kRowStep<E>);
      passing.lies = RowPanel::by_rows;
      passing.ahead = after;
    } else {
      Packing::pack(lines, count, depth, packed, width);
    }
    Upcoming<Terms> other;
    if (next != nullptr) other = upcoming(part, block, *next, rooms.panels[1 - rooms.used]);
    rooms.next_is_there = !other.is_there();
    if (!rooms.next_is_there && passing.data == packed && lines.line == 1) ahead = after;
    Side staying{.cut = part.staying, .panel = 0, .line = part.line, .data = nullptr, .step = 0};
    const int sign = sign_of(g_.into, part.k + k == 0);
    for (std::int64_t s = block.begin; s < block.end; ++s) {
      if (ahead != nullptr) {  // The next panel comes nearer while this one is used.
        const auto size = static_cast<std::int64_t>(size_of(dtype_));
        for (std::int64_t i = 0; i < depth; i += tiles, ahead += lines.term * size) {
          for (std::int64_t j = 0; j < width * size; j += kLine)
            __builtin_prefetch(ahead + j, 0, 2);
        }
      }
      staying.panel = s;
      staying.step = part.staying.width(s);
      staying.data = is_packed(stay_.rows)
                         ? columns_.panel(part.line + part.staying.first(s), staying.step,
                                          Packing::elements(part.k + k))
                         : staying_panel(part, block.product, s, k);
      if (stay_.rows) {
        multiply(depth, staying, passing, block.c, sign, other.is_there() ? nullptr : &other);
      } else {
        multiply(depth, passing, staying, block.c, sign, nullptr);
        passing.ahead = nullptr;  // It is fetched once.
      }
    }
    while (!other.is_there()) other.go_on();
  }

  void multiply(std::int64_t depth, const Side& rows, const Side& columns, T* c, int sign,
                Upcoming<Terms>* upcoming) const {
    const std::int64_t high = rows.cut.count(rows.panel);
    T* const to = c + (rows.line + rows.cut.first(rows.panel)) * g_.c_row + columns.line +
                  columns.cut.first(columns.panel);
    const auto element = static_cast<std::int64_t>(size_of(dtype_));
    const Panels<Terms> panels{.depth = Packing::elements(depth),
                               .a = rows.data,
                               .a_step = rows.step,
                               .b = columns.data,
                               .b_step = columns.step,
                               .ahead = rows.ahead,
                               .ahead_row = g_.a_row * element,
                               .ahead_line = kLineTerms<E> * Packing::kTerms * element,
                               .upcoming = upcoming};
    const bool wide = columns.cut.width(columns.panel) > lanes();
    const auto multiply_with = [&](const auto& tiles, std::int64_t least) {
      tiles[static_cast<std::size_t>(high - least)](panels, to, g_.c_row,
                                                    columns.cut.count(columns.panel), sign);
    };
    if (rows.lies == RowPanel::by_terms) {
      multiply_with(wide ? kTiles<Terms, kTileWidth> : kTiles<Terms, 1>, 1);
    } else {
      multiply_with(wide ? kTilesByRows<Terms, kTileWidth> : kTilesByRows<Terms, 1>, kTileRows - 1);
    }
  }

  static constexpr std::int64_t kPackShare = 1 << 12;  // elements that are
  static constexpr std::int64_t kFewTerms = 16;        // an even number
  static constexpr std::int64_t kNear = 64 * 1024;     // bytes from the first term to the last
  static constexpr std::int64_t kFew = 2;              // tiles for which a panel is not packed
  static constexpr std::int64_t kLine = 64;            // bytes

  DType dtype_;
  const GemmBatch& batch_;
  const Gemm& g_;
  Residence stay_;
  const std::byte* a_;
  const std::byte* b_;
  T* c_;
  E* room_;
  PackedColumns<E> columns_;
  const ops::FusedNeighbours* after_;
};

void packed_gemm(DType dtype, const GemmBatch& batch, const void* a, const void* b, void* c,
                 std::byte* room, const std::byte* columns, const ops::FusedNeighbours* after) {
  packing::HWY_NAMESPACE::with_packing(dtype, [&]<class Packing>(Packing) {
    PackedGemm<Packing>(dtype, batch, a, b, c, room, columns, after).run();
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(packed_gemm);

void packed_gemm(DType dtype, const GemmBatch& batch, const void* a, const void* b, void* c,
                 std::span<std::byte> workspace, const PackedGemmOptions& options) {
  HWY_DYNAMIC_DISPATCH(packed_gemm)
  (dtype, batch, a, b, c, workspace.data(), options.columns, options.after);
}

}  // namespace tenure::kernels
#endif
