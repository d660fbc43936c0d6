#include "tenure/data/idx.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/region.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

namespace tenure::data {
namespace {

using test::expect_elements;
using test::expect_throws;
using test::Scratch;

/// An IDX file: two zeros, type, sizes in four bytes each, elements.
std::string idx(char type, const std::vector<unsigned>& sizes, const std::string& elements) {
  std::string bytes = {'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const unsigned size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
  }
  return bytes + elements;
}

/// What gzip makes of idx(8, {2, 3}, "abcdef").
std::string gzipped() {
  return {
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x63\x60\xe0\x60\x62\x60\x60\x00\x61\xe6\xc4\xa4\xe4"
      "\x94\xd4\x34\x00\x83\xda\x46\x2f\x12\x00\x00\x00",
      35};
}

void refused(const std::string& content, const std::vector<std::string>& parts,
             Site site = Site::current()) {
  const Scratch scratch;
  const MemoryRegion region;
  expect_throws<FormatError>([&] { read_idx(scratch.file("a", content)); }, parts, site);
  EXPECT_EQ(region.left_bytes(), 0);
}

TEST(Idx, EveryType) {
  const Scratch scratch;
  const auto read = [&](const std::string& content) {
    return read_idx(scratch.file("a", content));
  };
  expect_elements<std::uint8_t>(read(idx(0x08, {2, 2}, "\1\2\3\xff")), {2, 2}, {1, 2, 3, 255});
  expect_elements<std::int8_t>(read(idx(0x09, {1}, "\xff")), {1}, {-1});
  expect_elements<std::int16_t>(read(idx(0x0b, {2}, {"\1\0\xff\xfe", 4})), {2}, {256, -2});
  expect_elements<std::int32_t>(read(idx(0x0c, {1}, {"\0\0\1\2", 4})), {1}, {258});
  expect_elements<float>(read(idx(0x0d, {1}, {"\x3f\xc0\0\0", 4})), {1}, {1.5});
  expect_elements<double>(read(idx(0x0e, {}, {"\xbf\xf8\0\0\0\0\0\0", 8})), {}, {-1.5});
  EXPECT_EQ(read(idx(0x08, {0, 28}, "")).shape(), Shape({0, 28}));
}

TEST(Idx, Compressed) {
  const Scratch scratch;
  const Tensor x = read_idx(scratch.file("a.gz", gzipped()));
  expect_elements<std::uint8_t>(x, {2, 3}, {'a', 'b', 'c', 'd', 'e', 'f'});
  EXPECT_EQ(x.op(), "read_idx");
  EXPECT_EQ(memory()[Category::workspace].bytes, 0);
}

TEST(Idx, DamagedAndHostileFiles) {
  refused("", {"within the first bytes"});
  refused("PNG!", {"byte 0: this is no IDX file"});
  refused(idx(0x07, {1}, "a"), {"byte 2: IDX has no element type 0x07"});
  refused(idx(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "a"), {"9 axes are more than 8"});
  refused(idx(0x08, {3}, "ab"), {"uint8[3] needs 3 bytes, and at most 2 can follow"});
  refused(idx(0x08, {1}, "ab"), {"has bytes after its end"});
  refused(idx(0x08, {2}, "ab").substr(0, 6), {"within the shape"});
  refused(idx(0x0e, {~0u, ~0u, ~0u}, "ab"), {"byte 16", "4294967295"});
  refused(idx(0x08, {~0u}, "ab"), {"needs 4294967295 bytes, and at most 2"});
  for (std::size_t size = 3; size < gzipped().size(); ++size) {
    refused(gzipped().substr(0, size), {"\"", "byte"});
  }
  std::string damaged = gzipped();
  damaged[damaged.size() - 7] ^= 1;
  refused(damaged, {"the compressed data is damaged: incorrect data check"});
  refused(gzipped() + "x", {"byte"});
}

/// A folder with a small set in MNIST's form.
void write_set(const Scratch& scratch, const std::string& labels = {"\0\11\5", 3}) {
  scratch.file("train-images-idx3-ubyte", idx(0x08, {3, 28, 28}, std::string(3 * 784, '\7')));
  scratch.file("train-labels-idx1-ubyte", idx(0x08, {3}, labels));
  scratch.file("t10k-images-idx3-ubyte", idx(0x08, {1, 28, 28}, std::string(784, '\1')));
  scratch.file("t10k-labels-idx1-ubyte", idx(0x08, {1}, "\3"));
}

TEST(Mnist, IsReadFromItsFolder) {
  const Scratch scratch;
  EXPECT_FALSE(has_mnist(scratch / ""));
  expect_throws<FileError>([&] { mnist(scratch / ""); },
                           {"cannot open", "train-images-idx3-ubyte"});
  write_set(scratch);
  EXPECT_TRUE(has_mnist(scratch / ""));
  const Split set = mnist(scratch / "");
  EXPECT_EQ(set.train.size(), 3);
  EXPECT_EQ(set.test.size(), 1);
  const Batch element = set.train.at(1);
  expect_elements<std::uint8_t>(element[0], {28, 28}, std::vector<std::uint8_t>(784, 7));
  expect_elements<std::int64_t>(element[1], {}, {9});
  expect_elements<std::int64_t>(set.test.at(0)[1], {}, {3});
}

TEST(Mnist, FilesThatAreSomethingElse) {
  const Scratch scratch;
  write_set(scratch, {"\0\12\5", 3});
  expect_throws<FormatError>([&] { mnist(scratch / ""); },
                             {"labels", "byte 9: a label is 10, no digit"});
  write_set(scratch, "\1\2");
  EXPECT_THROW(mnist(scratch / ""), FormatError);
  write_set(scratch);
  scratch.file("train-labels-idx1-ubyte", idx(0x08, {2}, "\1\2"));
  expect_throws<FormatError>([&] { mnist(scratch / ""); },
                             {"3 labels in one byte each are expected"});
  scratch.file("train-images-idx3-ubyte", idx(0x08, {3, 28}, std::string(84, '\1')));
  expect_throws<FormatError>([&] { mnist(scratch / ""); }, {"images of 28 x 28", "uint8[3, 28]"});
}

TEST(Digits, AreTheSameForTheSameSeed) {
  const Dataset a = digits(50, 1);
  const Dataset b = digits(20, 1);
  EXPECT_EQ(a.size(), 50);
  for (std::int64_t i = 0; i < 20; ++i) {
    const Batch x = a.at(i);
    const Batch y = b.at(i);
    EXPECT_EQ(x[0].to_vector<int>(), y[0].to_vector<int>());
    EXPECT_EQ(x[1].item<int>(), y[1].item<int>());
  }
  EXPECT_NE(a.at(0)[0].to_vector<int>(), digits(1, 2).at(0)[0].to_vector<int>());
  EXPECT_EQ(digits(0, 1).size(), 0);
  EXPECT_THROW(digits(-1, 1), ValueError);
}

TEST(Digits, AreDrawnWithinTheImageAndAllTen) {
  const Dataset set = digits(1000, 3);
  std::vector<int> times(10);
  for (const Batch& element : set) {
    ++times[static_cast<std::size_t>(element[1].item<std::int64_t>())];
    const std::vector<int> pixels = element[0].to_vector<int>();
    int ink = 0;
    int border = 0;
    for (std::size_t i = 0; i < 784; ++i) {
      ink += pixels[i] > 127 ? 1 : 0;
      const std::size_t x = i % 28;
      const std::size_t y = i / 28;
      if (x == 0 || y == 0 || x == 27 || y == 27) border = std::max(border, pixels[i]);
    }
    ASSERT_GE(ink, 15);
    ASSERT_LT(ink, 300);
    ASSERT_LT(border, 128);
  }
  for (const int count : times) EXPECT_NEAR(count, 100, 50);
}

/// Labels by the nearest of the mean images of a thousand others: far better than chance, as the
/// classes differ, and far from perfect, as the images of one do too.
TEST(Digits, CanBeLearned) {
  const auto pixels = [](const Batch& batch) { return cast(flatten(batch[0], 1), float32); };
  const Batch known = digits(1000, 5).batch(1000).at(0);
  const std::vector<float> images = pixels(known).to_vector<float>();
  const std::vector<std::int64_t> labels = known[1].to_vector<std::int64_t>();
  std::vector<std::vector<double>> means(10, std::vector<double>(784));
  std::vector<int> times(10);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    ++times[label];
    for (std::size_t j = 0; j < 784; ++j) means[label][j] += images[i * 784 + j];
  }
  const Batch others = digits(500, 6).batch(500).at(0);
  const std::vector<float> asked = pixels(others).to_vector<float>();
  const std::vector<std::int64_t> truth = others[1].to_vector<std::int64_t>();
  int right = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    std::size_t best = 0;
    double nearest = 1e30;
    for (std::size_t label = 0; label < 10; ++label) {
      double distance = 0;
      for (std::size_t j = 0; j < 784; ++j) {
        const double d = means[label][j] / times[label] - asked[i * 784 + j];
        distance += d * d;
      }
      if (distance < nearest) best = label;
      nearest = std::min(nearest, distance);
    }
    right += static_cast<std::int64_t>(best) == truth[i] ? 1 : 0;
  }
  EXPECT_GT(right, 300);
  EXPECT_LT(right, 490);
}

}  // namespace
}  // namespace tenure::data
