#include "tenure/kernels/cpu/linalg/merge.h"

#include <cmath>

#include "tenure/kernels/cpu/linalg/reflect.h"

namespace tenure::kernels::linalg {
namespace {

/// Products have multiples of so many rows: then fewer of them take no more workspace than a chunk.
constexpr std::int64_t kRows = 8;

/// A number that stands for zero in the rational function, where no others are.
constexpr double kLeast = 1e-100;

}  // namespace

Merge::Merge(Rooms& rooms, Gap gap, std::int64_t n)
    : gap_(gap),
      n_(n),
      values_(rooms.take<double>(n)),
      z_(rooms.take<double>(n > kLeaf ? n : 0)),
      poles_(rooms.take<double>(n > kLeaf ? n : 0)),
      weights_(rooms.take<double>(n > kLeaf ? n : 0)),
      room_(rooms.take<double>(n > kLeaf ? n : 0)),
      places_(rooms.take<Place>(n > kLeaf ? n : 0)),
      gathered_(rooms.take<double>(n > kLeaf ? n * n : 0)),
      factors_(rooms.take<double>(n > kLeaf ? chunk_of(n) * n : 0)),
      product_(rooms.take<double>(n > kLeaf ? chunk_of(n) * n : 0)),
      order_(rooms.take<std::int64_t>(n)),
      merged_(rooms.take<std::int64_t>(n > kLeaf ? n : 0)),
      rows_(rooms.take<std::int64_t>(n > kLeaf ? n : 0)),
      grouped_(rooms.take<std::int64_t>(n > kLeaf ? n : 0)),
      sides_(rooms.take<Side>(n > kLeaf ? n : 0)) {
  if (n <= kLeaf) return;
  const std::size_t bytes = product_bytes(n);
  products_ = Products<double>({rooms.take<std::byte>(static_cast<std::int64_t>(bytes)), bytes});
}

std::int64_t Merge::chunk_of(std::int64_t n) {
  return std::min(kChunk, (n + kRows - 1) / kRows * kRows);
}

std::size_t Merge::product_bytes(std::int64_t n) {
  Products<double> measured;
  for_pairs(n, [&](std::int64_t begin, std::int64_t middle, std::int64_t end) {
    const std::int64_t inner = end - begin;
    const auto measure = [&](std::int64_t size) {
      measured.multiply(dense<double>(nullptr, chunk_of(inner), size),
                        {nullptr, chunk_of(inner), inner, n, 1}, {nullptr, inner, size, n, 1});
    };
    measure(middle - begin);
    measure(end - middle);
  });
  return measured.bytes();
}

void Merge::sort(std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) order_[i] = i;
  std::sort(order_ + begin, order_ + end, [&](std::int64_t a, std::int64_t b) {
    return values_[a] < values_[b] || (values_[a] == values_[b] && a < b);
  });
}

void Merge::deflate(const Block& block, double weight, double little,
                    std::span<const Matrix<double>> matrices) {
  std::fill(sides_ + block.begin, sides_ + block.middle, Side::first);
  std::fill(sides_ + block.middle, sides_ + block.end, Side::second);
  const std::int64_t first_end = block.zero < 0 ? block.middle : block.zero;
  const std::int64_t* const merged_end = std::merge(
      order_ + block.begin, order_ + first_end, order_ + block.middle, order_ + block.rows_end,
      merged_, [&](std::int64_t a, std::int64_t b) { return values_[a] < values_[b]; });
  kept_ = gone_ = 0;
  const auto keep = [&](std::int64_t row) { rows_[kept_++] = row; };
  const auto let_go = [&](std::int64_t row) {
    rows_[block.rows_end - block.begin - ++gone_] = row;
  };
  if (block.zero >= 0) {
    keep(block.zero);
    values_[block.zero] = 0;
    z_[block.zero] =
        std::copysign(std::max({std::abs(z_[block.zero]), little, kLeast}), z_[block.zero]);
  }
  std::int64_t last = -1;  // the one that did not stay last, so far
  for (const std::int64_t* next = merged_; next != merged_end; ++next) {
    const std::int64_t row = *next;
    if (weight * std::abs(z_[row]) <= little) {
      let_go(row);
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
        keep(last);
      } else {
        for (const Matrix<double>& vectors : matrices) {
          turn(vectors, block, last, row, cosine, sine);
        }
        if (sides_[last] != sides_[row]) sides_[last] = sides_[row] = Side::both;
        z_[row] = length;
        const double below = values_[last];
        values_[last] = below * cosine * cosine + values_[row] * sine * sine;
        values_[row] = below * sine * sine + values_[row] * cosine * cosine;
        let_go(last);
      }
    }
    last = row;
  }
  if (last >= 0) keep(last);
  // Beside a value that is zero no other one is nothing.
  if (block.zero >= 0 && kept_ > 1) values_[rows_[1]] = std::max(values_[rows_[1]], little / 2);
}

