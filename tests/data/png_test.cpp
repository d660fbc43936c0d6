#include "tenure/data/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "tenure/base/error.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/region.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tests/io/bytes.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/scratch.h"

namespace tenure::data {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::make;
using test::read_file;
using test::Scratch;

/// One row: red, blue, red, by a palette.
std::string palette() {
  return test::from_hex(
      "89504e470d0a1a0a0000000d49484452000000030000000108030000002c3ee48600000006504c5445ff"
      "00000000ff6ca1fd8e0000000c4944415478da63606064000000060002a6284a3e0000000049454e44ae"
      "426082");
}
/// One row of two bits each: 0, 1, 2, 3.
std::string two_bits() {
  return test::from_hex(
      "89504e470d0a1a0a0000000d494844520000000400000001020000000096e748b00000000a4944415478"
      "da63900600001d001c237c8fac0000000049454e44ae426082");
}
/// One row: 0 and half of the highest.
std::string sixteen_bits() {
  return test::from_hex(
      "89504e470d0a1a0a0000000d494844520000000200000001100000000081d9fc150000000d4944415478"
      "da6360606868000001850101da304f260000000049454e44ae426082");
}
/// 0 to 8 in rows of three, in seven passes.
std::string interlaced() {
  return test::from_hex(
      "89504e470d0a1a0a0000000d49484452000000030000000308000000010444daf5000000174944415478"
      "da636060606260e36060646067606661050000eb002542c881220000000049454e44ae426082");
}
/// A million rows of a million pixels.
std::string bomb() {
  return test::from_hex(
      "89504e470d0a1a0a0000000d49484452000f4240000f42400802000000d30faf2a0000000b4944415478"
      "da6360800100000a0001ec2403b90000000049454e44ae426082");
}
void refused(const std::string& content, const std::vector<std::string>& parts,
             const PngOptions& options = {}, Site site = Site::current()) {
  const Scratch scratch;
  const MemoryStats before = memory();
  expect_throws<FormatError>([&] { read_png(scratch.file("a.png", content), options); }, parts,
                             site);
  EXPECT_EQ(memory().bytes, before.bytes);
}

TEST(Png, ComesBack) {
  const Scratch scratch;
  for (const int channels : {1, 3, 4}) {
    const Tensor image = counting<std::uint8_t>({5, 4, channels});
    write_png(scratch / "a.png", image);
    const Tensor back = read_png(scratch / "a.png", {.channels = channels});
    expect_elements(back, image.shape(), image.to_vector<std::uint8_t>());
    EXPECT_EQ(back.op(), "read_png");
  }
  write_png(scratch / "a.png", transpose(counting<std::uint8_t>({2, 3})));
  expect_elements<std::uint8_t>(read_png(scratch / "a.png", {.channels = 1}), {3, 2, 1},
                                {0, 3, 1, 4, 2, 5});
}

TEST(Png, ChannelsAreConverted) {
  const Scratch scratch;
  write_png(scratch / "grey.png", make<std::uint8_t>({1, 2}, {9, 200}));
  expect_elements<std::uint8_t>(read_png(scratch / "grey.png"), {1, 2, 3},
                                {9, 9, 9, 200, 200, 200});
  expect_elements<std::uint8_t>(read_png(scratch / "grey.png", {.channels = 4}), {1, 2, 4},
                                {9, 9, 9, 255, 200, 200, 200, 255});
  write_png(scratch / "color.png", make<std::uint8_t>({1, 2, 4}, {7, 7, 7, 0, 255, 255, 255, 100}));
  expect_elements<std::uint8_t>(read_png(scratch / "color.png", {.channels = 1}), {1, 2, 1},
                                {7, 255});
  expect_elements<std::uint8_t>(read_png(scratch / "color.png"), {1, 2, 3},
                                {7, 7, 7, 255, 255, 255});
}

TEST(Png, OtherKindsOfFiles) {
  const Scratch scratch;
  expect_elements<std::uint8_t>(read_png(scratch.file("a", palette())), {1, 3, 3},
                                {255, 0, 0, 0, 0, 255, 255, 0, 0});
  expect_elements<std::uint8_t>(read_png(scratch.file("a", two_bits()), {.channels = 1}), {1, 4, 1},
                                {0, 85, 170, 255});
  expect_elements<std::uint8_t>(read_png(scratch.file("a", sixteen_bits()), {.channels = 1}),
                                {1, 2, 1}, {0, 128});
  expect_elements<std::uint8_t>(read_png(scratch.file("a", interlaced()), {.channels = 1}),
                                {3, 3, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Png, DamagedAndHostileFiles) {
  const std::string good = two_bits();
  refused("", {"a.png\", byte 0: the file ends"});
  refused("no image at all", {"this is no valid PNG image: Not a PNG file"});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Scratch scratch;
    EXPECT_THROW(read_png(scratch.file("a.png", good.substr(0, size))), FormatError) << size;
  }
  std::string damaged = good;
  damaged[20] ^= 1;
  refused(damaged, {"CRC error"});
  refused(bomb(),
          {"byte 16: the image claims 1000000 x 1000000 pixels; at most 67108864 are read"});
  refused(good, {"claims 4 x 1 pixels; at most 3"}, {.max_pixels = 3});
  const Scratch scratch;
  EXPECT_THROW(read_png(scratch.file("a", good), {.channels = 2}), ValueError);
  EXPECT_THROW(read_png(scratch / "none.png"), FileError);
}

/// A piece of a PNG file.
std::string chunk(const std::string& kind, const std::string& content) {
  const auto big_endian = [](std::uint64_t value) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  };
  const std::string checked = kind + content;
  return big_endian(content.size()) + checked +
         big_endian(crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                          static_cast<uInt>(checked.size())));
}

