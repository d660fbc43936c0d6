#include "tenure/kernels/cpu/attention/attention.h"

#include <atomic>
#include <limits>
#include <optional>

#include "tenure/kernels/cpu/attention/blocks.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/matrices.h"
#include "tenure/kernels/cpu/move/tile_reader.h"
#include "tenure/kernels/cpu/move/transpose.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/slots.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kScoreBytes = 256 * 1024;  // of the rows of scores that exist at a time
constexpr std::int64_t kMaxRows = 48;
constexpr std::int64_t kCausalRows = 24;  // fewer compute less of what nobody sees
constexpr std::int64_t kMinRows = 12;

/// The scores of one call, computed as T.
template <class T>
class Scores {
 public:
  Scores(const Attention& how, const View& q, const View& k)
      : how_(how), q_(q, 1), k_(k, 1), keys_(k_.rows()), queries_(q_.rows()) {
    constexpr auto kLanes = static_cast<std::int64_t>(64 / sizeof(T));  // of the widest vectors
    padded_keys_ = (keys_ + kLanes - 1) / kLanes * kLanes;
    const std::int64_t row_bytes =
        std::max<std::int64_t>(padded_keys_, 1) * static_cast<std::int64_t>(sizeof(T));
    rows_ = std::clamp(kScoreBytes / row_bytes / kMinRows * kMinRows, kMinRows,
                       how.causal ? kCausalRows : kMaxRows);
    if (how.mask != nullptr) {
      Shape shape = q.shape;
      shape[shape.size() - 1] = keys_;
      mask_.emplace(*how.mask, shape);
    }
  }

  /// What one thread has of its own.
  struct Memory {
    T* transposed = nullptr;  ///< k^T, rows of padded keys
    T* scores = nullptr;
    T* bias = nullptr;
    std::byte* mask = nullptr;
  };
  Memory take(Room& room) const {
    Memory memory;
    memory.transposed = take_transposed(room, k_.columns());
    memory.scores = take_rows(room);
    if (mask_) {
      memory.bias = room.take<T>(padded_keys_);
      memory.mask =
          room.take<std::byte>(keys_ * static_cast<std::int64_t>(size_of(how_.mask->dtype)));
    }
    return memory;
  }
  T* take_transposed(Room& room, std::int64_t columns) const {
    return room.take<T>(columns * padded_keys_);
  }
  T* take_rows(Room& room) const { return room.take<T>(rows_ * padded_keys_); }

  const BlockLoops<T>& loops() const { return loops_; }
  std::int64_t heads() const { return q_.count(); }
  std::int64_t queries() const { return queries_; }
  std::int64_t padded_keys() const { return padded_keys_; }
  /// Queries are worked on in blocks of so many.
  std::int64_t rows() const { return rows_; }
  T scale() const { return static_cast<T>(how_.scale); }

  /// How many keys a query may see.
  std::int64_t seen(std::int64_t query) const {
    return how_.causal ? std::clamp<std::int64_t>(query + 1 + keys_ - queries_, 0, keys_) : keys_;
  }

  /// The transpose of a matrix with a row for each key, padded with zeros.
  void transpose(const Matrix<const T>& from, std::int64_t columns, T* to) const {
    copy_transposed({.element_size = sizeof(T),
                     .rows = columns,
                     .columns = keys_,
                     .in_column = from.row,
                     .out_row = padded_keys_},
                    from.data, to, 0, columns);
    for (std::int64_t c = 0; c < columns; ++c) {
      std::fill(to + c * padded_keys_ + keys_, to + (c + 1) * padded_keys_, T{0});
    }
  }

  /// Fills `rows` rows of memory.scores with exp(score - largest) from query `first` on, for the
  /// keys before `width`, and `sums` with their sums.
  void exponentials(std::int64_t head, const Matrix<const T>& q, std::int64_t first,
                    std::int64_t rows, std::int64_t width, const Memory& memory, T* sums) const {
    loops_.multiply({.m = rows,
                     .n = width,
                     .k = q_.columns(),
                     .a_row = q.row,
                     .b_row = padded_keys_,
                     .c_row = padded_keys_},
                    q.at(first), memory.transposed, memory.scores);
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const s = memory.scores + r * padded_keys_;
      const std::int64_t n = seen(first + r);
      // A view without keys has no element that a reader could go to.
      const T* const bias = mask_ && n > 0 ? read_mask(head, first + r, n, memory) : nullptr;
      const T largest = loops_.score(s, n, scale(), bias);
      sums[r] = loops_.exponentiate(s, n, (width + loops_.lanes - 1) / loops_.lanes * loops_.lanes,
                                    largest);
    }
  }

 private:
  const T* read_mask(std::int64_t head, std::int64_t query, std::int64_t n,
                     const Memory& memory) const {
    TileReader reader = *mask_;
    reader.seek((head * queries_ + query) * keys_);
    reader.read(memory.mask, static_cast<std::size_t>(n));
    if (how_.mask->dtype != DType::boolean) {
      cast_elements(how_.mask->dtype, memory.mask, dtype_of<T>(), memory.bias,
                    static_cast<std::size_t>(n));
      return memory.bias;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      memory.bias[j] = memory.mask[j] != std::byte{0} ? T{0} : -std::numeric_limits<T>::infinity();
    }
    return memory.bias;
  }

  const Attention& how_;
  Matrices<T> q_;
  Matrices<T> k_;
  std::int64_t keys_;
  std::int64_t queries_;
  std::int64_t padded_keys_ = 0;
  std::int64_t rows_ = 0;
  std::optional<TileReader> mask_;
  const BlockLoops<T>& loops_ = find_block_loops(T{});
};

