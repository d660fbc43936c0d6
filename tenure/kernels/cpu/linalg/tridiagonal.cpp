#include "tenure/kernels/cpu/linalg/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/linalg/reflect.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

std::int64_t whole_strips(std::int64_t n) { return (n + kStrip - 1) / kStrip * kStrip; }

/// Calls `f(begin, middle, end)` for the pairs of a step, whose halves have up to `size` rows;
/// the last block may have no partner: then middle is end.
template <class F>
void for_pairs(std::int64_t n, std::int64_t size, const F& f) {
  for (std::int64_t begin = 0; begin < n; begin += 2 * size) {
    f(begin, std::min(n, begin + size), std::min(n, begin + 2 * size));
  }
}

}  // namespace

TridiagonalEigen::TridiagonalEigen(Rooms& rooms, std::int64_t n)
    : n_(n),
      now_{rooms.take<double>(n * whole_strips(n)), n, n, whole_strips(n)},
      next_{rooms.take<double>(n > kLeaf ? n * whole_strips(n) : 0), n, n, whole_strips(n)},
      values_(rooms.take<double>(n)),
      next_values_(rooms.take<double>(n)),
      z_(rooms.take<double>(n)),
      poles_(rooms.take<double>(n)),
      weights_(rooms.take<double>(n)),
      room_(rooms.take<double>(n)),
      places_(rooms.take<Place>(n)),
      factors_(rooms.take<double>(n > kLeaf ? kChunk * n : 0)),
      product_(rooms.take<double>(n > kLeaf ? kChunk * n : 0)),
      order_(rooms.take<std::int64_t>(n)),
      merged_(rooms.take<std::int64_t>(n)),
      kept_(rooms.take<std::int64_t>(n)),
      gone_(rooms.take<std::int64_t>(n)) {
  if (n <= kLeaf) return;
  const std::size_t bytes = product_bytes(n);
  products_ = Products<double>({rooms.take<std::byte>(static_cast<std::int64_t>(bytes)), bytes});
}

std::size_t TridiagonalEigen::product_bytes(std::int64_t n) {
  Products<double> measured;
  const auto measure = [&](std::int64_t size) {
    const std::int64_t step = whole_strips(n);
    measured.multiply(dense<double>(nullptr, kChunk, size), {nullptr, kChunk, size, n, 1},
                      {nullptr, size, size, step, 1});
  };
  for (std::int64_t size = kLeaf; size < n; size *= 2) {
    for_pairs(n, size, [&](std::int64_t begin, std::int64_t middle, std::int64_t end) {
      if (begin > 0 && end - begin == 2 * size) return;  // as the first
      measure(middle - begin);
      if (middle < end) measure(end - middle);
      measure(end - begin);
    });
  }
  return measured.bytes();
}

bool TridiagonalEigen::run(double* d, double* e) {
  // Beside the largest number nothing is lost of what is smaller than its rounding; eigenvalues
  // that are zero have no size of their own to compare with.
  double largest = 0;
  for (std::int64_t i = 0; i < n_; ++i) {
    largest = std::max({largest, std::abs(d[i]), i + 1 < n_ ? std::abs(e[i]) : 0});
  }
  const double nothing = kEpsilon * largest / 16;
  for (std::int64_t i = kLeaf; i < n_; i += kLeaf) {
    d[i - 1] -= std::abs(e[i - 1]);
    d[i] -= std::abs(e[i - 1]);
  }
  std::copy_n(d, n_, values_);
  for (std::int64_t begin = 0; begin < n_; begin += kLeaf) {
    if (!solve_leaf(begin, std::min(n_, begin + kLeaf), e, nothing)) return false;
  }
  for (std::int64_t size = kLeaf; size < n_; size *= 2) {
    for_pairs(n_, size, [&](std::int64_t begin, std::int64_t middle, std::int64_t end) {
      const double coupling = middle < end ? e[middle - 1] : 0;
      merge(begin, middle, end, coupling, nothing);
    });
    std::swap(now_, next_);
    std::swap(values_, next_values_);
  }
  return true;
}

