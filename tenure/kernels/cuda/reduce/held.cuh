#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/device/vector.cuh"
#include "tenure/kernels/cuda/reduce/groups.cuh"
#include "tenure/kernels/cuda/reduce/held_arguments.h"

// Note: rows that are held
//
// A group of threads goes over a row, or a column, more than once. Each of its lanes has every so
// many strips of it, elements that follow each other and are read and written at once where they
// lie side by side. If a lane has few enough of them, it keeps them in registers: they are asked
// for together, before anything waits for one of them, and memory is read once. Which form rows
// have is decided by the host (RowForm); who has which elements, in which order, follows from sizes
// alone, so that results have the same bits in any layout. A kernel is a template in the form, of
// which each is compiled for itself: it has few registers where a lane keeps little, and few
// instructions, which have to be read as well.
//
//     template <RowForm form, class T>
//     void softmax(const SoftmaxArguments& a) { using S = StripsOf<form, T>; ... }
//
// An element is then known as At, and a HeldRow gives it from where it is.

namespace tenure::kernels::cuda {

/// Elements side by side.
template <class T, int n>
using Strip = Vector<T, n>;

/// Strips of `n` elements, of which a lane keeps `most`; 0: it keeps none. `warp`: all lanes of a
/// warp have so many.
template <int n, int most, bool packed = false, bool even = false, bool warp = false>
struct Strips {
  static constexpr bool kPacked = packed;  ///< elements of a strip lie side by side, on 16 bytes
  static constexpr bool kEven = even;      ///< all lanes have as many
  static constexpr bool kWarp = warp;
  static constexpr int kSize = n;
  static constexpr int kMost = most;
  static constexpr bool kHeld = most > 0;
  /// What is read from many places takes its time anyway: its code is short, and its elements are
  /// in what threads have of memory.
  static constexpr bool kUnrolled = kHeld && (packed || n == 1);
  static constexpr int kStripsUnrolled = kUnrolled ? most : 1;
  static constexpr int kElementsUnrolled = kUnrolled ? n : 1;
};

/// How many strips, or elements, a lane keeps of a form.
constexpr int kept_of(RowForm form, int all) {
  switch (form) {
    case kLoopedRows:
      return 0;
    case kSingleRows:
    case kStripRows:
      return 1;
    case kSinglesRows:
      return kHeldElements;
    default:
      return form > kScatteredRows ? form - kScatteredRows : all;
  }
}
/// The strips of a form.
template <RowForm form, class T>
using StripsOf = Strips<has_strips(form) ? strip_size(sizeof(T)) : 1,
                        kept_of(form, held_strips(sizeof(T))),
                        has_strips(form) && form != kScatteredRows,
                        form == kPackedRows || (form > kScatteredRows), (form > kScatteredRows)>;

/// The groups of a form, whose numbers are constants where that is what it is made for.
template <class S>
inline Groups groups_of(const Groups& groups) {
  return S::kWarp ? Groups{.lanes = kWarpLanes, .columns = 0} : groups;
}

/// An element of a row: its place in it, and among those that a lane keeps.
struct At {
  std::int64_t i;
  int kept;
};

template <class T>
class ReadRow;

/// What a thread has of a row. A group without a row takes part with another's, as what all threads
/// do alike costs least.
template <class S>
struct Lane {
  std::int64_t length;
  unsigned lanes;
  unsigned lane;

  Lane(std::int64_t elements, const Groups& groups, const Place& place)
      : length(S::kWarp ? kWarpLanes * S::kSize * S::kMost : elements),
        lanes(groups.lanes),
        lane(place.lane) {}

  /// Calls `f(i, s)` for each strip, the s-th of the lane, that begins with element i.
  template <class F>
  void strips(F f) const {
    if constexpr (S::kHeld) {
      const auto end = static_cast<unsigned>(length);
#pragma unroll S::kStripsUnrolled
      for (int s = 0; s < S::kMost; ++s) {
        const unsigned before = static_cast<unsigned>(s) * lanes * S::kSize;
        if (before >= end) break;
        const unsigned i = before + lane * S::kSize;
        if (S::kEven || i < end) f(static_cast<std::int64_t>(i), s);
      }
    } else {
      for (std::int64_t i = lane; i < length; i += lanes) f(i, 0);
    }
  }
  /// Calls `f(at)` for each element.
  template <class F>
  void elements(F f) const {
    strips([&](std::int64_t i, int s) {
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) f(At{i + e, s * S::kSize + e});
    });
  }
  /// The sum of `f(at, more...)` for all elements, with those of rows that are read by and by: of
  /// each strip first, so that strips need not wait for each other.
  template <class C, class F, class... More>
  C sum(F f, const ReadRow<More>&... more) const {
    C all{};
    strips([&](std::int64_t i, int s) {
      const auto add = [&](const auto&... read) {
        C part = f(At{i, s * S::kSize}, read.of[0]...);
#pragma unroll S::kElementsUnrolled
        for (int e = 1; e < S::kSize; ++e) {
          part = part + f(At{i + e, s * S::kSize + e}, read.of[e]...);
        }
        all = all + part;
      };
      add(more.template read<S>(i)...);
    });
    return all;
  }
};

/// Where element i of a walk lies that is not of one step: a function, as it is long.
__noinline__ inline std::int64_t far_offset(const Walk& walk, std::int64_t i) {
  return offset_in(walk, i);
}

/// A row of a matrix of T, or some numbers of which there may be none.
template <class T>
struct Row {
  using Element = T;
  T* data;
  const Walk& columns;

