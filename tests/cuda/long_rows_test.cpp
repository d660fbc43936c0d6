#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/cuda/emulated.h"
#include "tests/support/make.h"
#include "tests/support/same_bits.h"

// What a GPU does in several blocks, which the harness's samples are too short for: it comes out as
// on the CPU, to the bit.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::expect_same_bits;
using test::make;

/// Numbers of which many are equal, with zeros of both signs and some that are none.
Tensor long_rows(DType type) {
  constexpr std::int64_t kRows = 2;
  constexpr std::int64_t kColumns = 5000;
  std::vector<float> values;
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    state = state * 1664525u + 1013904223u;
    const std::uint32_t draw = state >> 16;
    float value = static_cast<float>(draw % 2001) / 8 - 125;
    if (draw % 97 == 0) value = -0.0f;
    if (draw % 89 == 0) value = 0;
    if (draw % 83 == 0) value = std::numeric_limits<float>::quiet_NaN();
    values.push_back(value);
  }
  return cast(make<float>({kRows, kColumns}, values), type);
}

constexpr DType kSorted[] = {uint8, bfloat16, int32, float32, float64};

TEST(LongRows, AreSortedAsOnTheCpu) {
  for (const DType type : kSorted) {
    const Tensor here = long_rows(type);
    const Tensor there = copy_to(here, emulated_gpu());
    for (const bool is_descending : {false, true}) {
      expect_same_bits(sort(there, -1, is_descending), sort(here, -1, is_descending));
      expect_same_bits(argsort(there, -1, is_descending), argsort(here, -1, is_descending));
    }
    expect_same_bits(sort(transpose(there), 0), sort(transpose(here), 0));
    expect_same_bits(sort(clone(there)), sort(here));  // in place
    const TopK best = topk(there, 7);
    const TopK expected = topk(here, 7);
    expect_same_bits(best.values, expected.values);
    expect_same_bits(best.indices, expected.indices);
  }
}

TEST(LongRows, HaveTheDifferentElementsOfTheCpu) {
  for (const DType type : kSorted) {
    const Tensor here = long_rows(type);
    const Tensor there = copy_to(here, emulated_gpu());
    const Unique got = unique_all(there);
    const Unique expected = unique_all(here);
    expect_same_bits(got.values, expected.values);
    expect_same_bits(got.inverse, expected.inverse);
    expect_same_bits(got.counts, expected.counts);
    expect_same_bits(unique(transpose(there)), unique(transpose(here)));
  }
}

TEST(LongRows, AreSelectedAsOnTheCpu) {
  const Tensor here = long_rows(float32);
  const Tensor there = copy_to(here, emulated_gpu());
  expect_same_bits(nonzero(there), nonzero(here));
  expect_same_bits(mask_select(there, there > 3), mask_select(here, here > 3));
}

TEST(LongRows, AreAddedInTheOrderOfTheirPlaces) {
  // Sums of floats show in which order they were made.
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 5000; ++i) rows.push_back((i * i + 3 * i) % 41 - 20);
  const Tensor index_here = make<std::int64_t>({5000}, rows);
  const Tensor values_here = transpose(cast(long_rows(int32), float32)) * 0.1f;
  const Tensor x_here = zeros({41, 2});
  const Device gpu = emulated_gpu();
  const Tensor index_there = copy_to(index_here, gpu);
  const Tensor values_there = copy_to(values_here, gpu);
  const Tensor x_there = copy_to(x_here, gpu);
  const Tensor sum = index_add(x_there, {index_there}, values_there);
  expect_same_bits(sum, index_add(x_here, {index_here}, values_here));
  expect_same_bits(index_add(x_there, {index_there}, values_there), sum);
  expect_same_bits(index_update(x_there, {index_there}, values_there),
                   index_update(x_here, {index_here}, values_here));
}

TEST(LongRows, AreRefusedByTheFirstIndexOutside) {
  std::vector<std::int64_t> rows(5000, 1);
  rows[3000] = 9;
  rows[4000] = -7;
  const Device gpu = emulated_gpu();
  const Tensor x = copy_to(zeros({3, 2}), gpu);
  const Tensor indices = copy_to(make<std::int64_t>({5000}, rows), gpu);
  try {
    static_cast<void>(take(x, indices));
    ADD_FAILURE() << "it was taken";
  } catch (const IndexError& error) {
    EXPECT_NE(std::string(error.what()).find("index 9 is outside an axis of size 3"),
              std::string::npos)
        << error.what();
  }
}

TEST(LongRows, AreMultipliedInAnyLayout) {
  // Whole numbers: every order of their sums gives the same.
  const Tensor here = cast(long_rows(int32), float64);
  const Tensor there = copy_to(here, emulated_gpu());
  expect_same_bits(matmul(there, transpose(there)), matmul(here, transpose(here)));
  const Tensor few_here = reshape(here, {100, 100});
  const Tensor few_there = reshape(there, {100, 100});
  expect_same_bits(matmul(transpose(few_there), flip(few_there)),
                   matmul(transpose(few_here), flip(few_here)));
}

}  // namespace
}  // namespace tenure