/// Implicit QL of rows [begin, end), whose vectors are turned sweep by sweep.
bool TridiagonalEigen::solve_leaf(std::int64_t begin, std::int64_t end, double* beside,
                                  double nothing) {
  constexpr int kMost = 60;  // steps for one eigenvalue; two or three are usual
  const std::int64_t n = end - begin;
  double* const d = values_ + begin;
  double e[kLeaf] = {};
  std::copy_n(beside + begin, n - 1, e);
  const std::int64_t width = whole_strips(n);
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = now_.row(begin + i) + begin;
    std::fill_n(row, width, 0.0);
    row[i] = 1;
  }
  double cosines[kLeaf];
  double sines[kLeaf];
  for (std::int64_t l = 0; l < n; ++l) {
    for (int tries = 0;; ++tries) {
      std::int64_t m = l;
      while (m + 1 < n && std::abs(e[m]) > kEpsilon * (std::abs(d[m]) + std::abs(d[m + 1])) &&
             std::abs(e[m]) > nothing) {
        ++m;
      }
      if (m == l) break;
      if (tries == kMost) return false;
      // The shift is the eigenvalue of the first two that is closer to the first.
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      double r = std::hypot(g, 1.0);
      g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
      double sine = 1;
      double cosine = 1;
      double p = 0;
      std::int64_t turns = 0;
      std::int64_t i = m - 1;
      for (; i >= l; --i) {
        const double f = sine * e[i];
        const double b = cosine * e[i];
        r = length_of(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * sine + 2 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
        cosines[turns] = cosine;
        sines[turns++] = sine;
      }
      for (std::int64_t strip = 0; strip < width && turns > 0; strip += kStrip) {
        turn_strip(cosines, sines, turns, now_.row(begin + m) + begin + strip, -now_.row_step);
      }
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  for (std::int64_t i = begin; i < end; ++i) order_[i] = i;
  std::sort(order_ + begin, order_ + end, [&](std::int64_t a, std::int64_t b) {
    return values_[a] < values_[b] || (values_[a] == values_[b] && a < b);
  });
  return true;
}

void TridiagonalEigen::merge(std::int64_t begin, std::int64_t middle, std::int64_t end,
                             double coupling, double nothing) {
  kept_count_ = gone_count_ = 0;
  bool is_mixed = middle == end;  // All of a row is copied.
  const double weight = 2 * std::abs(coupling);
  if (std::abs(coupling) <= nothing) {
    for (std::int64_t row = begin; row < end; ++row) gone_[gone_count_++] = row;
  } else {
    // The rank-one matrix is that of a vector with a 1 on both sides of the middle, or a -1 beyond.
    const double beyond = std::copysign(std::sqrt(0.5), coupling);
    for (std::int64_t row = begin; row < middle; ++row) {
      z_[row] = now_(row, middle - 1) * std::sqrt(0.5);
    }
    for (std::int64_t row = middle; row < end; ++row) z_[row] = now_(row, middle) * beyond;
    std::merge(order_ + begin, order_ + middle, order_ + middle, order_ + end, merged_,
               [&](std::int64_t a, std::int64_t b) { return values_[a] < values_[b]; });
    is_mixed = deflate(begin, middle, end, weight);
  }
  for (std::int64_t i = 0; i < kept_count_; ++i) {
    poles_[i] = values_[kept_[i]];
    weights_[i] = z_[kept_[i]];
    room_[i] = weights_[i] * weights_[i];
  }
  const RankOneUpdate update{kept_count_, poles_, room_, weight};
  constexpr std::int64_t kShare = 1 << 11;  // numbers of an update worth waking a thread
  if (kept_count_ > 0) {
    parallel_for(kept_count_, kShare / kept_count_ + 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) places_[i] = find_root(update, i);
    });
    fit_vector(poles_, places_, kept_count_, weights_, room_);
    make_vectors(begin, middle, end, is_mixed);
  }
  for (std::int64_t i = 0; i < kept_count_; ++i) {
    next_values_[begin + i] = places_[i].origin + places_[i].shift;
  }
  for (std::int64_t i = 0; i < gone_count_; ++i) {
    const std::int64_t row = gone_[i];
    const std::int64_t to = begin + kept_count_ + i;
    next_values_[to] = values_[row];
    const std::int64_t from = is_mixed || row < middle ? begin : middle;
    const std::int64_t last = is_mixed || row >= middle ? end : middle;
    std::fill(next_.row(to) + begin, next_.row(to) + from, 0.0);
    std::copy(now_.row(row) + from, now_.row(row) + last, next_.row(to) + from);
    std::fill(next_.row(to) + last, next_.row(to) + end, 0.0);
  }
  for (std::int64_t i = begin; i < end; ++i) order_[i] = i;
  std::sort(order_ + begin, order_ + end, [&](std::int64_t a, std::int64_t b) {
    return next_values_[a] < next_values_[b] || (next_values_[a] == next_values_[b] && a < b);
  });
}

