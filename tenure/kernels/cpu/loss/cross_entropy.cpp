#include "tenure/kernels/cpu/loss/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tenure/kernels/cpu/loss/classes.h"
#include "tenure/kernels/cpu/loss/rows.h"
#include "tenure/kernels/cpu/loss/sums.h"
#include "tenure/kernels/cpu/move/pieces.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // logits

/// All rows of a call, computed as T.
template <class T>
class Rows {
 public:
  using Tile = typename Pieces<T>::Tile;

  Rows(const char* op, const CrossEntropy& loss, const View& logits, const View& targets)
      : loss_(loss),
        classes_(logits.shape.back()),
        rows_(classes_ == 0 ? 0 : logits.count() / classes_),
        logits_(logits, logits.shape),
        indices_(targets),
        piece_(logits_.direct() ? classes_ : Pieces<T>::kTile) {
    std::int64_t valid = rows_;
    if (is_floating(targets.dtype)) {
      probabilities_.emplace(targets, logits.shape);
      if (!probabilities_->direct()) piece_ = std::min(piece_, Pieces<T>::kTile);
    } else {
      valid = indices_.checked(op, classes_, loss.ignore_index);
    }
    scale_ = loss.averages ? 1.0 / static_cast<double>(std::max<std::int64_t>(valid, 1)) : 1.0;
  }

  std::int64_t rows() const { return rows_; }
  /// Rows that are worth a thread.
  std::int64_t grain() const { return (kGrain - 1) / std::max<std::int64_t>(classes_, 1) + 1; }
  /// What the loss of a row counts in the result.
  double scale() const { return scale_; }

  double loss(std::int64_t row) const {
    if (is_ignored(row)) return 0;
    Tile tile;
    Softmax s;
    add_row(row, nullptr, s);
    const double smoothing = loss_.label_smoothing;
    const double picked =
        probabilities_
            ? s.sums.products
            : static_cast<double>(*logits_.read(row * classes_ + indices_[row], 1, tile));
    double result = mass(s) * (static_cast<double>(s.shift) + std::log(s.sums.exponentials)) -
                    (1 - smoothing) * picked;
    if (smoothing != 0) result -= smoothing / static_cast<double>(classes_) * s.sums.logits;
    return result;
  }

  /// Of rows [first, first + count), at most kTogether.
  static constexpr std::int64_t kTogether = 8;
  static constexpr std::int64_t kShort = 1024;  ///< classes of so many rows stay in the first cache
  void gradients(std::int64_t first, std::int64_t count, const double* dy,
                 const PieceWriter<T>& writer) const {
    const std::int64_t piece = writer.direct() ? piece_ : std::min(piece_, Pieces<T>::kTile);
    // A row in one piece keeps its exponentials, in the place of its gradient. That may be the
    // place of the probabilities, which are read once more.
    const bool keeps = classes_ <= piece && !probabilities_;
    if (keeps && writer.direct() && logits_.direct()) {
      Tile none;
      Softmax s[kTogether];
      const std::int64_t some = classes_ <= kShort ? count : 1;
      for (std::int64_t r = 0; r < count; r += some) {
        const std::int64_t at = (first + r) * classes_;
        loops_.softmax(logits_.read(at, some * classes_, none), some, classes_,
                       loss_.label_smoothing != 0, s + r, writer.room(at, none));
      }
      for (std::int64_t r = 0; r < count; ++r) finish(first + r, dy[r], s[r], piece, true, writer);
      return;
    }
    for (std::int64_t r = 0; r < count; ++r) {
      Tile kept;
      const bool counts = !is_ignored(first + r);
      T* const room = keeps && counts ? writer.room((first + r) * classes_, kept) : nullptr;
      Softmax s;
      if (counts) add_row(first + r, room, s);
      finish(first + r, dy[r], s, piece, keeps, writer, &kept);
    }
  }

 private:
  using Softmax = RowSoftmax<T>;

  /// The gradient of a row, whose exponentials are where `room` has put them if it `keeps` them.
  void finish(std::int64_t row, double dy, const Softmax& s, std::int64_t piece, bool keeps,
              const PieceWriter<T>& writer, Tile* kept = nullptr) const {
    Tile x_tile, q_tile, own;
    Tile& out_tile = kept == nullptr ? own : *kept;
    const bool counts = !is_ignored(row);
    const double weight = dy * (1 - loss_.label_smoothing);
    const double constant = dy * loss_.label_smoothing / static_cast<double>(classes_);
    const T factor = static_cast<T>(dy * mass(s) / s.sums.exponentials);
    for (std::int64_t j = 0; j < classes_; j += piece) {
      const std::int64_t n = std::min(piece, classes_ - j);
      const std::int64_t at = row * classes_ + j;
      T* const out = writer.room(at, out_tile);
      if (!counts) {
        std::fill_n(out, n, T{0});
      } else if (keeps) {
        loops_.finish(out, n, factor, static_cast<T>(constant));
      } else {
        const T* const q = probabilities_ ? probabilities_->read(at, n, q_tile) : nullptr;
        loops_.gradient(logits_.read(at, n, x_tile), q, n, s.shift, factor, static_cast<T>(weight),
                        static_cast<T>(constant), out);
      }
      const std::int64_t target = counts && !probabilities_ ? indices_[row] - j : -1;
      if (target >= 0 && target < n) out[target] -= static_cast<T>(weight);
      writer.write(at, n, out_tile);
    }
  }

