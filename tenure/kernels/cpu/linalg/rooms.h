#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/base/units.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/slots.h"

namespace tenure::kernels::linalg {

/// Parts of a workspace, one after the other, each at a cache line. Made without a workspace, it
/// counts.
class Rooms {
 public:
  Rooms() = default;
  explicit Rooms(std::span<std::byte> workspace) : data_(workspace.data()) {}

  template <class T>
  T* take(std::int64_t n) {
    std::byte* const at = data_ == nullptr ? nullptr : data_ + used_;
    used_ += round_up(static_cast<std::size_t>(n) * sizeof(T), 64);
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t used_ = 0;
};

/// A room of its own for each matrix of a batch that is worked on at a time.
class MatrixRooms {
 public:
  MatrixRooms(Rooms& rooms, std::int64_t matrices, std::size_t bytes)
      : matrices_(matrices),
        bytes_(round_up(bytes, 64)),
        count_(slots_for(matrices, bytes)),
        first_(rooms.take<std::byte>(count_ * static_cast<std::int64_t>(bytes_))) {}

  /// Calls `f(matrix, room)` for all of them, whose work is about so many multiplications each. One
  /// alone, or large ones, may use threads of their own.
  template <class F>
  void for_each(double work, const F& f) const {
    constexpr double kShare = 2e5;  // worth waking a thread
    const double worth = static_cast<double>(matrices_) * work / kShare;
    const std::int64_t rooms = worth < static_cast<double>(count_)
                                   ? std::max<std::int64_t>(1, static_cast<std::int64_t>(worth))
                                   : count_;
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::span<std::byte> room(first_ + static_cast<std::size_t>(r) * bytes_, bytes_);
        for (std::int64_t i = matrices_ * r / rooms; i < matrices_ * (r + 1) / rooms; ++i)
          f(i, room);
      }
    };
    if (matrices_ == 0) return;
    if (rooms == 1) return run(0, 1);
    parallel_for(rooms, 1, run);
  }

 private:
  std::int64_t matrices_;
  std::size_t bytes_;
  std::int64_t count_;
  std::byte* first_;
};

}  // namespace tenure::kernels::linalg
