#include "tenure/kernels/cpu/move/copy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/cpu/move/tile_reader.h"
#include "tests/kernels/random_views.h"

namespace tenure::kernels {
namespace {

using test::expect_same_on_threads;
using test::for_each;
using test::make_dense;
using test::Owned;
using test::RandomViews;
using test::values_of;

/// The bytes of `view`'s memory that are not its elements.
std::vector<std::byte> gaps_of(const Owned& view) {
  std::vector<std::byte> bytes = view.bytes();
  const std::size_t size = size_of(view.dtype);
  for_each(view.shape, [&](const test::Coordinates& at) {
    const auto* const element =
        view.as<std::byte>() + test::offset_of(view, at) * static_cast<std::int64_t>(size);
    std::fill_n(bytes.begin() + (element - view.memory->data()), size, std::byte{0});
  });
  return bytes;
}

TEST(Copy, MovesAnyLayoutToAnyOther) {
  RandomViews random(1);
  for (int round = 0; round < 600; ++round) {
    const DType dtype = random.dtype();
    const Shape shape = random.shape(0, 5, 9);
    const Owned in = random.view(dtype, shape);
    const Owned out = random.layout(dtype, shape, false);
    const std::vector<std::byte> gaps = gaps_of(out);
    copy(in, out);
    ASSERT_EQ(values_of(out), values_of(in)) << shape << in.strides << out.strides;
    ASSERT_EQ(gaps_of(out), gaps) << "wrote between the elements of " << shape << out.strides;
  }
}

TEST(Copy, TransposesLargeMatrices) {
  for (const DType dtype : {uint8, int16, float32, float64}) {
    for (const Shape& shape : {Shape{513, 700}, Shape{3, 129, 257}, Shape{8, 3000}}) {
      Owned in = make_dense(dtype, shape);
      for (std::size_t i = 0; i < in.memory->size(); ++i) {
        (*in.memory)[i] = static_cast<std::byte>(i * 131 % 113);
      }
      View transposed = in;
      const int last = shape.size() - 1;
      std::swap(transposed.shape[last], transposed.shape[last - 1]);
      std::swap(transposed.strides[last], transposed.strides[last - 1]);
      const Owned out = make_dense(dtype, transposed.shape);
      expect_same_on_threads([&] {
        std::fill(out.memory->begin(), out.memory->end(), std::byte{0});
        copy(transposed, out);
        return out.bytes();
      });
      ASSERT_EQ(values_of(out), values_of(transposed)) << shape;
    }
  }
}

TEST(Copy, StreamsLargeBlocksFromAndToAnyAddress) {
  const std::size_t n = kStreamFrom + 12345;
  std::vector<std::uint8_t> from(n + 64);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  for (const std::size_t in_offset : {0, 3}) {
    for (const std::size_t out_offset : {0, 1, 17}) {
      std::vector<std::uint8_t> to(n + 64, 0xee);
      const Shape shape{static_cast<std::int64_t>(n)};
      copy({.dtype = uint8, .shape = shape, .strides = {1}, .data = from.data() + in_offset},
           {.dtype = uint8, .shape = shape, .strides = {1}, .data = to.data() + out_offset});
      ASSERT_TRUE(std::equal(to.begin() + static_cast<std::ptrdiff_t>(out_offset),
                             to.begin() + static_cast<std::ptrdiff_t>(out_offset + n),
                             from.begin() + static_cast<std::ptrdiff_t>(in_offset)));
      ASSERT_EQ(std::count(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(out_offset), 0xee),
                static_cast<std::ptrdiff_t>(out_offset));
      ASSERT_EQ(to[out_offset + n], 0xee);
    }
  }
}

TEST(Fill, WritesEveryElement) {
  for (const DType dtype : {uint8, float16, int32, float64}) {
    for (const std::int64_t n : {0, 1, 1000, 300000}) {
      const Owned out = make_dense(dtype, {n});
      const Owned value = make_dense(dtype, {});
      test::set(value, {}, 42);
      fill(out, value.data);
      for (const double got : values_of(out)) ASSERT_EQ(got, 42);
    }
  }
}

TEST(TileReader, HandsOutAnyLayoutInPiecesOfAnyLength) {
  RandomViews random(2);
  for (int round = 0; round < 400; ++round) {
    const DType dtype = random.dtype();
    const Shape shape = random.shape(0, 4, 7, false);
    // Some dimensions of the view are missing or of size one: they repeat.
    Shape own = shape;
    for (int i = 0; i < own.size(); ++i) {
      if (random.chance(0.2)) own[i] = 1;
    }
    while (!own.empty() && random.chance(0.2)) own.erase(0);
    const Owned view = random.view(dtype, own);
    View broadcast = view;
    broadcast.shape = shape;
    broadcast.strides = broadcast_strides(own, view.strides, shape);
    const std::vector<double> expected = values_of(broadcast);

    TileReader reader(view, shape);
    const std::int64_t n = count(shape);
    std::int64_t at = random.integer(0, n - 1);
    reader.seek(at);
    while (at < n) {
      const std::int64_t piece = std::min(n - at, random.integer(1, 20));
      const Owned tile = make_dense(dtype, {piece});
      reader.read(tile.data, static_cast<std::size_t>(piece));
      const std::vector<double> got = values_of(tile);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + at))
          << own << view.strides << " as " << shape << " from " << at;
      at += piece;
    }
  }
}

TEST(TileReader, KnowsItsLayout) {
  std::vector<float> data(12);
  const auto layout = [&](const Shape& shape, const Strides& strides, const Shape& to) {
    return TileReader({.dtype = float32, .shape = shape, .strides = strides, .data = data.data()},
                      to)
        .layout();
  };
  EXPECT_EQ(layout({3, 4}, {4, 1}, {3, 4}), TileReader::Layout::contiguous);
  EXPECT_EQ(layout({3, 1, 4}, {4, 77, 1}, {3, 1, 4}), TileReader::Layout::contiguous);
  EXPECT_EQ(layout({}, {}, {3, 4}), TileReader::Layout::repeated);
  EXPECT_EQ(layout({1, 1}, {5, 5}, {3, 4}), TileReader::Layout::repeated);
  EXPECT_EQ(layout({4}, {1}, {3, 4}), TileReader::Layout::strided);
  EXPECT_EQ(layout({4, 3}, {1, 4}, {4, 3}), TileReader::Layout::strided);
}

}  // namespace
}  // namespace tenure::kernels
