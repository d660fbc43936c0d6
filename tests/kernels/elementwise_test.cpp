#include <gtest/gtest.h>

#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tests/kernels/random_views.h"

namespace tenure::kernels {
namespace {

using test::expect_same_on_threads;
using test::make_dense;
using test::Owned;
using test::RandomViews;
using test::values_of;

/// a - 2b: not symmetric, exact for the small integers of the tests in every type.
void subtract_twice(const void* const* in, void* out, std::size_t n) {
  const auto* const a = static_cast<const float*>(in[0]);
  const auto* const b = static_cast<const float*>(in[1]);
  for (std::size_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = a[i] - 2 * b[i];
}
constexpr Elementwise kSubtractTwice{.body = subtract_twice,
                                     .in_types = {float32, float32, float32},
                                     .out_type = float32,
                                     .cost = 1};

std::vector<double> expected(const View& a, const View& b, const Shape& shape) {
  const auto read = [&](View view) {
    view.strides = broadcast_strides(view.shape, view.strides, shape);
    view.shape = shape;
    return values_of(view);
  };
  std::vector<double> result = read(a);
  const std::vector<double> other = read(b);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] -= 2 * other[i];
  return result;
}

/// Elements i % 17, contiguous.
Owned counting(DType dtype, const Shape& shape) {
  Owned view = make_dense(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    for (std::int64_t i = 0; i < view.count(); ++i) {
      view.as<T>()[i] = static_cast<T>(static_cast<float>(i % 17));
    }
  });
  return view;
}

TEST(Elementwise, ReadsAnyLayoutAndTypeAndBroadcasts) {
  RandomViews random(3);
  for (int round = 0; round < 400; ++round) {
    const Shape shape = random.shape(0, 4, 9);
    Shape smaller = shape;
    for (int i = 0; i < smaller.size(); ++i) {
      if (smaller[i] > 0 && random.chance(0.2)) smaller[i] = 1;
    }
    const Owned a = random.view(random.dtype(), shape);
    const Owned b = random.view(random.dtype(), smaller);
    const DType result = random.chance(0.5) ? float32 : random.chance(0.5) ? bfloat16 : int16;
    const Owned out = make_dense(result, shape);
    const View inputs[] = {a, b};
    run_elementwise(kSubtractTwice, inputs, out);
    ASSERT_EQ(values_of(out), expected(a, b, shape))
        << a.shape << a.strides << name_of(a.dtype) << b.shape << b.strides << name_of(b.dtype);
  }
}

TEST(Elementwise, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Shape shape{700, 311};
  const Owned a = counting(float32, shape);
  const Owned owner = counting(float16, {311, 700});
  View b = owner;
  std::swap(b.shape[0], b.shape[1]);
  std::swap(b.strides[0], b.strides[1]);
  const View inputs[] = {a, b};
  expect_same_on_threads([&] {
    const Owned out = make_dense(float32, shape);
    run_elementwise(kSubtractTwice, inputs, out);
    EXPECT_EQ(values_of(out), expected(a, b, shape));
    return out.bytes();
  });
}

TEST(Elementwise, StreamsLargeOutputs) {
  const std::int64_t n = static_cast<std::int64_t>(kStreamFrom / 4) + 1013;
  for (const DType result : {float32, float64}) {
    const Owned a = counting(float32, {n});
    const Owned b = counting(float32, {});
    b.as<float>()[0] = 3;
    const Owned out = make_dense(result, {n});
    const View inputs[] = {a, b};
    run_elementwise(kSubtractTwice, inputs, out);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at =
          static_cast<double>(result == float32 ? out.as<float>()[i] : out.as<double>()[i]);
      ASSERT_EQ(at, static_cast<double>(i % 17) - 6) << i;
    }
  }
}

TEST(Elementwise, ComputesInPlace) {
  for (const std::int64_t n : {1, 100, 5000, static_cast<int>(kStreamFrom / 4) + 5}) {
    for (const DType dtype : {float32, bfloat16, int32}) {
      for (const std::size_t target : {0u, 1u}) {
        const Owned a = counting(dtype, {n});
        const Owned b = counting(dtype, {n});
        const View inputs[] = {a, b};
        run_elementwise(kSubtractTwice, inputs, inputs[target]);
        visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
          for (std::int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(static_cast<float>(inputs[target].as<T>()[i]), static_cast<float>(-(i % 17)));
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace tenure::kernels
