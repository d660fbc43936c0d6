#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/data/csv.h"
#include "tenure/data/idx.h"
#include "tenure/data/png.h"
#include "tenure/memory/ledger.h"
#include "tests/support/make.h"
#include "tests/support/mutate.h"
#include "tests/support/scratch.h"

// Whatever a file holds, it is read or refused with a typed error; see tests/io/fuzz_test.cpp.

namespace tenure::data {
namespace {

template <class Load>
void survive_mutations(const std::string& good, const Load& load) {
  const test::Scratch scratch;
  const MemoryStats before = memory();
  std::mt19937 engine(1);
  int refused = 0;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    const std::string path = scratch.file("a", test::mutated(good, engine));
    reset_peak();
    try {
      load(path);
    } catch (const FormatError& error) {
      EXPECT_EQ(error.path(), path);
      ++refused;
    }
    ASSERT_LT(memory().peak, 4 << 20) << "round " << i;
  }
  EXPECT_GT(refused, kRounds / 10);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().bytes, before.bytes);
}

TEST(DataFuzz, Idx) {
  survive_mutations(std::string("\0\0\13\2\0\0\0\2\0\0\0\2abcdefgh", 20),
                    [](const std::string& path) { read_idx(path); });
}

TEST(DataFuzz, CompressedIdx) {
  survive_mutations({"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x63\x60\xe0\x60\x62\x60\x60\x00\x61"
                     "\xe6\xc4\xa4\xe4\x94\xd4\x34\x00\x83\xda\x46\x2f\x12\x00\x00\x00",
                     35},
                    [](const std::string& path) { read_idx(path); });
}

TEST(DataFuzz, Csv) {
  survive_mutations("a,b,\"c\"\n1,2.5,\"x \"\"y\"\"\nz\"\n3,,x\r\n-4,1e5,\n",
                    [](const std::string& path) { read_csv(path, {.types = {}}); });
}

TEST(DataFuzz, Png) {
  const test::Scratch scratch;
  write_png(scratch / "a", test::counting<std::uint8_t>({6, 5, 3}));
  survive_mutations(test::read_file(scratch / "a"), [](const std::string& path) {
    for (const int channels : {1, 3, 4})
      read_png(path, {.channels = channels, .max_pixels = 1 << 18});
  });
}

}  // namespace
}  // namespace tenure::data