  Row(const MatrixView& matrix, std::int64_t row)
      : data(static_cast<T*>(matrix.data) + offset_in(matrix.rows, row)), columns(matrix.columns) {}
  explicit Row(const FlatView& numbers)
      : data(static_cast<T*>(numbers.data)), columns(numbers.walk) {}
  T& at(std::int64_t i) const {
    return data[columns.rank == 1 ? i * columns.strides[0] : far_offset(columns, i)];
  }
  Compute<T> operator[](std::int64_t i) const { return static_cast<Compute<T>>(at(i)); }
  void set(std::int64_t i, Compute<T> value) const { at(i) = convert<T>(value); }

  /// The strip that begins with element i.
  template <class S>
  Strip<T, S::kSize> read(std::int64_t i) const {
    if constexpr (S::kPacked) {
      return *reinterpret_cast<const Strip<T, S::kSize>*>(data + i);
    } else {
      Strip<T, S::kSize> strip;
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) strip.of[e] = at(i + e);
      return strip;
    }
  }
  template <class S>
  void write(std::int64_t i, const Strip<T, S::kSize>& strip) const {
    if constexpr (S::kPacked) {
      *reinterpret_cast<Strip<T, S::kSize>*>(data + i) = strip;
    } else {
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) at(i + e) = strip.of[e];
    }
  }
};

/// What a lane has of a row: read at once if it is held. Of a row without data each element is
/// `otherwise`.
template <class T, class S>
class HeldRow {
 public:
  using C = Compute<T>;

  HeldRow(const Row<T>& source, const Lane<S>& lane, C otherwise = 0)
      : source_(source), otherwise_(otherwise) {
    if constexpr (S::kHeld) {
      if (source.data == nullptr) {
        for (auto& strip : kept_) {
          for (T& one : strip.of) one = convert<T>(otherwise);
        }
      } else {
        lane.strips([&](std::int64_t i, int s) { kept_[s] = source.template read<S>(i); });
      }
    }
  }
  /// Of a row that is held: `read(i)` gives the strip that begins with element i.
  template <class Read>
  HeldRow(const Row<T>& source, const Lane<S>& lane, const Read& read)
      : source_(source), otherwise_(0) {
    lane.strips([&](std::int64_t i, int s) { kept_[s] = read(i); });
  }
  C operator[](At at) const {
    if constexpr (S::kHeld) {
      return static_cast<C>(kept_[at.kept / S::kSize].of[at.kept % S::kSize]);
    } else {
      return source_.data == nullptr ? otherwise_ : source_[at.i];
    }
  }

 private:
  const Row<T> source_;
  C otherwise_;
  Strip<T, S::kSize> kept_[S::kHeld ? S::kMost : 1];
};

/// A row of which strips are read when they are needed. Of a row without data each element is
/// `otherwise`.
template <class T>
class ReadRow {
 public:
  ReadRow(const Row<T>& source, Compute<T> otherwise) : source_(source), otherwise_(otherwise) {}

  template <class S>
  Strip<Compute<T>, S::kSize> read(std::int64_t i) const {
    Strip<Compute<T>, S::kSize> strip;
    if (source_.data == nullptr) {
      for (auto& one : strip.of) one = otherwise_;
    } else {
      const auto read = source_.template read<S>(i);
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) strip.of[e] = static_cast<Compute<T>>(read.of[e]);
    }
    return strip;
  }

 private:
  const Row<T> source_;
  Compute<T> otherwise_;
};

/// Writes `f(at, more...)`, rounded once, to each element of a row, with the elements of rows that
/// are read by and by.
template <class To, class S, class F, class... More>
inline void write_row(const To& to, const Lane<S>& lane, F f, const ReadRow<More>&... more) {
  using T = typename To::Element;
  lane.strips([&](std::int64_t i, int s) {
    const auto write = [&](const auto&... read) {
      Strip<T, S::kSize> strip;
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) {
        strip.of[e] = convert<T>(f(At{i + e, s * S::kSize + e}, read.of[e]...));
      }
      to.template write<S>(i, strip);
    };
    write(more.template read<S>(i)...);
  });
}

/// Two sums at once.
template <class C>
struct Pair {
  C first;
  C second;
  friend Pair operator+(const Pair& a, const Pair& b) {
    return {a.first + b.first, a.second + b.second};
  }
};

/// The sum of what the lanes of a group have.
template <class C>
inline C sum_of_lanes(C own, const Groups& groups) {
  return joined(own, groups, [](const C& a, const C& b) { return a + b; });
}
/// The larger one; no number wins.
template <class C>
inline C larger(C a, C b) {
  return a > b || a != a ? a : b;
}

/// The sum of exp(x - shift), where `shift` is the largest x.
template <class C>
struct Exponentials {
  C shift;
  double sum;
};
/// Of a group's elements. All threads of a block take part.
template <class T, class S>
inline Exponentials<Compute<T>> exponentials_of(const HeldRow<T, S>& x, const Lane<S>& lane,
                                                const Groups& groups) {
  using C = Compute<T>;
  ExpTotal<C> own = ExpTotal<C>::none();
  lane.elements([&](At at) {
    if constexpr (S::kHeld) {
      own.shift = larger(own.shift, x[at]);
    } else {
      own.add(x[at]);
    }
  });
  const C shift = joined(own.shift, groups, [](C a, C b) { return larger(a, b); });
  double sum = 0;
  if constexpr (S::kHeld) {
    lane.strips([&](std::int64_t i, int s) {
      C part = 0;
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) part += std::exp(x[At{i + e, s * S::kSize + e}] - shift);
      sum += static_cast<double>(part);
    });
  } else {
    sum = own.shift == shift ? own.sum : own.sum * static_cast<double>(std::exp(own.shift - shift));
    if (shift - shift != 0) sum = static_cast<double>(shift - shift);  // no number
  }
  return {shift, sum_of_lanes(sum, groups)};
}

}  // namespace tenure::kernels::cuda
