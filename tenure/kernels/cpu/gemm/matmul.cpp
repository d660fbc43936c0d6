#include <algorithm>
#include <type_traits>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/elementwise/after.h"
#include "tenure/kernels/cpu/gemm/byte_gemm.h"
#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/cpu/gemm/packed_gemm.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

/// Up to this many multiplications packing costs more than it saves; up to the second where the
/// matrices fill the tiles of small_gemm, or each element of a meets only a few of b.
constexpr std::int64_t kPackAbove = 64 * 64 * 64;
constexpr std::int64_t kPackAboveFull = 128 * 128 * 128;
constexpr double kIntegerShare = 1e5;  // products of integers that are worth waking a thread

double work_of(const Gemm& g) {
  return static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
}

/// Whether packing costs more than it saves.
bool is_small(const Gemm& g) {
  constexpr std::int64_t kTiny = 64;
  constexpr std::int64_t kNarrow = 16;
  constexpr std::int64_t kTileRows = 8;
  constexpr std::int64_t kTileColumns = 32;
  if (g.m <= kTiny && g.n <= kTiny && g.k <= kTiny) return true;
  if (g.k == 0) return true;                                 // There is nothing to pack.
  if (std::max({g.m, g.n, g.k}) > kPackAbove) return false;  // The product might overflow.
  const std::int64_t work = g.m * g.n * g.k;
  if (work <= kPackAbove) return true;
  if (work > kPackAboveFull || g.b_column != 1) return false;
  return g.n <= kNarrow || (g.m % kTileRows == 0 && g.n % kTileColumns == 0);
}

/// A row or a column that exists once may have any stride; 1 tells the most.
void tidy_strides(std::int64_t rows, std::int64_t columns, std::int64_t& row,
                  std::int64_t& column) {
  if (columns == 1) column = 1;
  if (rows == 1) row = std::max(columns, std::int64_t{1});
}

/// The products of a call: as many as the batch has, or one where the leading dimensions of `a` are
/// taken as rows.
GemmBatch make_plan(const View& a, const View& b, const View& out) {
  const int rank = out.shape.size();
  GemmBatch plan;
  Gemm& g = plan.gemm;
  g.m = out.shape[rank - 2];
  g.n = out.shape[rank - 1];
  g.k = a.shape.back();
  g.a_row = a.strides[a.shape.size() - 2];
  g.a_column = a.strides.back();
  g.b_row = b.strides[b.shape.size() - 2];
  g.b_column = b.strides.back();
  g.c_row = g.n;
  tidy_strides(g.k, g.n, g.b_row, g.b_column);
  if (rank == 2) {
    tidy_strides(g.m, g.k, g.a_row, g.a_column);
    return plan;
  }

  const auto leading = [](const View& view) {
    View batch = view;
    for (int i = 0; i < 2; ++i) {
      batch.shape.erase(batch.shape.size() - 1);
      batch.strides.erase(batch.strides.size() - 1);
    }
    return batch;
  };
  const View batch_a = leading(a);
  const View batch_b = leading(b);
  plan.batch = leading(out).shape;
  plan.a = broadcast_strides(batch_a.shape, batch_a.strides, plan.batch);
  plan.b = broadcast_strides(batch_b.shape, batch_b.strides, plan.batch);
  plan.c = leading(out).strides;
  plan.size = count(plan.batch);

  // One matrix b for all of a contiguous batch: its rows make one tall matrix.
  const bool same_b = std::all_of(plan.b.begin(), plan.b.end(), [](auto s) { return s == 0; });
  std::int64_t step = g.a_row * g.m;
  bool tall = same_b && plan.size > 1;
  for (int i = plan.batch.size() - 1; i >= 0 && tall; --i) {
    if (plan.batch[i] == 1) continue;
    tall = plan.a[i] == step;
    step *= plan.batch[i];
  }
  if (tall) {
    g.m *= plan.size;
    plan.batch = plan.a = plan.b = plan.c = Dims{};
    plan.size = 1;
  }
  tidy_strides(g.m, g.k, g.a_row, g.a_column);
  return plan;
}

/// How the work is done, and what it needs.
struct Route {
  GemmBatch plan;
  bool packed = false;
  bool narrow = false;          // the result is float32 at first
  bool copied = false;          // the matrices are contiguous copies...
  DType copy = DType::float32;  // ...of this type
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;
  std::size_t packed_bytes = 0;
};