TEST(Png, TextsThatGrowAThousandfoldAreNotRead) {
  const std::string text(4 << 20, 'x');
  std::string packed(compressBound(text.size()), '\0');
  uLongf length = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &length,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  packed.resize(length);
  const std::string good = two_bits();
  constexpr std::size_t kAfterSize = 8 + 25;  // signature and IHDR
  std::string texts;
  for (int i = 0; i < 50; ++i) {
    texts += chunk("zTXt", std::string("a\0\0", 3) + packed);
    texts += chunk("iTXt", std::string("a\0\1\0\0\0", 6) + packed);
    texts += chunk("iCCP", std::string("a\0\0", 3) + packed);
    texts += chunk("teNu", packed);  // nobody knows this one
  }
  const std::string file = good.substr(0, kAfterSize) + texts + good.substr(kAfterSize);
  const Scratch scratch;
  reset_peak();
  const std::int64_t before = memory().bytes;
  expect_elements<std::uint8_t>(read_png(scratch.file("a", file), {.channels = 1}), {1, 4, 1},
                                {0, 85, 170, 255});
  EXPECT_LT(memory().peak - before, 1 << 20);
}

TEST(Png, WhatIsNoImage) {
  const Scratch scratch;
  EXPECT_THROW(write_png(scratch / "a.png", zeros({2, 2})), DTypeError);
  expect_throws<ShapeError>(
      [&] {
        write_png(scratch / "a.png", zeros({2, 2, 2}, uint8));
      },
      {"[2, 2, 2] is no image"});
  EXPECT_THROW(write_png(scratch / "a.png", zeros({4}, uint8)), ShapeError);
  EXPECT_THROW(write_png(scratch / "a.png", zeros({0, 4}, uint8)), ShapeError);
  EXPECT_THROW(write_png(scratch / "none/a.png", zeros({2, 2}, uint8)), FileError);
  EXPECT_EQ(scratch.size(), 0);
}

TEST(Png, TheLibrarysMemoryIsInTheLedgerAndInTheBudget) {
  const Scratch scratch;
  write_png(scratch / "a.png", counting<std::uint8_t>({5, 4}));
  reset_peak();
  read_png(scratch / "a.png");
  EXPECT_GT(memory()[Category::workspace].peak, 5000);
  EXPECT_EQ(memory()[Category::workspace].bytes, 0);
  const Budget budget("small", 5000);
  EXPECT_THROW(read_png(scratch / "a.png"), OutOfMemory);
  EXPECT_THROW(write_png(scratch / "b.png", counting<std::uint8_t>({5, 4})), OutOfMemory);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(scratch.size(), 1);
}

TEST(ImageFolder, HasAClassForEachFolder) {
  const Scratch scratch;
  for (const char* const name : {"dogs/2.png", "dogs/1.PNG", "cats/a.png"}) {
    std::filesystem::create_directories(std::filesystem::path(scratch / name).parent_path());
    write_png(scratch / name, full({2, 2}, name[5] - '0', uint8));
  }
  scratch.file("dogs/readme.txt", "no image");
  scratch.file("notes.txt", "no folder");
  std::filesystem::create_directories(scratch / "empty");
  const ImageFolder folder = image_folder(scratch / "", {.channels = 1});
  EXPECT_EQ(folder.classes, (std::vector<std::string>{"cats", "dogs", "empty"}));
  ASSERT_EQ(folder.dataset.size(), 3);
  EXPECT_EQ(folder.dataset.at(0)[1].item<int>(), 0);
  const Batch dog = folder.dataset.at(1);
  EXPECT_EQ(dog[1].item<int>(), 1);
  expect_elements<std::uint8_t>(dog[0], {2, 2, 1}, {1, 1, 1, 1});
  EXPECT_EQ(folder.dataset.batch(3).at(0)[0].shape(), Shape({3, 2, 2, 1}));

  scratch.file("cats/a.png", "broken");
  expect_throws<FormatError>([&] { folder.dataset.at(0); }, {"cats/a.png"});
  write_png(scratch / "cats/a.png", zeros({3, 2}, uint8));
  EXPECT_THROW(folder.dataset.batch(3).at(0), ShapeError);
}

TEST(ImageFolder, WithoutImages) {
  const Scratch scratch;
  expect_throws<ValueError>([&] { image_folder(scratch / ""); }, {"has a .png file"});
  expect_throws<FileError>([&] { image_folder(scratch / "none"); }, {"cannot list"});
}

}  // namespace
}  // namespace tenure::data
