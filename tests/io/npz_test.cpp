#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/io/npy.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/region.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tests/io/bytes.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/scratch.h"

namespace tenure {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::read_file;
using test::Scratch;

/// numpy.savez_compressed(x=[[1, 2], [3, 4]] of int32, y=[1.5, -2] of float16).
const std::string& written_by_numpy() {
  static const std::string bytes = test::from_hex(
      "504b0304140000000800000021007bc8617c520000009000000005001400782e6e7079010010009000000000"
      "00000052000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a2aea3a09e965f5452"
      "9498179f5f94920a12774bcc294e058a17672416a402f91a463a0a469a3a0ab50a64032e4606060626206606"
      "6216200600504b030414000000080000002100b3c1820c480000008400000005001400792e6e707901001000"
      "840000000000000048000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a0"
      "9e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14002e063b860300"
      "504b01021403140000000800000021007bc8617c520000009000000005000000000000000000000080010000"
      "0000782e6e7079504b0102140314000000080000002100b3c1820c4800000084000000050000000000000000"
      "000000800189000000792e6e7079504b0506000000000200020066000000080100000000");
  return bytes;
}
// Where in it things stand.
constexpr std::size_t kFirstContent = 0x37;
constexpr std::size_t kFirstListed = 0x108;
constexpr std::size_t kSecondListed = kFirstListed + 46 + 5;

NamedTensors loaded(const std::string& content) {
  const Scratch scratch;
  return load_npz(scratch.file("a.npz", content));
}
void refused(const std::string& content, const std::vector<std::string>& parts,
             Site site = Site::current()) {
  const MemoryRegion region;
  expect_throws<FormatError>([&] { loaded(content); }, parts, site);
  EXPECT_EQ(region.left_bytes(), 0);
}
/// The archive with other bytes in one place.
std::string patched(std::size_t at, std::string_view bytes) {
  std::string content = written_by_numpy();
  return content.replace(at, bytes.size(), bytes);
}

TEST(Npz, ReadsWhatNumPyWrote) {
  const NamedTensors tensors = loaded(written_by_numpy());
  ASSERT_EQ(tensors.size(), 2u);
  expect_elements<std::int32_t>(tensors.at("x"), {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensors.at("y").dtype(), float16);
  EXPECT_EQ(tensors.at("y").to_vector<float>(), (std::vector<float>{1.5, -2}));
  EXPECT_EQ(tensors.at("x").op(), "load_npz");
}

TEST(Npz, ComesBackStoredAndDeflated) {
  const Scratch scratch;
  const NamedTensors tensors = {{"layer/weight", counting<float>({300, 200})},
                                {"f", transpose(counting<double>({3, 4}))},
                                {"", zeros({2, 0})},
                                {"\xc3\xa4", cast(counting<float>({5}), bfloat16)}};
  for (const bool compressed : {false, true}) {
    const MemoryRegion region;
    save_npz(scratch / "a", tensors, {.compressed = compressed});
    const NamedTensors loaded = load_npz(scratch / "a");
    ASSERT_EQ(loaded.size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
      EXPECT_EQ(loaded.at(name).dtype(), tensor.dtype());
      expect_elements<double>(cast(loaded.at(name), float64), tensor.shape(),
                              tensor.to_vector<double>());
    }
    EXPECT_EQ(read_file(scratch / "a").size() < 200'000, compressed);
  }
  EXPECT_EQ(scratch.size(), 1);
}

TEST(Npz, ZlibsMemoryIsInTheLedger) {
  const Scratch scratch;
  const NamedTensors tensors = {{"x", zeros({1000})}};
  reset_peak();
  save_npz(scratch / "a", tensors, {.compressed = true});
  EXPECT_GT(memory()[Category::workspace].peak, 200'000) << "deflate's window and tables";
  reset_peak();
  load_npz(scratch / "a");
  EXPECT_GT(memory()[Category::workspace].peak, 64 * 1024) << "a piece of the file, and the window";
  EXPECT_EQ(memory()[Category::workspace].bytes, 0);
}

TEST(Npz, AComment) {
  std::string content = written_by_numpy();
  content[content.size() - 2] = 5;
  EXPECT_EQ(loaded(content + "hello").size(), 2u);
  refused(content + "hell", {"no zip archive, or it was cut short"});
}

TEST(Npz, DamagedArchives) {
  const std::string& good = written_by_numpy();
  refused("", {"no zip archive"});
  refused("PK", {"no zip archive"});
  refused(test::npy("{}", ""), {"no zip archive"});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(loaded(good.substr(0, size)), FormatError) << size;
  }
  refused(patched(0, "x"), {"byte 0: \"x.npy\" has no header here"});
  refused(patched(kFirstListed, "x"), {"the list of entries is damaged"});
  refused(patched(kFirstListed + 16, "\1"), {"\"x.npy\" is damaged"});
  refused(patched(kFirstContent + 40, "\xff\xff\xff\xff"), {"byte 84: the header has no string"});
  refused(patched(kFirstListed + 20, "\x51"), {"the compressed data ends early"});
  refused(patched(kFirstListed + 20, "\x53"), {"bytes follow the end of the compressed data"});
  refused(patched(good.size() - 12, "\3"), {"lists 2 entries and claims 3"});
}

TEST(Npz, HostileArchives) {
  refused(patched(kFirstListed + 8, "\1"), {"\"x.npy\" is encrypted"});
  refused(patched(kFirstListed + 10, "\x0c"), {"method 12, which is not supported"});
  refused(patched(kFirstListed + 10, {"\0", 1}), {"is stored in 82 bytes and claims 144"});
  refused(patched(kFirstListed + 20, "\xff\xff"), {"lies outside of the archive"});
  refused(patched(kFirstListed + 42, "\xff\xff\xff"), {"the archive ends before a record"});
  refused(patched(kSecondListed + 46, "x"), {"two entries have the name \"x.npy\""});
  refused(patched(kSecondListed + 42, {"\0\0\0\0", 4}), {"overlaps another entry"});
  refused(patched(kFirstListed + 24, "\x80"), {"needs 16 bytes, and at most 0 can follow"});
  refused(patched(kFirstListed + 24, "\xff\xff\xff\x7f"), {"is damaged"});
}

TEST(Npz, ABombIsRefusedBeforeMemoryIsTaken) {
  const Scratch scratch;
  save_npz(scratch / "a", {{"x", zeros({1 << 20})}}, {.compressed = true});
  std::string content = read_file(scratch / "a");
  EXPECT_LT(content.size(), 5000u);
  // A header that claims 4 GiB of the same few bytes: stored, as a deflated one needs its checksum.
  save_npz(scratch / "a", {{"x", zeros({16})}});
  content = read_file(scratch / "a");
  const std::size_t shape = content.find("(16,), }            ");
  ASSERT_NE(shape, std::string::npos);
  content.replace(shape, 20, "(1073741824,), }    ");
  const MemoryStats before = memory();
  reset_peak();
  refused(content, {"float32[1073741824] needs 4294967296 bytes, and at most 64"});
  EXPECT_LT(memory().peak - before.bytes, 1000);
}

TEST(Npz, LongNames) {
  const Scratch scratch;
  const std::string longest(65531, 'n');
  save_npz(scratch / "a", {{longest, zeros({1})}});
  EXPECT_EQ(load_npz(scratch / "a").count(longest), 1u);
  expect_throws<ValueError>(
      [&] {
        save_npz(scratch / "b", {{longest + "n", zeros({1})}});
      },
      {"65536 bytes does not fit"});
  EXPECT_EQ(scratch.size(), 1) << "nothing is left of the archive that was not finished";
}

}  // namespace
}  // namespace tenure
