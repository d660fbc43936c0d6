#include "tenure/io/safetensors.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/region.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/shape_ops.h"
#include "tests/io/bytes.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/scratch.h"

namespace tenure {
namespace {

using test::bytes_of;
using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::make;
using test::read_file;
using test::safetensors;
using test::Scratch;

void refused(const std::string& content, const std::vector<std::string>& parts,
             Site site = Site::current()) {
  const Scratch scratch;
  const std::string path = scratch.file("a", content);
  const MemoryStats before = memory();
  expect_throws<FormatError>([&] { load_safetensors(path); }, parts, site);
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
}

/// A file with one tensor of 16 bytes.
std::string one(const std::string& entry, std::size_t bytes = 16) {
  return safetensors("{\"a\":" + entry + "}", std::string(bytes, '\0'));
}
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return one("{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
             "}");
}

TEST(Safetensors, WritesTheLayoutOfTheFormatsLibrary) {
  const Scratch scratch;
  save_safetensors(scratch / "a",
                   {{"b", make<float>({2}, {1, 2})},
                    {"a", make<float>({}, {3})},
                    {"mask", tensor({true})},
                    {"half", cast(make<float>({1}, {1.5}), float16)},
                    {"brain", cast(make<float>({1}, {1.5}), bfloat16)},
                    {"long", make<std::int64_t>({1, 1}, {-1})},
                    {"double", make<double>({1}, {0.5})},
                    {"none \"\\\xc3\xa4", zeros({0, 2}, uint8)}},
                   {{"z", "last"}, {"format", "pt"}});
  std::string header = R"({"__metadata__":{"format":"pt","z":"last"},)"
                       R"("long":{"dtype":"I64","shape":[1,1],"data_offsets":[0,8]},)"
                       R"("double":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
                       R"("a":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[20,28]},)"
                       R"("brain":{"dtype":"BF16","shape":[1],"data_offsets":[28,30]},)"
                       R"("half":{"dtype":"F16","shape":[1],"data_offsets":[30,32]},)"
                       R"("none \"\\)"
                       "\xc3\xa4"
                       R"(":{"dtype":"U8","shape":[0,2],"data_offsets":[32,32]},)"
                       R"("mask":{"dtype":"BOOL","shape":[1],"data_offsets":[32,33]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(scratch / "a"),
            safetensors(header, bytes_of(std::int64_t{-1}) + bytes_of(0.5) + bytes_of(3.F) +
                                    bytes_of(1.F) + bytes_of(2.F) + "\xc0\x3f" +
                                    std::string("\0\x3e", 2) + '\1'));
  save_safetensors(scratch / "a", {});
  EXPECT_EQ(read_file(scratch / "a"), safetensors("{}      ", ""));
}

TEST(Safetensors, EveryTypeAndLayoutComesBack) {
  const Scratch scratch;
  NamedTensors tensors;
  for (int i = 0; i < kDTypes; ++i) {
    tensors["t" + std::to_string(i)] = cast(counting<float>({3, 1, 2}), static_cast<DType>(i));
  }
  tensors["view"] = transpose(counting<float>({2, 3}));
  save_safetensors(scratch / "a", tensors);
  const NamedTensors loaded = load_safetensors(scratch / "a");
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& got = loaded.at(name);
    EXPECT_EQ(got.dtype(), tensor.dtype());
    expect_elements<double>(cast(got, float64), tensor.shape(), tensor.to_vector<double>());
  }
}

TEST(Safetensors, ReadsAFileWithoutPaddingInAnyOrder) {
  const Scratch scratch;
  const NamedTensors loaded = load_safetensors(
      scratch.file("a", safetensors(R"({ "x" : {"data_offsets":[1,9],"shape":[2],"dtype":"F32"},)"
                                    R"("b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   )",
                                    "\7" + bytes_of(1.5F) + bytes_of(-1.F))));
  expect_elements<float>(loaded.at("x"), {2}, {1.5, -1});
  expect_elements<std::uint8_t>(loaded.at("b"), {1}, {7});
}

TEST(Safetensors, TensorsLieInTheFileAsLongAsTheyLive) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  save_safetensors(path, {{"x", counting<float>({1000})}, {"y", counting<float>({500})}});
  const MemoryStats before = memory();
  const MemoryRegion region;
  Tensor x;
  {
    const SafetensorsFile file(path);
    EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes) << "opening reads the header alone";
    x = file.tensor("x");
    const Tensor y = file.tensor("y");
    EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes + 6000);
  }
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes + 4000);
  EXPECT_EQ(region.left_bytes(), 0) << "nothing was copied";
  EXPECT_EQ(x.op(), "load_safetensors");

  save_safetensors(path, {{"x", zeros({1000})}});
  EXPECT_EQ(x.span<float>()[999], 999.F) << "replacing the file leaves the old one mapped";
  x.mutable_span<float>()[0] = 5;
  EXPECT_EQ(load_safetensors(path).at("x").to_vector<float>()[0], 0.F);

  const Tensor moved = neg(std::move(x));
  EXPECT_EQ(moved.to_vector<float>()[0], -5.F);
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes) << "the last holder unmaps";
}

