#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/rooms.h"
#include "tenure/kernels/cpu/linalg/vectors.h"

namespace tenure::kernels::linalg {

/// Vectors that rotations of two at a time turn. Rotations wait until there are many: then threads
/// turn strips of kStrip numbers of all vectors, which stay in the cache.
class Turns {
 public:
  /// Of vectors of a matrix that is `vectors` x `numbers`, which lie in rows, but while they turn,
  /// in `strips`.
  Turns(Rooms& rooms, std::int64_t vectors, std::int64_t numbers, double* strips);
  /// Numbers that strips take.
  static std::int64_t strip_numbers(std::int64_t vectors, std::int64_t numbers);

  void read(const double* rows);
  /// After all that waits was done.
  void write(double* rows);

  /// Rotations of vectors first and first + step, of first + step and first + 2 step, and so on,
  /// as many as `add` adds before the next `begin`; no more than there are vectors.
  void begin(std::int64_t first, std::int64_t step);
  /// (x, y) becomes (cosine x + sine y, cosine y - sine x).
  void add(double cosine, double sine) {
    cosines_[used_] = cosine;
    sines_[used_] = sine;
    ++used_;
  }

 private:
  static constexpr std::int64_t kSweeps = 64;
  static constexpr std::int64_t kLongSweeps = 16;
  struct Sweep {
    std::int64_t first, step, begin;
  };
  void run();
  double* strip(std::int64_t i) const { return strips_ + i * vectors_ * kStrip; }

  std::int64_t vectors_, numbers_;
  double* strips_;
  double* cosines_;
  double* sines_;
  Sweep* sweeps_;
  std::int64_t count_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace tenure::kernels::linalg