std::size_t aligned(std::size_t bytes) { return round_up(bytes, 64); }

View contiguous_like(const View& view, DType dtype, void* data) {
  return {
      .dtype = dtype, .shape = view.shape, .strides = contiguous_strides(view.shape), .data = data};
}

bool is_native(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// Whether 16-bit floats are read where they lie.
bool reads_narrow(DType dtype, const GemmBatch& plan) {
  const Gemm& g = plan.gemm;
  if (gemv_takes(g)) return dtype == DType::bfloat16 && plan.size == 1;
  if (is_small(g)) return false;
  return (g.a_row == 1 || g.a_column == 1) && (g.b_row == 1 || g.b_column == 1);
}

Route choose_route(const View& a, const View& b, const View& out) {
  Route route;
  route.narrow = is_narrow_float(a.dtype);
  route.plan = make_plan(a, b, out);
  route.copied = route.narrow && !reads_narrow(a.dtype, route.plan);
  if (route.narrow) route.out_bytes = aligned(static_cast<std::size_t>(out.count()) * 4);
  if (route.copied) {
    route.plan =
        make_plan(contiguous_like(a, a.dtype, nullptr), contiguous_like(b, b.dtype, nullptr), out);
    const bool widens = is_small(route.plan.gemm) || gemv_takes(route.plan.gemm);
    route.copy = widens ? DType::float32 : a.dtype;
    const auto bytes_of = [&](const View& view) {
      return aligned(static_cast<std::size_t>(view.count()) * size_of(route.copy));
    };
    route.a_bytes = bytes_of(a);
    route.b_bytes = bytes_of(b);
  }
  const Gemm& g = route.plan.gemm;
  route.packed = is_floating(a.dtype) && !is_small(g) && !gemv_takes(g);
  if (route.packed) route.packed_bytes = packed_gemm_workspace(a.dtype, route.plan);
  return route;
}

template <class T>
void integer_rows(const Gemm& g, const T* a, const T* b, T* c, std::int64_t begin,
                  std::int64_t end) {
  using U = std::make_unsigned_t<T>;  // wraps
  for (std::int64_t i = begin; i < end; ++i) {
    T* const row = c + i * g.c_row;
    std::fill_n(row, g.n, T(0));
    for (std::int64_t k = 0; k < g.k; ++k) {
      const auto x = static_cast<U>(a[i * g.a_row + k * g.a_column]);
      const T* const from = b + k * g.b_row;
      for (std::int64_t j = 0; j < g.n; ++j) {
        row[j] = static_cast<T>(static_cast<U>(row[j]) +
                                static_cast<U>(x * static_cast<U>(from[j * g.b_column])));
      }
    }
  }
}

void run_one(const Gemm& g, DType dtype, const std::byte* a, const std::byte* b, std::byte* c) {
  if (is_native(dtype)) return plain_gemm(dtype, g, a, b, c);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && (sizeof(T) > 1)) {
      const double row = std::max(1.0, static_cast<double>(g.n) * static_cast<double>(g.k));
      parallel_for(g.m, static_cast<std::int64_t>(std::max(1.0, kIntegerShare / row)),
                   [&](std::int64_t begin, std::int64_t end) {
                     integer_rows(g, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
                                  reinterpret_cast<T*>(c), begin, end);
                   });
    } else {
      throw DTypeError("matmul", "this element type has no product");
    }
  });
}

}  // namespace

bool plain_gemm_takes(DType dtype, const Gemm& g) {
  return is_native(dtype) && g.m > 0 && g.n > 0 && g.k > 0 && is_small(g);
}

void plain_gemm(DType dtype, const Gemm& g, const void* a, const void* b, void* c) {
  if (gemv_takes(g)) return gemv(dtype, g, a, b, c);
  small_gemm(dtype, g, a, b, c);
}

std::size_t matmul_workspace(const View& a, const View& b, const View& out) {
  if (out.count() == 0) return 0;
  const Route route = choose_route(a, b, out);
  return route.a_bytes + route.b_bytes + route.out_bytes + route.packed_bytes;
}