TEST(Safetensors, ListsWhatItHas) {
  const Scratch scratch;
  const SafetensorsFile file(scratch.file(
      "a", safetensors(
               R"({"__metadata__":{"k":"v"},"u":{"dtype":"U16","shape":[2],"data_offsets":[4,8]},)"
               R"("x":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
               R"("?":{"dtype":"F4","shape":[3],"data_offsets":[8,10]}})",
               std::string(10, '\0'))));
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[1].name, "u");
  EXPECT_EQ(file.entries()[1].dtype, "U16");
  EXPECT_EQ(file.metadata().at("k"), "v");
  EXPECT_TRUE(file.contains("x"));
  expect_elements<float>(file.tensor("x"), {}, {0});
  expect_throws<DTypeError>([&] { file.tensor("u"); }, {"\"u\"", "type U16, which Tenure lacks"});
  expect_throws<DTypeError>([&] { file.tensor("?"); }, {"type F4"});
  expect_throws<ValueError>([&] { file.tensor("z"); }, {"has no tensor \"z\" among its 3"});
}

TEST(Safetensors, DamagedAndHostileFiles) {
  const std::string good = one("F32", "[4]", "[0,16]");
  refused("", {"the file ends, and 8 more bytes"});
  refused("1234567", {"the file ends"});
  refused(good.substr(0, 30), {"byte 0: a header of", "is claimed"});
  refused(bytes_of(~std::uint64_t{0}) + "{}",
          {"a header of 18446744073709551615 bytes is claimed"});
  refused(good.substr(0, good.size() - 1), {"\"a\" ends at byte 16 of the data, which has 15"});
  refused(good + "x", {"1 bytes belong to no tensor"});
  refused(safetensors("", ""), {"must begin with `{`"});
  refused(safetensors(" {}", ""), {"must begin with `{`"});
  refused(safetensors("{\"\xff\"}", ""), {"byte 10: the header is not UTF-8"});
  refused(safetensors("{\"\xed\xa0\x80\"}", ""), {"not UTF-8"});
  refused(safetensors("{} x", ""), {"after the last bracket"});
  refused(one("F32", "[4]", "[1,17]"), {"begins at byte 1 of the data; 0 is expected"});
  refused(one("F32", "[4]", "[16,0]"), {"begins at byte 16"});
  refused(one("F32", "[3]", "[0,16]"), {"has 16 bytes; F32[3] needs 12"});
  refused(one("F32", "[4]", "[0]"), {"two data_offsets"});
  refused(one("F32", "[4]", "[0,16,32]"), {"more than two"});
  refused(one("F32", "[4]", "[-1,16]"), {"negative"});
  refused(one("F32", "[4611686018427387904,4611686018427387904]", "[0,16]"),
          {"4611686018427387904"});
  refused(one("F32", "[99999999999999999999]", "[0,16]"), {"more than 64 bits hold"});
  refused(one("F32", "[1,1,1,1,1,1,1,1,4]", "[0,16]"), {"more than 8 axes"});
  refused(one("F32", "[4.0]", "[0,16]"), {"whole number"});
  refused(one("BOOL", "[16]", "[0,16]").replace(good.size() - 1, 1, "\2"),
          {"an element of bool is 2"});
  refused(one("{\"dtype\":\"F32\"}"), {"needs dtype, shape"});
  refused(one("{\"dtype\":\"F32\",\"dtype\":\"F32\"}"), {"\"a\" has \"dtype\" twice"});
  refused(one("{\"color\":\"red\"}"), {"unknown key \"color\""});
  refused(one(std::string(100'000, '[')), {"a tensor must be an object"});
  refused(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                      "xx"),
          {"two entries have the name \"a\""});
  refused(safetensors(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                      "xxx"),
          {"\"b\" begins at byte 1 of the data; 2 is expected"});
  refused(safetensors(R"({"__metadata__":{"a":1}})", ""), {"metadata must be a string"});
  refused(safetensors(R"({"__metadata__":{"a":"","a":""}})", ""), {"twice"});
}

TEST(Safetensors, NamesThatCannotBe) {
  const Scratch scratch;
  expect_throws<ValueError>(
      [&] {
        save_safetensors(scratch / "a", {{"__metadata__", zeros({1})}});
      },
      {"is reserved"});
  expect_throws<ValueError>(
      [&] {
        save_safetensors(scratch / "a", {{"\xff", zeros({1})}});
      },
      {"a name is not UTF-8"});
  expect_throws<ValueError>(
      [&] {
        save_safetensors(scratch / "a", {}, {{"a", "\x80"}});
      },
      {"a value of the metadata is not UTF-8"});
  EXPECT_THROW(save_safetensors(scratch / "a", {{"a", Tensor()}}), EmptyTensorError);
  EXPECT_EQ(scratch.size(), 0);
}

}  // namespace
}  // namespace tenure
