#include <algorithm>
#include <type_traits>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

/// Up to this many multiplications the library's call costs more than it saves; up to the second
/// where the matrices fill our tiles.
constexpr std::int64_t kLibraryAbove = 64 * 64 * 64;
constexpr std::int64_t kLibraryAboveFull = 128 * 128 * 128;
#ifdef TENURE_OPENMP
constexpr bool kUseLibrary = true;
#else
constexpr bool kUseLibrary = false;  // its threads are OpenMP's
#endif

double work_of(const Gemm& g) {
  return static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
}

/// Whether the library's call costs more than it saves.
bool is_small(const Gemm& g) {
  constexpr std::int64_t kTiny = 64;
  constexpr std::int64_t kTileRows = 8;
  constexpr std::int64_t kTileColumns = 32;
  if (g.m <= kTiny && g.n <= kTiny && g.k <= kTiny) return true;
  if (std::max({g.m, g.n, g.k}) > kLibraryAbove) return false;  // The product might overflow.
  const std::int64_t work = g.m * g.n * g.k;
  if (work <= kLibraryAbove) return true;
  return work <= kLibraryAboveFull && g.b_column == 1 && g.m % kTileRows == 0 &&
         g.n % kTileColumns == 0;
}

/// A row or a column that exists once may have any stride; the library wants one that fits.
void tidy_strides(std::int64_t rows, std::int64_t columns, std::int64_t& row,
                  std::int64_t& column) {
  if (columns == 1) column = 1;
  if (rows == 1) row = std::max(columns, std::int64_t{1});
}

/// The products of a call: one after the other, or the leading dimensions of `a` taken as rows.
struct Plan {
  Gemm gemm;
  Shape batch;
  Strides a;
  Strides b;
  Strides c;
  std::int64_t size = 1;  // how many products
};

Plan make_plan(const View& a, const View& b, const View& out) {
  const int rank = out.shape.size();
  Plan plan;
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

bool library_takes(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

/// How the work is done, and what it needs.
struct Route {
  Plan plan;
  bool library = false;
  bool copy_a = false;  // to contiguous float32
  bool copy_b = false;
  bool convert_out = false;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;

  /// Without the library's own, which come last.
  std::size_t bytes() const { return a_bytes + b_bytes + out_bytes; }
};

std::size_t aligned(std::size_t bytes) { return round_up(bytes, 64); }

View contiguous_like(const View& view, DType dtype, void* data) {
  return {
      .dtype = dtype, .shape = view.shape, .strides = contiguous_strides(view.shape), .data = data};
}

bool is_native(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

Route choose_route(const View& a, const View& b, const View& out) {
  Route route;
  const bool narrow = is_floating(a.dtype) && !is_native(a.dtype);
  const DType compute = narrow ? DType::float32 : a.dtype;
  View ca = a;
  View cb = b;
  ca.dtype = cb.dtype = compute;
  route.copy_a = route.copy_b = route.convert_out = narrow;
  if (narrow) {
    ca = contiguous_like(a, compute, nullptr);
    cb = contiguous_like(b, compute, nullptr);
  }
  route.plan = make_plan(ca, cb, out);
  const Gemm& g = route.plan.gemm;
  route.library = kUseLibrary && compute == DType::float32 && !is_small(g) && !gemv_takes(g);
  if (route.library && !library_takes(g.m, g.k, g.a_row, g.a_column)) route.copy_a = true;
  if (route.library && !library_takes(g.k, g.n, g.b_row, g.b_column)) route.copy_b = true;
  if (route.copy_a) ca = contiguous_like(a, compute, nullptr);
  if (route.copy_b) cb = contiguous_like(b, compute, nullptr);
  if (route.copy_a || route.copy_b) route.plan = make_plan(ca, cb, out);
  if (route.copy_a) route.a_bytes = aligned(static_cast<std::size_t>(a.count()) * 4);
  if (route.copy_b) route.b_bytes = aligned(static_cast<std::size_t>(b.count()) * 4);
  if (route.convert_out) route.out_bytes = aligned(static_cast<std::size_t>(out.count()) * 4);
  return route;
}

template <class T>
void integer_gemm(const Gemm& g, const T* a, const T* b, T* c) {
  using U = std::make_unsigned_t<T>;  // wraps
  for (std::int64_t i = 0; i < g.m; ++i) {
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

void run_one(const Route& route, DType dtype, const std::byte* a, const std::byte* b, std::byte* c,
             std::span<std::byte> workspace) {
  const Gemm& g = route.plan.gemm;
  if (route.library) {
    return library_gemm(g, reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b),
                        reinterpret_cast<float*>(c), workspace);
  }
  if (is_native(dtype)) return plain_gemm(dtype, g, a, b, c);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      integer_gemm(g, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
                   reinterpret_cast<T*>(c));
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
  return route.bytes() + (route.library ? aligned(library_gemm_workspace(route.plan.gemm)) : 0);
}

void matmul(const View& a, const View& b, const View& out, std::span<std::byte> workspace) {
  if (out.count() == 0) return;
  const Route route = choose_route(a, b, out);
  std::byte* room = workspace.data();
  const auto take = [&room](std::size_t bytes) { return std::exchange(room, room + bytes); };
  std::byte* const room_a = take(route.a_bytes);
  std::byte* const room_b = take(route.b_bytes);
  std::byte* const room_out = take(route.out_bytes);
  const View ca = route.copy_a ? copy_dense(a, DType::float32, room_a) : a;
  const View cb = route.copy_b ? copy_dense(b, DType::float32, room_b) : b;
  const View cc = route.convert_out ? contiguous_like(out, DType::float32, room_out) : out;

  const Plan& plan = route.plan;
  const auto size = static_cast<std::int64_t>(size_of(cc.dtype));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t rest = i;
      std::int64_t at_a = 0;
      std::int64_t at_b = 0;
      std::int64_t at_c = 0;
      for (int axis = plan.batch.size() - 1; axis >= 0; --axis) {
        const std::int64_t index = rest % plan.batch[axis];
        rest /= plan.batch[axis];
        at_a += index * plan.a[axis];
        at_b += index * plan.b[axis];
        at_c += index * plan.c[axis];
      }
      run_one(route, cc.dtype, ca.as<std::byte>() + at_a * size, cb.as<std::byte>() + at_b * size,
              cc.as<std::byte>() + at_c * size, workspace.subspan(route.bytes()));
    }
  };
  if (route.library || plan.size == 1) {
    run(0, plan.size);
  } else {
    const double each = std::max(1.0, work_of(plan.gemm));
    parallel_for(plan.size, static_cast<std::int64_t>(std::max(1.0, 2e5 / each)), run);
  }
  if (route.convert_out) {
    cast_elements(DType::float32, cc.data, out.dtype, out.data,
                  static_cast<std::size_t>(out.count()));
  }
}

}  // namespace tenure::kernels