void Merge::turn(const Matrix<double>& vectors, const Block& block, std::int64_t row,
                 std::int64_t other, double cosine, double sine) const {
  double* const x = vectors.row(row);
  double* const y = vectors.row(other);
  const bool is_mixed = sides_[row] != sides_[other];
  const auto fill_up = [&](std::int64_t r) {
    if (sides_[r] == Side::first) {
      std::fill(vectors.row(r) + block.middle, vectors.row(r) + block.end, 0.0);
    } else if (sides_[r] == Side::second) {
      std::fill(vectors.row(r) + block.begin, vectors.row(r) + block.middle, 0.0);
    }
  };
  if (is_mixed) {
    fill_up(row);
    fill_up(other);
  }
  const bool is_first = !is_mixed && sides_[row] == Side::first;
  const bool is_second = !is_mixed && sides_[row] == Side::second;
  const std::int64_t end = is_first ? block.middle : block.end;
  for (std::int64_t j = is_second ? block.middle : block.begin; j < end; ++j) {
    const double before = x[j];
    x[j] = cosine * before + sine * y[j];
    y[j] = cosine * y[j] - sine * before;
  }
}

void Merge::solve(double weight) {
  constexpr std::int64_t kShare = 1 << 11;  // numbers of an update worth waking a thread
  std::int64_t counts[3] = {};
  for (std::int64_t i = 0; i < kept_; ++i) {
    poles_[i] = values_[rows_[i]];
    weights_[i] = z_[rows_[i]];
    room_[i] = weights_[i] * weights_[i];
    ++counts[static_cast<int>(sides_[rows_[i]])];
  }
  before_both_ = counts[0];
  before_second_ = counts[0] + counts[1];
  std::int64_t next[3] = {0, before_both_, before_second_};
  for (std::int64_t i = 0; i < kept_; ++i) {
    grouped_[i] = next[static_cast<int>(sides_[rows_[i]])]++;
  }
  if (kept_ == 0) return;
  const RankOneUpdate update{gap_, kept_, poles_, room_, weight};
  parallel_for(kept_, kShare / kept_ + 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) places_[i] = find_root(update, i);
  });
  fit_vector(gap_, poles_, places_, kept_, weights_, room_);
}

void Merge::mix(const Matrix<double>& vectors, const Block& block, const Mixing& mixing) {
  gather(vectors, block, mixing.extra);
  for (std::int64_t first = 0; first < kept_; first += kChunk) {
    find_factors(first, std::min(kChunk, kept_ - first), mixing);
    multiply(vectors, block, first, mixing.extra);
  }
  copy_gone(vectors, block, mixing.extra);
}