  bool is_ignored(std::int64_t row) const {
    return !probabilities_ && indices_[row] == loss_.ignore_index;
  }
  /// The sum of the smoothed probabilities.
  double mass(const Softmax& s) const {
    if (!probabilities_) return 1;
    return (1 - loss_.label_smoothing) * s.sums.probabilities + loss_.label_smoothing;
  }
  /// With the exponentials in `kept`, if that is not nullptr; the row is then one piece. Not as a
  /// result: processors wait for what was written by halves and is copied as a whole.
  void add_row(std::int64_t row, T* kept, Softmax& result) const {
    Tile x_tile, q_tile;
    const T* x = nullptr;
    const auto for_each_piece = [&](const auto& f) {
      for (std::int64_t j = 0; j < classes_; j += piece_) {
        const std::int64_t n = std::min(piece_, classes_ - j);
        if (x == nullptr || n < classes_) x = logits_.read(row * classes_ + j, n, x_tile);
        f(j, n);
      }
    };
    for_each_piece(
        [&](std::int64_t, std::int64_t n) { result.shift = loops_.max(x, n, result.shift); });
    for_each_piece([&](std::int64_t j, std::int64_t n) {
      const T* const q =
          probabilities_ ? probabilities_->read(row * classes_ + j, n, q_tile) : nullptr;
      loops_.add(x, q, n, result.shift, loss_.label_smoothing != 0, result.sums, kept);
    });
  }

  const CrossEntropy& loss_;
  std::int64_t classes_;
  std::int64_t rows_;
  Pieces<T> logits_;
  Classes indices_;
  std::optional<Pieces<T>> probabilities_;
  std::int64_t piece_;
  double scale_ = 1;
  const RowLoops<T>& loops_ = find_row_loops(T{});
};

template <class T>
void typed_loss(const char* op, const CrossEntropy& loss, const View& logits, const View& targets,
                const View& out) {
  const Rows<T> rows(op, loss, logits, targets);
  if (loss.reduces) {
    const double total =
        sum_blocks(rows.rows(), rows.grain(), [&](std::int64_t begin, std::int64_t end) {
          double sum = 0;
          for (std::int64_t row = begin; row < end; ++row) sum += rows.loss(row);
          return sum;
        });
    return write_number(out, 0, total * rows.scale());
  }
  parallel_for(rows.rows(), rows.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) write_number(out, row, rows.loss(row));
  });
}

template <class T>
void typed_gradient(const char* op, const CrossEntropy& loss, const View& logits,
                    const View& targets, const View& dy, const View& out) {
  const Rows<T> rows(op, loss, logits, targets);
  const PieceWriter<T> writer(out);
  const Pieces<T> dys(dy, dy.shape);
  parallel_for(rows.rows(), rows.grain(), [&](std::int64_t begin, std::int64_t end) {
    typename Pieces<T>::Tile tile;
    double factors[Rows<T>::kTogether];
    for (std::int64_t row = begin; row < end; row += Rows<T>::kTogether) {
      const std::int64_t count = std::min(Rows<T>::kTogether, end - row);
      const T* const numbers = dys.read(loss.reduces ? 0 : row, loss.reduces ? 1 : count, tile);
      for (std::int64_t r = 0; r < count; ++r) {
        factors[r] = static_cast<double>(numbers[loss.reduces ? 0 : r]) * rows.scale();
      }
      rows.gradients(row, count, factors, writer);
    }
  });
}

}  // namespace

void cross_entropy(const char* op, const CrossEntropy& loss, const View& logits,
                   const View& targets, const View& out) {
  if (logits.dtype == DType::float64) return typed_loss<double>(op, loss, logits, targets, out);
  typed_loss<float>(op, loss, logits, targets, out);
}

void cross_entropy_gradient(const char* op, const CrossEntropy& loss, const View& logits,
                            const View& targets, const View& dy, const View& out) {
  if (logits.dtype == DType::float64) {
    return typed_gradient<double>(op, loss, logits, targets, dy, out);
  }
  typed_gradient<float>(op, loss, logits, targets, dy, out);
}

}  // namespace tenure::kernels