/// The inverse of a sum; nothing seen gives zeros.
template <class T>
T inverse(T sum) {
  return sum == 0 ? T{0} : T{1} / sum;
}

template <class T>
class Forward {
 public:
  Forward(const Attention& how, const View& q, const View& k, const View& v, const View& out)
      : scores_(how, q, k),
        q_(q, 1),
        k_(k, 1),
        v_(v, scores_.loops().lanes),
        out_(out, scores_.loops().lanes) {}

  std::int64_t heads() const { return out_.count(); }
  struct Memory {
    typename Scores<T>::Memory scores;
    T* q;
    T* k;
    T* v;
    T* out;
  };
  Memory take(Room& room) const {
    return {scores_.take(room), q_.take(room), k_.take(room), v_.take(room), out_.take(room)};
  }

  void run(std::int64_t head, const Memory& memory) const {
    const Matrix<const T> q = q_.read(head, memory.q);
    const Matrix<const T> v = v_.read(head, memory.v);
    const Matrix<T> out = out_.target(head, memory.out);
    scores_.transpose(k_.read(head, memory.k), k_.columns(), memory.scores.transposed);
    T sums[kMaxRows];
    for (std::int64_t first = 0; first < scores_.queries(); first += scores_.rows()) {
      const std::int64_t rows = std::min(scores_.rows(), scores_.queries() - first);
      const std::int64_t width = scores_.seen(first + rows - 1);
      scores_.exponentials(head, q, first, rows, width, memory.scores, sums);
      scores_.loops().multiply({.m = rows,
                                .n = v_.padded(),
                                .k = width,
                                .a_row = scores_.padded_keys(),
                                .b_row = v.row,
                                .c_row = out.row},
                               memory.scores.scores, v.data, out.at(first));
      for (std::int64_t r = 0; r < rows; ++r) {
        scores_.loops().scale(out.at(first + r), v_.padded(), inverse(sums[r]));
      }
    }
    out_.write(head, memory.out);
  }

 private:
  Scores<T> scores_;
  Matrices<T> q_;
  Matrices<T> k_;
  Matrices<T> v_;
  Matrices<T> out_;
};

template <class T>
class Backward {
 public:
  Backward(const Attention& how, const View& q, const View& k, const View& v, const View& dout,
           const AttentionGradients& out)
      : scores_(how, q, k),
        q_(q, lanes()),
        k_(k, lanes()),
        v_(v, 1),
        dout_(dout, lanes()),
        dq_(out.q, lanes()),
        dk_(out.k, lanes()),
        dv_(out.v, lanes()) {}

  std::int64_t heads() const { return q_.count(); }
  struct Memory {
    typename Scores<T>::Memory scores;
    T* transposed_v;
    T* slopes;
    T* q;
    T* k;
    T* v;
    T* dout;
    T* dq;
    T* dk;
    T* dv;
  };
  Memory take(Room& room) const {
    return {scores_.take(room),      scores_.take_transposed(room, v_.columns()),
            scores_.take_rows(room), q_.take(room),
            k_.take(room),           v_.take(room),
            dout_.take(room),        dq_.take(room),
            dk_.take(room),          dv_.take(room)};
  }