void Merge::find_factors(std::int64_t first, std::int64_t count, const Mixing& mixing) {
  constexpr std::int64_t kShare = 1 << 12;  // numbers worth waking a thread
  const bool has_extra = mixing.extra >= 0;
  const std::int64_t width = kept_ + (has_extra ? 1 : 0);
  parallel_for(chunk_of(count), kShare / width + 1, [&](std::int64_t i, std::int64_t last) {
    for (; i < last; ++i) {
      double* const factors = factors_ + i * n_;
      if (i >= count) {
        std::fill_n(factors, width, 0.0);
        continue;
      }
      double* const numbers = product_ + i * n_;
      divide_by_gaps(gap_, weights_, poles_, kept_, places_[first + i], numbers);
      if (mixing.times_values) {
        for (std::int64_t j = 1; j < kept_; ++j) numbers[j] *= poles_[j];
        numbers[0] = -1;
      }
      const double scale = 1 / std::sqrt(dot(numbers, numbers, kept_));
      for (std::int64_t j = 0; j < kept_; ++j) factors[grouped_[j]] = numbers[j] * scale;
      if (!has_extra) continue;
      factors[kept_] = factors[grouped_[0]] * mixing.extra_share;
      factors[grouped_[0]] *= mixing.zero_share;
    }
  });
}

/// Those that do not stay by groups, `extra`, then the others.
void Merge::gather(const Matrix<double>& vectors, const Block& block, std::int64_t extra) {
  const auto copy = [&](std::int64_t row, std::int64_t place) {
    const Side side = sides_[row];
    const std::int64_t from = side == Side::second ? block.middle : block.begin;
    const std::int64_t end = side == Side::first ? block.middle : block.end;
    std::copy(vectors.row(row) + from, vectors.row(row) + end, gathered_ + place * n_ + from);
  };
  for (std::int64_t i = 0; i < kept_; ++i) copy(rows_[i], grouped_[i]);
  if (extra >= 0) copy(extra, kept_);
  for (std::int64_t i = 0; i < gone_; ++i) {
    copy(rows_[kept_ + i], kept_ + (extra < 0 ? 0 : 1) + i);
  }
}

void Merge::multiply(const Matrix<double>& vectors, const Block& block, std::int64_t first,
                     std::int64_t extra) {
  const std::int64_t count = std::min(kChunk, kept_ - first);
  const auto columns = [&](std::int64_t begin, std::int64_t end, std::int64_t from,
                           std::int64_t to) {
    const std::int64_t size = end - begin;
    const std::int64_t inner = to - from;
    if (inner == 0) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::fill_n(vectors.row(block.begin + first + i) + begin, size, 0.0);
      }
      return;
    }
    const Matrix<double> product = dense(product_, chunk_of(count), size);
    products_.multiply(product, {factors_ + from, product.rows, inner, n_, 1},
                       {gathered_ + from * n_ + begin, inner, size, n_, 1});
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(product.row(i), size, vectors.row(block.begin + first + i) + begin);
    }
  };
  columns(block.begin, block.middle, 0, before_second_);
  columns(block.middle, block.end, before_both_, kept_ + (extra < 0 ? 0 : 1));
}

/// Zeros in the columns of the other half.
void Merge::copy_gone(const Matrix<double>& vectors, const Block& block, std::int64_t extra) const {
  for (std::int64_t i = 0; i < gone_; ++i) {
    const Side side = sides_[rows_[kept_ + i]];
    const double* const from = gathered_ + (kept_ + (extra < 0 ? 0 : 1) + i) * n_;
    double* const to = vectors.row(block.begin + kept_ + i);
    std::copy(from + block.begin, from + block.end, to + block.begin);
    if (side == Side::first) std::fill(to + block.middle, to + block.end, 0.0);
    if (side == Side::second) std::fill(to + block.begin, to + block.middle, 0.0);
  }
}

void Merge::finish(const Block& block) {
  for (std::int64_t i = 0; i < gone_; ++i) room_[i] = values_[rows_[kept_ + i]];
  for (std::int64_t i = 0; i < kept_; ++i) {
    const double value = places_[i].value();
    const bool is_nothing = block.zero >= 0 && value <= 2 * kLeast;
    values_[block.begin + i] = is_nothing ? 0 : value;
  }
  std::copy_n(room_, gone_, values_ + block.begin + kept_);
  sort(block.begin, block.rows_end);
}

}  // namespace tenure::kernels::linalg
