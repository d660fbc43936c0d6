#include <cmath>
#include <limits>

#include "tenure/kernels/cpu/linalg/factor.h"
#include "tenure/kernels/cpu/linalg/rooms.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/linalg/solving.h"
#include "tenure/ops/linalg_error.h"

// A call that fails has written nothing: factors of all matrices are made in the workspace, and
// results of them when no pivot was refused.

namespace tenure::kernels {
namespace {

using ops::Kernel;

namespace solving = linalg;
using solving::dense;
using solving::MatrixBatch;
using solving::MatrixRooms;
using solving::Products;
using solving::Rooms;
using solving::square;
using solving::square_room;
using solving::Triangle;

/// Calls `f(zero)` with a number of the type, float32 or float64.
template <class F>
decltype(auto) in_type(DType dtype, const F& f) {
  return dtype == DType::float64 ? f(0.0) : f(0.0F);
}

double cube(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

void require_pivots(const char* op, const char* problem, const std::int64_t* failed,
                    std::int64_t matrices) {
  for (std::int64_t i = 0; i < matrices; ++i) {
    if (failed[i] >= 0) throw MatrixError(op, problem, i, failed[i]);
  }
}

template <class T>
std::size_t lu_bytes(std::int64_t n) {
  Products<T> products;
  solving::factor_lu(square<T>(nullptr, n), nullptr, products);
  return products.bytes();
}

template <class T>
std::size_t triangle_bytes(const solving::Matrix<T>& a, std::int64_t columns, bool is_upper) {
  Products<T> products;
  const auto triangle = is_upper ? Triangle::upper : Triangle::lower;
  solving::solve_triangle(a, triangle, dense<T>(nullptr, a.rows, columns), products);
  return products.bytes();
}

struct CholeskySlot {
  template <class T>
  struct Work {
    std::int64_t n, matrices;
    Rooms rooms;
    T* factors;
    std::int64_t* failed;
    MatrixRooms each;

    Work(const Kernel& k, const Rooms& from)
        : n(k.in[0].shape.back()),
          matrices(count(solving::batch_of(k.in[0].shape))),
          rooms(from),
          factors(rooms.template take<T>(matrices * square_room(n))),
          failed(rooms.template take<std::int64_t>(matrices)),
          each(rooms, matrices, bytes(n)) {}
    static std::size_t bytes(std::int64_t n) {
      Products<T> products;
      solving::factor_cholesky(square<T>(nullptr, n), products);
      return products.bytes();
    }
    solving::Matrix<T> factor(std::int64_t i) const {
      return square(factors + i * square_room(n), n);
    }
  };

  static std::size_t workspace(const Kernel& k) {
    return in_type(k.in[0].dtype, [&]<class T>(T) { return Work<T>(k, Rooms()).rooms.used(); });
  }
  static void run(const Kernel& k) {
    in_type(k.in[0].dtype, [&]<class T>(T) {
      const Work<T> work(k, Rooms(k.workspace));
      const MatrixBatch from(k.in[0], solving::batch_of(k.in[0].shape));
      work.each.for_each(cube(work.n) / 3, [&](std::int64_t i, std::span<std::byte> room) {
        const solving::Matrix<T> a = from.at<T>(i);
        const solving::Matrix<T> factor = work.factor(i);
        for (std::int64_t r = 0; r < work.n; ++r) {
          for (std::int64_t c = 0; c <= r; ++c) factor(r, c) = (a(r, c) + a(c, r)) / 2;
        }
        Products<T> products(room);
        work.failed[i] = solving::factor_cholesky(factor, products);
      });
      require_pivots(k.op, "not positive definite", work.failed, work.matrices);
      for (std::int64_t i = 0; i < work.matrices; ++i) {
        const solving::Matrix<T> to = dense(k.out[0].as<T>() + i * work.n * work.n, work.n, work.n);
        for (std::int64_t r = 0; r < work.n; ++r) {
          const T* const row = work.factor(i).row(r);
          std::fill(std::copy(row, row + r + 1, to.row(r)), to.row(r) + work.n, T(0));
        }
      }
    });
  }
};

struct SolveTriangularSlot {
  static bool is_upper(const Kernel& k) {
    using A = ops::TriangularAttributes;
    return k.attributes.flag(A::upper) != k.attributes.flag(A::transposed);
  }
  template <class T>
  struct Work {
    View b;
    Shape batch;
    MatrixBatch a;
    std::int64_t n, columns;
    Rooms rooms;
    MatrixRooms each;

    Work(const Kernel& k, const Rooms& from)
        : b(ops::as_matrix(k.in[1], 1)),
          batch(ops::solved_batch(k.in[0].shape, b.shape, k.op)),
          a(k.in[0], batch),
          n(k.in[0].shape.back()),
          columns(b.shape.back()),
          rooms(from),
          each(rooms, a.size(),
               triangle_bytes(oriented(k, a.template layout<T>()), columns, is_upper(k))) {}
    static solving::Matrix<T> oriented(const Kernel& k, const solving::Matrix<T>& a) {
      return k.attributes.flag(ops::TriangularAttributes::transposed) ? a.transposed() : a;
    }
  };

  static std::size_t workspace(const Kernel& k) {
    return in_type(k.in[0].dtype, [&]<class T>(T) { return Work<T>(k, Rooms()).rooms.used(); });
  }
  static void run(const Kernel& k) {
    in_type(k.in[0].dtype, [&]<class T>(T) {
      const Work<T> work(k, Rooms(k.workspace));
      const bool is_unit = k.attributes.flag(ops::TriangularAttributes::unit);
      if (!is_unit && k.out[0].count() != 0) require_diagonal<T>(k);
      const MatrixBatch b(work.b, work.batch);
      const auto triangle = is_upper(k) ? (is_unit ? Triangle::upper_unit : Triangle::upper)
                                        : (is_unit ? Triangle::lower_unit : Triangle::lower);
      const double flops = cube(work.n) / 2 * static_cast<double>(work.columns) /
                           static_cast<double>(std::max<std::int64_t>(work.n, 1));
      work.each.for_each(flops, [&](std::int64_t i, std::span<std::byte> room) {
        const solving::Matrix<T> x =
            dense(k.out[0].as<T>() + i * work.n * work.columns, work.n, work.columns);
        solving::copy_matrix(b.at<T>(i), x);
        Products<T> products(room);
        solving::solve_triangle(Work<T>::oriented(k, work.a.template at<T>(i)), triangle, x,
                                products);
      });
    });
  }
  template <class T>
  static void require_diagonal(const Kernel& k) {
    const MatrixBatch all(k.in[0], solving::batch_of(k.in[0].shape));
    for (std::int64_t i = 0; i < all.size(); ++i) {
      const solving::Matrix<T> a = all.at<T>(i);
      for (std::int64_t j = 0; j < a.rows; ++j) {
        if (a(j, j) == 0) throw MatrixError(k.op, "singular", i, j);
      }
    }
  }
};

/// Factors of a whole batch.
template <class T>
struct LuWork {
  std::int64_t n, matrices;
  Rooms rooms;
  T* factors;
  std::int64_t* pivots;
  std::int64_t* failed;
  MatrixRooms each;

  /// With room to solve for so many columns at a time, besides.
  LuWork(const Kernel& k, const Rooms& from, std::int64_t solved, std::int64_t columns)
      : n(k.in[0].shape.back()),
        matrices(count(solving::batch_of(k.in[0].shape))),
        rooms(from),
        factors(rooms.template take<T>(matrices * square_room(n))),
        pivots(rooms.template take<std::int64_t>(matrices * n)),
        failed(rooms.template take<std::int64_t>(matrices)),
        each(rooms, std::max(matrices, solved), bytes(n, columns)) {}
  static std::size_t bytes(std::int64_t n, std::int64_t columns) {
    const solving::Matrix<T> factor = square<T>(nullptr, n);
    return std::max({lu_bytes<T>(n), triangle_bytes(factor, columns, false),
                     triangle_bytes(factor, columns, true)});
  }
  solving::Matrix<T> factor(std::int64_t i) const {
    return square(factors + i * square_room(n), n);
  }

  void make(const Kernel& k) const {
    const MatrixBatch from(k.in[0], solving::batch_of(k.in[0].shape));
    each.for_each(cube(n) / 3, [&](std::int64_t i, std::span<std::byte> room) {
      if (i >= matrices) return;
      solving::copy_matrix(from.at<T>(i), factor(i));
      Products<T> products(room);
      failed[i] = solving::factor_lu(factor(i), pivots + i * n, products);
    });
    require_pivots(k.op, "singular", failed, matrices);
  }
  /// x has the right side, which it solves for matrix i.
  void solve(std::int64_t i, const solving::Matrix<T>& x, std::span<std::byte> room) const {
    const std::int64_t* const swaps = pivots + i * n;
    for (std::int64_t r = 0; r < n; ++r) {
      if (swaps[r] != r) std::swap_ranges(x.row(r), x.row(r) + x.columns, x.row(swaps[r]));
    }
    Products<T> products(room);
    solving::solve_triangle(factor(i), Triangle::lower_unit, x, products);
    solving::solve_triangle(factor(i), Triangle::upper, x, products);
  }
};

struct SolveSlot {
  static std::size_t workspace(const Kernel& k) {
    const View b = ops::as_matrix(k.in[1], 1);
    const std::int64_t solved = count(ops::solved_batch(k.in[0].shape, b.shape, k.op));
    return in_type(k.in[0].dtype, [&]<class T>(T) {
      return LuWork<T>(k, Rooms(), solved, b.shape.back()).rooms.used();
    });
  }
  static void run(const Kernel& k) {
    const View right = ops::as_matrix(k.in[1], 1);
    const Shape batch = ops::solved_batch(k.in[0].shape, right.shape, k.op);
    const std::int64_t columns = right.shape.back();
    in_type(k.in[0].dtype, [&]<class T>(T) {
      const LuWork<T> work(k, Rooms(k.workspace), count(batch), columns);
      work.make(k);
      const MatrixBatch b(right, batch);
      const Shape own = solving::batch_of(k.in[0].shape);
      const Strides steps = broadcast_strides(own, contiguous_strides(own), batch);
      const double flops = static_cast<double>(work.n * work.n) * static_cast<double>(columns);
      work.each.for_each(flops, [&](std::int64_t i, std::span<std::byte> room) {
        if (i >= b.size()) return;
        const solving::Matrix<T> x =
            dense(k.out[0].as<T>() + i * work.n * columns, work.n, columns);
        solving::copy_matrix(b.at<T>(i), x);
        work.solve(place_of(i, batch, steps), x, room);
      });
    });
  }
  static std::int64_t place_of(std::int64_t index, const Shape& batch, const Strides& steps) {
    std::int64_t place = 0;
    for (int axis = batch.size() - 1; axis >= 0; --axis) {
      place += index % batch[axis] * steps[axis];
      index /= batch[axis];
    }
    return place;
  }
};

struct InvSlot {
  static std::size_t workspace(const Kernel& k) {
    return in_type(k.in[0].dtype, [&]<class T>(T) {
      return LuWork<T>(k, Rooms(), 0, k.in[0].shape.back()).rooms.used();
    });
  }
  static void run(const Kernel& k) {
    in_type(k.in[0].dtype, [&]<class T>(T) {
      const LuWork<T> work(k, Rooms(k.workspace), 0, k.in[0].shape.back());
      const std::int64_t n = work.n;
      work.make(k);
      work.each.for_each(cube(n), [&](std::int64_t i, std::span<std::byte> room) {
        const solving::Matrix<T> x = dense(k.out[0].as<T>() + i * n * n, n, n);
        std::fill_n(x.data, n * n, T(0));
        for (std::int64_t r = 0; r < n; ++r) x(r, r) = 1;
        work.solve(i, x, room);
      });
    });
  }
};

/// det, or slogdet if `logarithm`.
template <bool logarithm>
struct DetSlot {
  static std::size_t workspace(const Kernel& k) {
    return in_type(k.in[0].dtype, [&]<class T>(T) {
      Rooms rooms;
      MatrixRooms(rooms, count(solving::batch_of(k.in[0].shape)), bytes<T>(k.in[0].shape.back()));
      return rooms.used();
    });
  }
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    Rooms rooms;
    rooms.take<T>(square_room(n));
    rooms.take<std::int64_t>(n);
    return rooms.used() + lu_bytes<T>(n);
  }
  static void run(const Kernel& k) {
    in_type(k.in[0].dtype, [&]<class T>(T) {
      const MatrixBatch from(k.in[0], solving::batch_of(k.in[0].shape));
      const std::int64_t n = k.in[0].shape.back();
      Rooms all(k.workspace);
      const MatrixRooms each(all, from.size(), bytes<T>(n));
      each.for_each(cube(n) / 3, [&](std::int64_t i, std::span<std::byte> room) {
        Rooms rooms(room);
        const solving::Matrix<T> factor = square(rooms.take<T>(square_room(n)), n);
        std::int64_t* const pivots = rooms.take<std::int64_t>(n);
        Products<T> products(room.subspan(rooms.used()));
        solving::copy_matrix(from.at<T>(i), factor);
        solving::factor_lu(factor, pivots, products);
        write(k, i, factor, pivots);
      });
    });
  }
  template <class T>
  static void write(const Kernel& k, std::int64_t i, const solving::Matrix<T>& factor,
                    const std::int64_t* pivots) {
    T sign = 1;
    T size = logarithm ? 0 : 1;
    for (std::int64_t j = 0; j < factor.rows; ++j) {
      const T pivot = factor(j, j);
      if (pivots[j] != j) sign = -sign;
      if constexpr (logarithm) {
        sign *= pivot > 0 ? T(1) : pivot < 0 ? T(-1) : pivot == 0 ? T(0) : pivot;
        size += std::log(std::abs(pivot));
      } else {
        size *= pivot;
      }
    }
    if constexpr (logarithm) {
      k.out[0].as<T>()[i] = sign;
      k.out[1].as<T>()[i] = size;
    } else {
      k.out[0].as<T>()[i] = sign * size;
    }
  }
};

}  // namespace

std::vector<KernelRow> solving_kernels() {
  return {kernel_row<CholeskySlot>("cholesky"), kernel_row<SolveTriangularSlot>("solve_triangular"),
          kernel_row<SolveSlot>("solve"),       kernel_row<InvSlot>("inv"),
          kernel_row<DetSlot<false>>("det"),    kernel_row<DetSlot<true>>("slogdet")};
}

}  // namespace tenure::kernels