void add_product(const View& a, const View& b, const View& out, std::span<std::byte> workspace,
                 Into into) {
  if (out.count() == 0) return;
  Route route = choose_route(a, b, out);
  Gemm& g = route.plan.gemm;
  g.c_row = out.strides[0];
  g.into = into;
  if (route.packed) {
    packed_gemm(out.dtype, route.plan, a.data, b.data, out.data, workspace);
  } else {
    small_gemm(out.dtype, g, a.data, b.data, out.data);
  }
}

bool matmul_leads_loop(const View& a, const View& b, const View& out) {
  // Smaller results are in the last level of the cache still when the product ends.
  constexpr std::int64_t kLarge = 32 * MiB;
  if (out.count() * static_cast<std::int64_t>(size_of(out.dtype)) < kLarge) return false;
  const Route route = choose_route(a, b, out);
  return route.packed && !route.narrow;
}

std::size_t matmul_packed_bytes(const View& a, const View& b, const View& out) {
  // With more rows packing takes a small part of the time.
  constexpr std::int64_t kFewRows = 128;
  if (out.count() == 0 || b.shape.size() != 2) return 0;
  const Route route = choose_route(a, b, out);
  const Gemm& g = route.plan.gemm;
  if (!route.packed || route.copied || g.m * route.plan.size > kFewRows) return 0;
  return packed_columns_bytes(a.dtype, g);
}

void matmul_pack(const View& b, std::byte* to) {
  Gemm shape{.n = b.shape[1], .k = b.shape[0], .b_row = b.strides[0], .b_column = b.strides[1]};
  tidy_strides(shape.k, shape.n, shape.b_row, shape.b_column);
  pack_columns(b.dtype, shape, b.data, to);
}

void matmul(const View& a, const View& b, const View& out, std::span<std::byte> workspace,
            const ops::FusedNeighbours* after, const std::byte* packed) {
  if (out.count() == 0) return;
  const Route route = choose_route(a, b, out);
  std::byte* room = workspace.data();
  const auto take = [&room](std::size_t bytes) { return std::exchange(room, room + bytes); };
  std::byte* const room_a = take(route.a_bytes);
  std::byte* const room_b = take(route.b_bytes);
  std::byte* const room_out = take(route.out_bytes);
  const View ca = route.copied ? copy_dense(a, route.copy, room_a) : a;
  const View cb = route.copied ? copy_dense(b, route.copy, room_b) : b;
  const View cc = route.narrow ? contiguous_like(out, DType::float32, room_out) : out;

  const GemmBatch& plan = route.plan;
  if (byte_gemm::takes(a.dtype)) {
    byte_gemm::multiply({.batch = plan, .a = a, .b = b, .out = out});
  } else if (route.packed) {
    const bool follows = after != nullptr && !route.narrow;
    packed_gemm(ca.dtype, plan, ca.data, cb.data, cc.data, {room, route.packed_bytes},
                {.columns = packed, .after = follows ? after : nullptr});
    if (follows) return;
  } else if (is_narrow_float(ca.dtype)) {
    gemv(ca.dtype, plan.gemm, ca.data, cb.data, cc.data);
  } else {
    const auto size = static_cast<std::int64_t>(size_of(cc.dtype));
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        run_one(plan.gemm, cc.dtype, ca.as<std::byte>() + plan.at(i, plan.a) * size,
                cb.as<std::byte>() + plan.at(i, plan.b) * size,
                cc.as<std::byte>() + plan.at(i, plan.c) * size);
      }
    };
    if (plan.size == 1) {
      run(0, 1);
    } else {
      const double each = std::max(1.0, work_of(plan.gemm));
      parallel_for(plan.size, static_cast<std::int64_t>(std::max(1.0, 2e5 / each)), run);
    }
  }
  if (route.narrow) {
    constexpr std::int64_t kRoundShare = 1 << 16;  // elements that are worth waking a thread
    parallel_for(out.count(), kRoundShare, [&](std::int64_t begin, std::int64_t end) {
      cast_elements(DType::float32, cc.as<float>() + begin, out.dtype,
                    out.as<std::uint16_t>() + begin, static_cast<std::size_t>(end - begin));
    });
  }
  if (after != nullptr) run_after(*after);
}

}  // namespace tenure::kernels
