#pragma once

#include "tests/cuda_emulator/mma.h"

// What kernels/cuda/device/wgmma.cuh has in PTX, for the emulator. A warp makes its own rows of the
// products, when it waits for them.

namespace tenure::kernels::cuda {

template <int n>
inline void settle(float (&)[n][4]) {}
template <int n>
inline void order_registers(float (&)[n][4]) {}
template <int n, int steps>
inline void order_registers(float (&)[n][4], unsigned (&)[steps][4]) {}

struct SharedMatrix {
  std::uint64_t place;

  explicit SharedMatrix(const void* at) : place(reinterpret_cast<std::uint64_t>(at)) {}
  SharedMatrix behind(unsigned bytes) const {
    return SharedMatrix(reinterpret_cast<const char*>(place) + bytes);
  }
};

/// Where tensor cores find an element of a matrix in rows of 128 bytes.
template <class T>
inline float element_of(std::uint64_t matrix, unsigned row, unsigned column) {
  const std::uint64_t at = matrix + 128 * row + 2 * column;
  return *reinterpret_cast<const T*>(at ^ (at >> 7 & 7) << 4);
}
/// The sums of this lane = or += its rows of the left matrix, in `left`, times the right one.
template <class T, bool by_rows>
__attribute__((optimize("O2"))) inline void add_products_of_rows(const EmulatedProducts& products,
                                                                 const float (&left)[2][16]) {
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned column = i / 4 * 8 + emulated_lane() % 4 * 2 + i % 2;
    float sum = products.is_sum ? products.sums[i] : 0;
    for (unsigned k = 0; k < 16; ++k) {
      sum += left[i % 4 / 2][k] * (by_rows ? element_of<T>(products.right, k, column)
                                           : element_of<T>(products.right, column, k));
    }
    products.sums[i] = sum;
  }
}
template <class T>
inline void make_products(const EmulatedProducts& products) {
  const unsigned row = emulated_thread_index.x / 32 % 4 * 16 + emulated_lane() / 4;
  float left[2][16];
  for (unsigned k = 0; k < 32; ++k) {
    left[k / 16][k % 16] = element_of<T>(products.left, row + k / 16 * 8, k % 16);
  }
  add_products_of_rows<T, false>(products, left);
}
template <class T>
inline void make_added_products(const EmulatedProducts& products) {
  const WarpsOperands<unsigned> parts(products.own_left);
  float left[2][16];
  for (unsigned k = 0; k < 32; ++k) {
    const unsigned word = parts.of[emulated_lane() / 4 * 4 + k % 8 / 2][k / 16 + k % 16 / 8 * 2];
    left[k / 16][k % 16] = T::from_bits(static_cast<std::uint16_t>(word >> 16 * (k % 2)));
  }
  add_products_of_rows<T, true>(products, left);
}
template <class T>
inline void begin_products(float (&sums)[8][4], SharedMatrix left, SharedMatrix right,
                           bool is_sum) {
  expect_multiple(reinterpret_cast<const void*>(left.place), 32);
  expect_multiple(reinterpret_cast<const void*>(right.place), 32);
  emulated_begin_products({.make = make_products<T>,
                           .sums = &sums[0][0],
                           .is_sum = is_sum,
                           .left = left.place,
                           .right = right.place});
}
template <class T>
inline void begin_added_products(float (&sums)[8][4], const unsigned (&left)[4],
                                 SharedMatrix right) {
  expect_multiple(reinterpret_cast<const void*>(right.place), 1024);
  emulated_begin_products({.make = make_added_products<T>,
                           .sums = &sums[0][0],
                           .is_sum = true,
                           .own_left = {left[0], left[1], left[2], left[3]},
                           .right = right.place});
}
inline void end_products() { emulated_end_products(); }
template <int others>
inline void wait_for_products() {
  emulated_wait_for_products(others);
}
inline void show_to_tensor_cores() {}

}  // namespace tenure::kernels::cuda
