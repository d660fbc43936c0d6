#include "tenure/kernels/cpu/linalg/turns.h"

#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels::linalg {
namespace {

/// Rotations of a strip that are worth waking a thread.
constexpr std::int64_t kShare = 4096;

std::int64_t strips_of(std::int64_t numbers) { return (numbers + kStrip - 1) / kStrip; }

}  // namespace

std::int64_t Turns::strip_numbers(std::int64_t vectors, std::int64_t numbers) {
  return vectors * strips_of(numbers) * kStrip;
}

Turns::Turns(Rooms& rooms, std::int64_t vectors, std::int64_t numbers, double* strips)
    : vectors_(vectors),
      numbers_(numbers),
      strips_(strips),
      cosines_(rooms.take<double>(kLongSweeps * vectors)),
      sines_(rooms.take<double>(kLongSweeps * vectors)),
      sweeps_(rooms.take<Sweep>(kSweeps)) {}

void Turns::read(const double* rows) {
  const std::int64_t grain = kShare / (vectors_ + 1) + 1;
  parallel_for(strips_of(numbers_), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t n = std::min(kStrip, numbers_ - s * kStrip);
      for (std::int64_t i = 0; i < vectors_; ++i) {
        double* const to = strip(s) + i * kStrip;
        std::copy_n(rows + i * numbers_ + s * kStrip, n, to);
        std::fill(to + n, to + kStrip, 0.0);
      }
    }
  });
}

void Turns::write(double* rows) {
  run();
  const std::int64_t grain = kShare / (vectors_ + 1) + 1;
  parallel_for(strips_of(numbers_), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t n = std::min(kStrip, numbers_ - s * kStrip);
      for (std::int64_t i = 0; i < vectors_; ++i) {
        std::copy_n(strip(s) + i * kStrip, n, rows + i * numbers_ + s * kStrip);
      }
    }
  });
}

void Turns::begin(std::int64_t first, std::int64_t step) {
  if (count_ == kSweeps || used_ > (kLongSweeps - 1) * vectors_) run();
  sweeps_[count_++] = {.first = first, .step = step, .begin = used_};
}

void Turns::run() {
  const std::int64_t grain = kShare / (used_ + 1) + 1;
  parallel_for(strips_of(numbers_), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      for (std::int64_t i = 0; i < count_; ++i) {
        const Sweep& sweep = sweeps_[i];
        const std::int64_t last = i + 1 < count_ ? sweeps_[i + 1].begin : used_;
        if (last == sweep.begin) continue;
        turn_strip(cosines_ + sweep.begin, sines_ + sweep.begin, last - sweep.begin,
                   strip(s) + sweep.first * kStrip, sweep.step * kStrip);
      }
    }
  });
  count_ = 0;
  used_ = 0;
}

}  // namespace tenure::kernels::linalg
