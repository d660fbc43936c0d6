#pragma once

#include <cmath>
#include <cstring>

#include "tenure/tensor/half.h"

// What kernels/cuda/device/mma.cuh has in PTX, for the emulator: lanes show each other where their
// operands are.

namespace tenure::kernels::cuda {

/// The addresses that the lanes of a warp brought. Nobody changes what is there until all have
/// met again.
template <class X>
struct WarpsOperands {
  explicit WarpsOperands(const X* own) {
    const std::uint64_t* const all =
        emulated_warp_exchange(0xffffffffu, reinterpret_cast<std::uint64_t>(own));
    for (int i = 0; i < 32; ++i) of[i] = reinterpret_cast<const X*>(all[i]);
  }
  ~WarpsOperands() { emulated_warp_exchange(0xffffffffu, 0); }

  const X* of[32];
};

inline unsigned pair_of_words(std::uint16_t first, std::uint16_t second) {
  return first | static_cast<unsigned>(second) << 16;
}
/// What instructions ask of an address.
inline void expect_multiple(const void* address, unsigned bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    emulated_fault("an address is no multiple of what an instruction reads or writes");
  }
}

inline void load_matrices(unsigned (&to)[4], const void* row) {
  expect_multiple(row, 16);
  const WarpsOperands<std::uint16_t> rows(static_cast<const std::uint16_t*>(row));
  const unsigned lane = emulated_lane();
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint16_t* const own = rows.of[8 * i + lane / 4] + lane % 4 * 2;
    to[i] = pair_of_words(own[0], own[1]);
  }
}
inline void load_transposed(unsigned (&to)[4], const void* row) {
  expect_multiple(row, 16);
  const WarpsOperands<std::uint16_t> rows(static_cast<const std::uint16_t*>(row));
  const unsigned lane = emulated_lane();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned first = 8 * i + lane % 4 * 2;
    to[i] = pair_of_words(rows.of[first][lane / 4], rows.of[first + 1][lane / 4]);
  }
}

/// What a lane brings to a product, of the left matrix and of the right one.
struct LanesPart {
  float a[8];
  float b[4];
};
/// Element i % 4 of this lane's sums is of row lane / 4 + i / 2 * 8, column lane % 4 * 2 + i % 2.
__attribute__((optimize("O2"))) inline void add_products(float* sums, const LanesPart* const* parts,
                                                         unsigned lane) {
  for (unsigned i = 0; i < 4; ++i) {
    const LanesPart* const* const left = parts + lane / 4 * 4;
    const LanesPart* const* const right = parts + (lane % 4 * 2 + i % 2) * 4;
    for (unsigned k = 0; k < 16; ++k) {
      sums[i] += left[k % 8 / 2]->a[i / 2 * 2 + k / 8 * 4 + k % 2] *
                 right[k % 8 / 2]->b[k / 8 * 2 + k % 2];
    }
  }
}
template <class T>
inline void multiply_matrices(float (&sums)[4], const unsigned (&a)[4], unsigned b_upper,
                              unsigned b_lower) {
  LanesPart own;
  for (unsigned i = 0; i < 8; ++i) {
    own.a[i] = T::from_bits(static_cast<std::uint16_t>(a[i / 2] >> 16 * (i % 2)));
  }
  for (unsigned i = 0; i < 4; ++i) {
    own.b[i] =
        T::from_bits(static_cast<std::uint16_t>((i < 2 ? b_upper : b_lower) >> 16 * (i % 2)));
  }
  const WarpsOperands<LanesPart> parts(&own);
  add_products(sums, parts.of, emulated_lane());
}

template <class T>
inline unsigned packed(float first, float second) {
  return pair_of_words(T(first).bits, T(second).bits);
}
inline float fast_exp2(float x) { return std::exp2(x); }
inline void begin_copy_of_part(void* to, const void* from, unsigned bytes) {
  expect_multiple(to, 16);
  expect_multiple(from, 16);
  emulated_begin_copy(to, from, bytes, 16);
}
inline void begin_copy(void* to, const void* from) { begin_copy_of_part(to, from, 16); }
inline void begin_copy_of_word(void* to, const void* from, bool is_there) {
  expect_multiple(to, 4);
  expect_multiple(from, 4);
  emulated_begin_copy(to, from, is_there ? 4 : 0, 4);
}
inline void end_copies() { emulated_end_copies(); }
template <int others>
inline void wait_for_copies() {
  emulated_wait_for_copies(others);
}

}  // namespace tenure::kernels::cuda
