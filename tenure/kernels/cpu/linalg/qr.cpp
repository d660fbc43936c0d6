#include <algorithm>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

namespace tenure::kernels::linalg {
namespace {

/// Columns that are reflected one by one before the rest of their block is.
constexpr std::int64_t kColumns = 8;

}  // namespace

QrFactors::QrFactors(Rooms& rooms, std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      size_(std::min(rows, columns)),
      a_{rooms.take<double>(columns * spread(rows)), columns, rows, spread(rows)},
      q_{rooms.take<double>(size_ * spread(rows)), size_, rows, spread(rows)},
      factors_(rooms.take<double>(size_)) {
  if (size_ <= Blocks::kMost) return;
  QrFactors measured(rows, columns);
  measured.run();
  blocks_ = Blocks(rooms, rows, measured.blocks_.product_bytes());
}

QrFactors::QrFactors(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      size_(std::min(rows, columns)),
      a_{nullptr, columns, rows, spread(rows)},
      q_{nullptr, size_, rows, spread(rows)},
      factors_(nullptr) {}

void QrFactors::run() {
  if (size_ <= Blocks::kMost) {
    eliminate_each(0, size_, columns_);
  } else {
    eliminate(0, size_, columns_, Blocks::kMost);
  }
  blocks_.form(q_, factors_);
}

void QrFactors::eliminate_each(std::int64_t first, std::int64_t end, std::int64_t last) {
  for (std::int64_t j = first; j < end; ++j) {
    double* const v = a_.row(j) + j;
    const Reflection reflection = make_reflection(v, rows_ - j);
    reflect(v, reflection.factor, rows_ - j, v + a_.row_step, a_.row_step, last - j - 1);
    factors_[j] = reflection.factor;
    // v goes to Q's column, where it is needed next; its place gets the diagonal.
    std::fill_n(q_.row(j), j, 0.0);
    std::copy(v, v + (rows_ - j), q_.row(j) + j);
    v[0] = reflection.first;
  }
}

void QrFactors::eliminate(std::int64_t first, std::int64_t end, std::int64_t last,
                          std::int64_t block) {
  for (std::int64_t begin = first; begin < end; begin += block) {
    const std::int64_t next = std::min(end, begin + block);
    if (block > kColumns) {
      eliminate(begin, next, next, kColumns);
    } else if (!measures()) {
      eliminate_each(begin, next, next);
    }
    blocks_.reflect(q_.part(begin, begin, next - begin, rows_ - begin),
                    measures() ? nullptr : factors_ + begin, Blocks::Order::first_to_last,
                    a_.part(next, begin, last - next, rows_ - begin));
  }
}

}  // namespace tenure::kernels::linalg
