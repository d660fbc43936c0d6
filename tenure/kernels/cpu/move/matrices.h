#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/reduce/reduce_plan.h"
#include "tenure/kernels/view.h"

// The matrices of tensors of rank two and more, one after another, as kernels on blocks want them.

namespace tenure::kernels {

template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row = 0;  ///< distance of rows

  T* at(std::int64_t i) const { return data + i * row; }
};

/// Hands out parts of a piece of memory, or, without one, counts them.
class Room {
 public:
  explicit Room(std::byte* memory = nullptr) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t n) {
    const std::size_t at = used_;
    used_ += round_up(static_cast<std::size_t>(n) * sizeof(T), 64);
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

/// Shape and place of the matrices of a tensor; rows of T that end in full vectors of `lanes`.
template <class T>
class Matrices {
 public:
  Matrices(const View& view, std::int64_t lanes)
      : view_(view),
        rows_(view.shape[view.shape.size() - 2]),
        columns_(view.shape.back()),
        padded_((columns_ + lanes - 1) / lanes * lanes),
        row_(view.strides[view.strides.size() - 2]),
        column_(view.strides.back()) {
    for (int i = 0; i + 2 < view.shape.size(); ++i) {
      heads_.push({view.shape[i], view.strides[i]});
    }
    const bool is_plain = view.dtype == dtype_of<T>() && (column_ == 1 || columns_ == 1);
    direct_ = is_plain && padded_ == columns_;
    constexpr auto kWidest = static_cast<std::int64_t>(64 / sizeof(T));
    const std::int64_t widest =
        lanes == 1 ? columns_ : (columns_ + kWidest - 1) / kWidest * kWidest;
    room_ = is_plain && widest == columns_ ? 0 : rows_ * widest;
  }
  std::int64_t count() const { return heads_.count(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t padded() const { return padded_; }

  /// Room for a copy of one matrix, if it needs one with the widest vectors that there are: plans
  /// are the same on every machine.
  T* take(Room& room) const { return room_ == 0 ? nullptr : room.take<T>(room_); }

  /// Matrix `head`, in place or as a copy.
  Matrix<const T> read(std::int64_t head, T* copy) const {
    if (direct_) return {static_cast<const T*>(at(head)), row_};
    if (padded_ > columns_) std::fill_n(copy, rows_ * padded_, T{0});
    reduce::find_convert(view_.dtype, dtype_of<T>())(at(head), {row_, column_}, copy, {padded_, 1},
                                                     rows_, columns_);
    return {copy, padded_};
  }
  /// Where matrix `head` is computed; `write` completes it.
  Matrix<T> target(std::int64_t head, T* copy) const {
    return direct_ ? Matrix<T>{static_cast<T*>(at(head)), row_} : Matrix<T>{copy, padded_};
  }
  void write(std::int64_t head, const T* copy) const {
    if (direct_) return;
    reduce::find_convert(dtype_of<T>(), view_.dtype)(copy, {padded_, 1}, at(head), {row_, column_},
                                                     rows_, columns_);
  }

 private:
  void* at(std::int64_t head) const {
    return view_.as<std::byte>() +
           heads_.offset(head) * static_cast<std::int64_t>(size_of(view_.dtype));
  }

  const View& view_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t padded_;
  std::int64_t room_;
  std::int64_t row_;
  std::int64_t column_;
  reduce::Walk heads_;
  bool direct_;
};

}  // namespace tenure::kernels
