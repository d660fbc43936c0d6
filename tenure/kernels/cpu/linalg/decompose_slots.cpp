#include <algorithm>
#include <limits>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/reflect.h"
#include "tenure/kernels/cpu/table.h"

// Decompositions are computed in float64, so that those of float32 are as exact as float32 can be.
// A matrix with a number that is not finite has a decomposition of NaNs.

namespace tenure::kernels {
namespace {

using ops::Kernel;

/// Calls `f(index, matrix, zero, room)` for every matrix, whose type is that of `zero`.
template <class F>
void for_each_decomposed(const Kernel& k, std::size_t bytes, double work, const F& f) {
  const linalg::MatrixBatch from(k.in[0], linalg::batch_of(k.in[0].shape));
  linalg::Rooms all(k.workspace);
  const linalg::MatrixRooms each(all, from.size(), bytes);
  each.for_each(work, [&](std::int64_t i, std::span<std::byte> room) {
    linalg::Rooms rooms(room);
    if (k.in[0].dtype == DType::float64) {
      f(i, from.at<double>(i), rooms);
    } else {
      f(i, from.at<float>(i), rooms);
    }
  });
}

std::size_t rooms_for_all(const Kernel& k, std::size_t bytes) {
  linalg::Rooms rooms;
  linalg::MatrixRooms(rooms, count(linalg::batch_of(k.in[0].shape)), bytes);
  return rooms.used();
}

template <class T>
void fill_with_nan(T* data, std::int64_t n) {
  std::fill_n(data, n, std::numeric_limits<T>::quiet_NaN());
}

struct QrSlot {
  struct Size {
    std::int64_t rows, columns, inner;
    explicit Size(const Kernel& k)
        : rows(k.in[0].shape[k.in[0].shape.size() - 2]),
          columns(k.in[0].shape.back()),
          inner(std::min(rows, columns)) {}
    double work() const { return 3.0 * static_cast<double>(rows * columns * inner); }
  };
  static std::size_t bytes(const Kernel& k) {
    const Size size(k);
    linalg::Rooms rooms;
    linalg::QrFactors(rooms, size.rows, size.columns);
    return rooms.used();
  }
  static std::size_t workspace(const Kernel& k) { return rooms_for_all(k, bytes(k)); }
  static void run(const Kernel& k) {
    const Size size(k);
    const auto [rows, columns, inner] = size;
    for_each_decomposed(
        k, bytes(k), size.work(),
        [&, rows = rows, columns = columns, inner = inner]<class T>(
            std::int64_t i, const linalg::Matrix<T>& from, linalg::Rooms& rooms_of_one) {
          linalg::QrFactors factors(rooms_of_one, rows, columns);
          T* const q = k.out[0].as<T>() + i * rows * inner;
          T* const r = k.out[1].as<T>() + i * inner * columns;
          const double scale = linalg::read_scaled(from, factors.matrix().transposed());
          if (std::isnan(scale)) {
            fill_with_nan(q, rows * inner);
            fill_with_nan(r, inner * columns);
            return;
          }
          factors.run();
          linalg::write_columns(linalg::dense(q, rows, inner), [&](std::int64_t j) {
            return linalg::Column{factors.q(j), factors.sign(j)};
          });
          linalg::write_columns(linalg::dense(r, inner, columns), [&](std::int64_t j) {
            return linalg::Column{factors.r(j), scale};
          });
          for (std::int64_t row = 0; row < inner; ++row) {
            T* const numbers = r + row * columns;
            std::fill_n(numbers, row, T(0));
            if (factors.sign(row) > 0) continue;
            for (std::int64_t j = row; j < columns; ++j) numbers[j] = -numbers[j];
          }
        });
  }
};

struct EighSlot {
  static std::size_t bytes(const Kernel& k) {
    linalg::Rooms rooms;
    linalg::SymmetricEigen(rooms, k.in[0].shape.back());
    return rooms.used();
  }
  static std::size_t workspace(const Kernel& k) { return rooms_for_all(k, bytes(k)); }
  static void run(const Kernel& k) {
    const std::int64_t n = k.in[0].shape.back();
    const double work = 8.0 * static_cast<double>(n) * static_cast<double>(n * n);
    for_each_decomposed(
        k, bytes(k), work,
        [&]<class T>(std::int64_t i, const linalg::Matrix<T>& from, linalg::Rooms& rooms) {
          linalg::SymmetricEigen eigen(rooms, n);
          T* const values = k.out[0].as<T>() + i * n;
          T* const vectors = k.out[1].as<T>() + i * n * n;
          const double scale = linalg::read_scaled(from, eigen.matrix());
          symmetrize(eigen.matrix());
          if (std::isnan(scale) || !eigen.run()) {
            fill_with_nan(values, n);
            fill_with_nan(vectors, n * n);
            return;
          }
          for (std::int64_t j = 0; j < n; ++j) {
            values[j] = static_cast<T>(eigen.value(j) * scale);
          }
          linalg::write_columns(linalg::dense(vectors, n, n), [&](std::int64_t j) {
            const double* const vector = eigen.vector(j);
            return linalg::Column{vector, linalg::sign_of_largest(vector, n)};
          });
        });
  }
  static void symmetrize(const linalg::Matrix<double>& a) {
    linalg::for_each_tile(a.rows, a.columns, [&](std::int64_t i, std::int64_t j) {
      if (j < i) a(i, j) = a(j, i) = (a(i, j) + a(j, i)) / 2;
    });
  }
};

struct SvdSlot {
  /// A matrix that is wider than high is turned.
  struct Size {
    std::int64_t rows, columns, longer, shorter;
    explicit Size(const Kernel& k)
        : rows(k.in[0].shape[k.in[0].shape.size() - 2]),
          columns(k.in[0].shape.back()),
          longer(std::max(rows, columns)),
          shorter(std::min(rows, columns)) {}
    bool is_turned() const { return columns > rows; }
  };
  static std::size_t bytes(const Kernel& k) {
    const Size size(k);
    linalg::Rooms rooms;
    linalg::SingularValues(rooms, size.longer, size.shorter);
    return rooms.used();
  }
  static std::size_t workspace(const Kernel& k) { return rooms_for_all(k, bytes(k)); }
  static void run(const Kernel& k) {
    const Size size(k);
    const double work =
        12.0 * static_cast<double>(size.longer) * static_cast<double>(size.shorter * size.shorter);
    for_each_decomposed(
        k, bytes(k), work,
        [&]<class T>(std::int64_t i, const linalg::Matrix<T>& from, linalg::Rooms& rooms) {
          linalg::SingularValues svd(rooms, size.longer, size.shorter);
          const linalg::Matrix<T> u = linalg::dense(k.out[0].as<T>() + i * size.rows * size.shorter,
                                                    size.rows, size.shorter);
          T* const values = k.out[1].as<T>() + i * size.shorter;
          const linalg::Matrix<T> v = linalg::dense(
              k.out[2].as<T>() + i * size.shorter * size.columns, size.shorter, size.columns);
          const double scale = linalg::read_scaled(
              from, size.is_turned() ? svd.matrix() : svd.matrix().transposed());
          if (std::isnan(scale) || !svd.run()) {
            fill_with_nan(u.data, size.rows * size.shorter);
            fill_with_nan(values, size.shorter);
            fill_with_nan(v.data, size.shorter * size.columns);
            return;
          }
          const bool is_turned = size.is_turned();
          const auto left = [&](std::int64_t j) { return is_turned ? svd.right(j) : svd.left(j); };
          const auto right = [&](std::int64_t j) { return is_turned ? svd.left(j) : svd.right(j); };
          const auto sign = [&](std::int64_t j) {
            return linalg::sign_of_largest(left(j), size.rows);
          };
          linalg::write_columns(u, [&](std::int64_t j) {
            return linalg::Column{left(j), sign(j)};
          });
          linalg::write_columns(v.transposed(), [&](std::int64_t j) {
            return linalg::Column{right(j), sign(j)};
          });
          for (std::int64_t j = 0; j < size.shorter; ++j) {
            values[j] = static_cast<T>(svd.value(j) * scale);
          }
        });
  }
};

}  // namespace

std::vector<KernelRow> decomposition_kernels() {
  return {kernel_row<QrSlot>("qr"), kernel_row<EighSlot>("eigh"), kernel_row<SvdSlot>("svd")};
}

}  // namespace tenure::kernels
