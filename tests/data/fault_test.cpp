#include <gtest/gtest.h>

#include "tenure/data/csv.h"
#include "tenure/data/dataset.h"
#include "tenure/data/idx.h"
#include "tenure/data/png.h"
#include "tenure/ops/creation.h"
#include "tests/support/every_fault.h"
#include "tests/support/make.h"
#include "tests/support/scratch.h"

namespace tenure::data {
namespace {

using test::counting;
using test::Scratch;
using test::survive_every_fault;

TEST(DataFaults, Files) {
  const Scratch scratch;
  const Tensor image = counting<std::uint8_t>({6, 5, 3});
  write_png(scratch / "a.png", image);
  EXPECT_GE(survive_every_fault([&] { read_png(scratch / "a.png"); }), 3);
  EXPECT_GE(survive_every_fault([&] { write_png(scratch / "b.png", image); }), 3);
  const std::string csv = scratch.file("a.csv", "a,b\n1,x\n2,y\n");
  EXPECT_GE(survive_every_fault([&] { read_csv(csv); }), 3);
  const std::string idx = scratch.file("a.idx", std::string("\0\0\10\1\0\0\0\2ab", 10));
  EXPECT_GE(survive_every_fault([&] { read_idx(idx); }), 1);
  EXPECT_GE(survive_every_fault([] { digits(3, 1); }), 2);
}

TEST(DataFaults, Passes) {
  const Dataset dataset =
      from_tensors({counting<float>({8, 2}), counting<float>({8})}).shuffle(1).batch(3);
  Pass pass = dataset.epoch(0);
  std::int64_t batches = 0;
  survive_every_fault([&] { batches += pass.next() ? 1 : 0; });
  EXPECT_EQ(batches, 1);
  EXPECT_EQ(pass.position().next, 1) << "what failed is not left out";
}

}  // namespace
}  // namespace tenure::data
