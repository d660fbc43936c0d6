#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/cpu/linalg/rooms.h"
#include "tenure/kernels/view.h"
#include "tenure/ops/fft/transform.h"

// Note: how a Fourier transform is computed
//
// Real and imaginary parts lie in arrays of their own. A transform of n = r m points is r
// transforms of m points, by Stockham's order: each stage reads one pair of arrays and writes
// another, and what it writes lies in the order that the next one reads in vectors, so that no
// places are exchanged. A stage of radix r works on m pieces of s neighbours that share a factor; s
// begins with the number of lines that are transformed together, and grows by r with each stage.
// Points with a prime factor above kLargestRadix go by Bluestein's way: a convolution with a chirp,
// by transforms of a power of two. An inverse transform is one with real and imaginary parts
// exchanged.
//
// Everything is computed in the type of the call, in an order that depends on the points alone.
// Plans and sizes are in fft/plan.cpp.

namespace tenure::kernels::fft {

using linalg::Rooms;

inline constexpr std::int64_t kLargestRadix = 31;

/// The stages of a transform.
struct Plan {
  explicit Plan(std::int64_t points);

  std::int64_t points;
  std::int64_t length;  ///< of what is transformed: the points, or those of the convolution
  std::array<std::uint8_t, 48> radices{};
  int stages = 0;

  bool is_convolution() const { return length != points; }

 private:
  bool factorize(std::int64_t n);
};

/// One call on contiguous lines.
struct Job {
  Job(const ops::FftCall& made, DType type);

  ops::FftCall call;
  DType dtype;
  bool halves;            ///< an even number of real points, as half as many pairs
  Plan plan;              ///< of the pairs
  std::int64_t together;  ///< lines of one group
  std::int64_t blocks;    ///< groups of one outer index
  std::int64_t groups;

  /// What all groups read, once it is prepared.
  template <class T>
  struct Tables {
    T *roots_re, *roots_im;    ///< e^(-2 pi i k / length)
    T *turns_re, *turns_im;    ///< of halves: e^(-2 pi i k / points), up to a quarter of a turn
    T *chirp_re, *chirp_im;    ///< of a convolution: e^(-pi i k^2 / points)
    T *filter_re, *filter_im;  ///< the transform of its conjugate, divided by the length
    T* scratch;                ///< to prepare them in
    Tables(const Job& job, Rooms& rooms);
  };
  /// What a group is computed in.
  template <class T>
  struct Buffers {
    T *a_re, *a_im, *b_re, *b_im;
    T *line, *made;  ///< of real lines that do not lie in one piece
    Buffers(const Job& job, Rooms& rooms);
  };
  std::size_t table_bytes() const;
  std::size_t group_bytes() const;
  /// In multiplications, about.
  double work() const;
};

/// Computes all lines; the workspace has room for the tables, and as many groups as it may.
std::size_t workspace_bytes(const Job& job);
void transform(const Job& job, const void* in, void* out, std::span<std::byte> workspace);

}  // namespace tenure::kernels::fft