bool TridiagonalEigen::deflate(std::int64_t begin, std::int64_t middle, std::int64_t end,
                               double weight) {
  double largest = weight;
  for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values_[i]));
  const double little = 4 * kEpsilon * largest;
  bool is_mixed = false;
  std::int64_t last = -1;  // the one that was kept last, so far
  for (std::int64_t i = 0; i < end - begin; ++i) {
    const std::int64_t row = merged_[i];
    if (weight * std::abs(z_[row]) <= little) {
      gone_[gone_count_++] = row;
      continue;
    }
    if (last >= 0) {
      // Turned so that the number of one of them is zero, they are coupled by what the turn makes
      // of their difference.
      const double length = length_of(z_[last], z_[row]);
      const double cosine = z_[row] / length;
      const double sine = -z_[last] / length;
      const double difference = values_[row] - values_[last];
      if (std::abs(difference * cosine * sine) > little) {
        kept_[kept_count_++] = last;
      } else {
        if (!is_mixed && (last < middle) != (row < middle)) {
          is_mixed = true;
          for (std::int64_t r = begin; r < middle; ++r) {
            std::fill(now_.row(r) + middle, now_.row(r) + end, 0.0);
          }
          for (std::int64_t r = middle; r < end; ++r) {
            std::fill(now_.row(r) + begin, now_.row(r) + middle, 0.0);
          }
        }
        const std::int64_t from = is_mixed || row < middle ? begin : middle;
        rotate(last, row, cosine, sine, from, is_mixed || row >= middle ? end : middle);
        z_[row] = length;
        const double below = values_[last];
        values_[last] = below * cosine * cosine + values_[row] * sine * sine;
        values_[row] = below * sine * sine + values_[row] * cosine * cosine;
        gone_[gone_count_++] = last;
      }
    }
    last = row;
  }
  if (last >= 0) kept_[kept_count_++] = last;
  return is_mixed;
}

void TridiagonalEigen::rotate(std::int64_t row, std::int64_t other, double cosine, double sine,
                              std::int64_t begin, std::int64_t end) {
  double* const x = now_.row(row);
  double* const y = now_.row(other);
  for (std::int64_t j = begin; j < end; ++j) {
    const double before = x[j];
    x[j] = cosine * before + sine * y[j];
    y[j] = cosine * y[j] - sine * before;
  }
}

/// Vector i has z[j] / (pole j - eigenvalue i) of vector j before.
void TridiagonalEigen::make_vectors(std::int64_t begin, std::int64_t middle, std::int64_t end,
                                    bool is_mixed) {
  for (std::int64_t first = 0; first < kept_count_; first += kChunk) {
    const std::int64_t count = std::min(kChunk, kept_count_ - first);
    constexpr std::int64_t kShare = 1 << 13;  // numbers worth waking a thread
    parallel_for(kChunk, kShare / (end - begin) + 1, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) {
        double* const factors = factors_ + i * n_;
        double* const numbers = product_ + i * n_;
        std::fill_n(factors, end - begin, 0.0);
        if (i >= count) continue;
        divide_by_gaps(weights_, poles_, kept_count_, places_[first + i], numbers);
        const double scale = 1 / std::sqrt(dot(numbers, numbers, kept_count_));
        for (std::int64_t j = 0; j < kept_count_; ++j) {
          factors[kept_[j] - begin] = numbers[j] * scale;
        }
      }
    });
    if (is_mixed) {
      multiply(first, count, begin, begin, end);
    } else {
      multiply(first, count, begin, begin, middle);
      multiply(first, count, begin, middle, end);
    }
  }
}

/// Columns [from, to) of the next vectors, of the rows of now_ with the same numbers. Always of
/// kChunk rows, so that the workspace is known before.
void TridiagonalEigen::multiply(std::int64_t first, std::int64_t count, std::int64_t begin,
                                std::int64_t from, std::int64_t to) {
  const std::int64_t size = to - from;
  const Matrix<double> product = dense(product_, kChunk, size);
  products_.multiply(product, {factors_ + (from - begin), kChunk, size, n_, 1},
                     now_.part(from, from, size, size));
  for (std::int64_t i = 0; i < count; ++i) {
    std::copy_n(product.row(i), size, next_.row(begin + first + i) + from);
  }
}

}  // namespace tenure::kernels::linalg
