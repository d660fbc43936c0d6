#pragma once

#include <cstdint>
#include <utility>

#include "tenure/kernels/view.h"

namespace tenure::kernels::linalg {

/// A matrix in memory, or a part of one. Owns nothing; without data it is a size alone.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;

  T& operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row_step + j * column_step];
  }
  T* row(std::int64_t i) const { return data + i * row_step; }
  Matrix part(std::int64_t i, std::int64_t j, std::int64_t n_rows, std::int64_t n_columns) const {
    T* const first = data == nullptr ? nullptr : &(*this)(i, j);
    return {first, n_rows, n_columns, row_step, column_step};
  }
  Matrix transposed() const { return {data, columns, rows, column_step, row_step}; }
};

/// Row after row.
template <class T>
Matrix<T> dense(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}

/// A step of rows of n numbers: whole vectors, and an odd number of pairs of lines of the cache, so
/// that numbers of a column share no set of it.
inline std::int64_t spread(std::int64_t n) {
  constexpr std::int64_t kPair = 16;
  return (n + kPair - 1) / kPair * kPair | kPair;
}

/// A square matrix of a workspace. Large ones are spread.
template <class T>
Matrix<T> square(T* data, std::int64_t n) {
  constexpr std::int64_t kLarge = 64;
  return {data, n, n, n < kLarge ? n : spread(n), 1};
}
/// Numbers that one takes.
inline std::int64_t square_room(std::int64_t n) { return n * square<char>(nullptr, n).row_step; }

/// Matrices over leading dimensions, which may be repeated to those of a larger batch.
struct MatrixBatch {
  View view;  ///< of one matrix; its data is that of the first
  Shape batch;
  Strides strides;

  MatrixBatch(const View& matrices, const Shape& all) : view(matrices), batch(all) {
    const int leading = matrices.shape.size() - 2;
    Shape own;
    Strides own_strides;
    for (int i = 0; i < leading; ++i) {
      own.push_back(matrices.shape[i]);
      own_strides.push_back(matrices.strides[i]);
    }
    strides = broadcast_strides(own, own_strides, all);
    view.shape = {matrices.shape[leading], matrices.shape[leading + 1]};
    view.strides = {matrices.strides[leading], matrices.strides[leading + 1]};
  }

  std::int64_t size() const { return count(batch); }
  /// How each of them lies.
  template <class T>
  Matrix<T> layout() const {
    return {nullptr, view.shape[0], view.shape[1], view.strides[0], view.strides[1]};
  }
  template <class T>
  Matrix<T> at(std::int64_t index) const {
    std::int64_t place = 0;
    for (int axis = batch.size() - 1; axis >= 0; --axis) {
      place += index % batch[axis] * strides[axis];
      index /= batch[axis];
    }
    Matrix<T> matrix = layout<T>();
    matrix.data = view.as<T>() + place;
    return matrix;
  }
};

/// The leading dimensions of a shape of matrices.
inline Shape batch_of(Shape shape) {
  shape.erase(shape.size() - 1);
  shape.erase(shape.size() - 1);
  return shape;
}

template <class To, class From>
void copy_matrix(const Matrix<From>& from, const Matrix<To>& to) {
  for (std::int64_t i = 0; i < to.rows; ++i) {
    for (std::int64_t j = 0; j < to.columns; ++j) to(i, j) = static_cast<To>(from(i, j));
  }
}

}  // namespace tenure::kernels::linalg
