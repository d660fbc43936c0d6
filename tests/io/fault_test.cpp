#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/io/checkpoint.h"
#include "tenure/io/npy.h"
#include "tenure/io/safetensors.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/every_fault.h"
#include "tests/support/make.h"
#include "tests/support/scratch.h"

namespace tenure {
namespace {

using test::counting;
using test::Scratch;
using test::survive_every_fault;

TEST(Faults, WhileLoading) {
  const Scratch scratch;
  const NamedTensors tensors = {{"a", counting<float>({10})},
                                {"b", counting<std::int32_t>({3, 2})}};
  save_npy(scratch / "npy", tensors.at("a"));
  save_npz(scratch / "npz", tensors, {.compressed = true});
  save_checkpoint(scratch / "checkpoint", tensors, {{"step", 1}});
  EXPECT_GE(survive_every_fault([&] { load_npy(scratch / "npy"); }), 1);
  EXPECT_GE(survive_every_fault([&] { load_npz(scratch / "npz"); }), 4);
  EXPECT_GE(survive_every_fault([&] { load_safetensors(scratch / "checkpoint"); }), 2);
  EXPECT_GE(survive_every_fault([&] { load_checkpoint(scratch / "checkpoint"); }), 2);
}

TEST(Faults, WhileSaving) {
  const Scratch scratch;
  const Tensor x = counting<float>({4, 3, 2});
  const NamedTensors tensors = {{"plain", x}, {"view", permute(x, {1, 0, 2})}};
  const std::string path = scratch / "a";
  save_npz(path, {{"old", x}});
  const std::string old = test::read_file(path);
  const auto survive = [&](const auto& save) {
    const int faults = survive_every_fault([&] {
      try {
        save();
      } catch (const OutOfMemory&) {
        EXPECT_EQ(test::read_file(path), old);
        EXPECT_EQ(scratch.size(), 1);
        throw;
      }
    });
    EXPECT_NE(test::read_file(path), old);
    scratch.file("a", old);
    return faults;
  };
  EXPECT_GE(survive([&] { save_npy(path, tensors.at("view")); }), 1);
  EXPECT_GE(survive([&] { save_npz(path, tensors); }), 1);
  EXPECT_GE(survive([&] { save_npz(path, tensors, {.compressed = true}); }), 4);
  EXPECT_GE(survive([&] { save_safetensors(path, tensors); }), 1);
  EXPECT_GE(survive([&] { save_checkpoint(path, tensors, {}); }), 1);
}

}  // namespace
}  // namespace tenure