  void run(std::int64_t head, const Memory& memory) const {
    const Matrix<const T> q = q_.read(head, memory.q);
    const Matrix<const T> k = k_.read(head, memory.k);
    const Matrix<const T> dout = dout_.read(head, memory.dout);
    const Matrix<T> dq = dq_.target(head, memory.dq);
    const Matrix<T> dk = dk_.target(head, memory.dk);
    const Matrix<T> dv = dv_.target(head, memory.dv);
    scores_.transpose(k, k_.columns(), memory.scores.transposed);
    scores_.transpose(v_.read(head, memory.v), v_.columns(), memory.transposed_v);
    for (std::int64_t j = 0; j < k_.rows(); ++j) {
      std::fill_n(dk.at(j), dk_.padded(), T{0});
      std::fill_n(dv.at(j), dv_.padded(), T{0});
    }
    const std::int64_t row = scores_.padded_keys();
    T* const p = memory.scores.scores;
    T* const ds = memory.slopes;
    T sums[kMaxRows];
    for (std::int64_t first = 0; first < scores_.queries(); first += scores_.rows()) {
      const std::int64_t rows = std::min(scores_.rows(), scores_.queries() - first);
      const std::int64_t width = scores_.seen(first + rows - 1);
      const std::int64_t padded = (width + lanes() - 1) / lanes() * lanes();
      scores_.exponentials(head, q, first, rows, width, memory.scores, sums);
      multiply(
          {.m = rows, .n = width, .k = v_.columns(), .a_row = dout.row, .b_row = row, .c_row = row},
          dout.at(first), memory.transposed_v, ds);
      for (std::int64_t r = 0; r < rows; ++r) {
        scores_.loops().scale(p + r * row, padded, inverse(sums[r]));
        scores_.loops().softmax_gradient(p + r * row, ds + r * row, padded, scores_.scale());
      }
      multiply(
          {.m = rows, .n = dq_.padded(), .k = width, .a_row = row, .b_row = k.row, .c_row = dq.row},
          ds, k.data, dq.at(first));
      multiply({.m = width,
                .n = dk_.padded(),
                .k = rows,
                .a_row = 1,
                .a_column = row,
                .b_row = q.row,
                .c_row = dk.row,
                .adds = true},
               ds, q.at(first), dk.data);
      multiply({.m = width,
                .n = dv_.padded(),
                .k = rows,
                .a_row = 1,
                .a_column = row,
                .b_row = dout.row,
                .c_row = dv.row,
                .adds = true},
               p, dout.at(first), dv.data);
    }
    dq_.write(head, memory.dq);
    dk_.write(head, memory.dk);
    dv_.write(head, memory.dv);
  }

 private:
  std::int64_t lanes() const { return scores_.loops().lanes; }
  void multiply(const BlockProduct& shape, const T* a, const T* b, T* c) const {
    scores_.loops().multiply(shape, a, b, c);
  }

  Scores<T> scores_;
  Matrices<T> q_;
  Matrices<T> k_;
  Matrices<T> v_;
  Matrices<T> dout_;
  Matrices<T> dq_;
  Matrices<T> dk_;
  Matrices<T> dv_;
};

template <class Pass>
std::size_t bytes_of_thread(const Pass& pass) {
  Room room;
  pass.take(room);
  return room.used();
}

template <class Pass>
std::size_t workspace_of(const Pass& pass) {
  const std::size_t bytes = bytes_of_thread(pass);
  return static_cast<std::size_t>(slots_for(pass.heads(), bytes)) * bytes;
}

/// Threads take head after head, each with its part of the workspace.
template <class Pass>
void run(const Pass& pass, std::span<std::byte> workspace) {
  if (pass.heads() == 0) return;
  const std::size_t bytes = bytes_of_thread(pass);
  const auto threads =
      bytes == 0 ? std::int64_t{1} : static_cast<std::int64_t>(workspace.size() / bytes);
  std::atomic<std::int64_t> next{0};
  parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread) {
      Room room(workspace.data() + static_cast<std::size_t>(thread) * bytes);
      const auto memory = pass.take(room);
      for (std::int64_t head = next++; head < pass.heads(); head = next++) pass.run(head, memory);
    }
  });
}

}  // namespace

void attention(const Attention& how, const View& q, const View& k, const View& v, const View& out,
               std::span<std::byte> workspace) {
  if (q.dtype == DType::float64) return run(Forward<double>(how, q, k, v, out), workspace);
  run(Forward<float>(how, q, k, v, out), workspace);
}
std::size_t attention_workspace(const Attention& how, const View& q, const View& k, const View& v,
                                const View& out) {
  if (q.dtype == DType::float64) return workspace_of(Forward<double>(how, q, k, v, out));
  return workspace_of(Forward<float>(how, q, k, v, out));
}

void attention_gradient(const Attention& how, const View& q, const View& k, const View& v,
                        const View& dout, const AttentionGradients& out,
                        std::span<std::byte> workspace) {
  if (q.dtype == DType::float64) return run(Backward<double>(how, q, k, v, dout, out), workspace);
  run(Backward<float>(how, q, k, v, dout, out), workspace);
}
std::size_t attention_gradient_workspace(const Attention& how, const View& q, const View& k,
                                         const View& v, const View& dout,
                                         const AttentionGradients& out) {
  if (q.dtype == DType::float64) return workspace_of(Backward<double>(how, q, k, v, dout, out));
  return workspace_of(Backward<float>(how, q, k, v, dout, out));
}

}  // namespace tenure::kernels
