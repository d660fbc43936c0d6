#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tenure/tenure.h"
#include "tests/support/error_site.h"
#include "tests/support/scratch.h"

// What readers and writers of files throw bears the line of the user's call.

namespace tenure {
namespace {

using test::expect_error;

TEST(FileSite, OfErrorsIsTheCall) {
  const test::Scratch scratch;
  const std::string none = scratch / "none/none";
  const std::string text = scratch.file("text", "this is no array of any kind");
  const Tensor x = ones({2});
  const std::uint_least32_t here = __LINE__;
  expect_error<FileError>("load_npy", here + 1, [&] { load_npy(none); });
  expect_error<FormatError>("load_npy", here + 2, [&] { load_npy(text); });
  expect_error<FileError>("save_npy", here + 3, [&] { save_npy(none, x); });
  expect_error<FormatError>("load_npz", here + 4, [&] { load_npz(text); });
  expect_error<FileError>("save_npz", here + 5, [&] { save_npz(none, {{"a", x}}); });
  expect_error<FormatError>("SafetensorsFile", here + 6, [&] { SafetensorsFile file(text); });
  expect_error<FormatError>("load_safetensors", here + 7, [&] { load_safetensors(text); });
  expect_error<FileError>("save_safetensors", here + 8, [&] { save_safetensors(none, {}); });
  expect_error<FormatError>("load_checkpoint", here + 9, [&] { load_checkpoint(text); });
  expect_error<FileError>("site_test", here + 10, [&] { save_checkpoint(none, {{"a", x}}, {}); });
}

TEST(FileSite, ACheckpointMayLeaveAScope) {
  const test::Scratch scratch;
  save_checkpoint(scratch / "a", {{"x", ones({2})}}, {{"step", 3}, {"name", "first"}});
  const Checkpoint checkpoint = tidy([&] { return load_checkpoint(scratch / "a"); });
  EXPECT_EQ(checkpoint.tensor("x").to_vector<float>()[1], 1);
  EXPECT_EQ(checkpoint.integer("step"), 3);
}

}  // namespace
}  // namespace tenure
