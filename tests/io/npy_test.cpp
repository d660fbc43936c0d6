#include "tenure/io/npy.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/region.h"
#include "tenure/ops/creation.h"
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
using test::npy;
using test::read_file;
using test::Scratch;

Tensor loaded(const std::string& content) {
  const Scratch scratch;
  return load_npy(scratch.file("a.npy", content));
}
void refused(const std::string& content, const std::vector<std::string>& parts,
             Site site = Site::current()) {
  const MemoryRegion region;
  expect_throws<FormatError>([&] { loaded(content); }, parts, site);
  EXPECT_EQ(region.left_bytes(), 0);
}

constexpr const char* kFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, WritesWhatNumPyWrites) {
  const Scratch scratch;
  save_npy(scratch / "a", make<float>({2, 3}, {0, 0.5, 1, 1.5, 2, 2.5}));
  std::string elements;
  for (int i = 0; i < 6; ++i) elements += bytes_of(0.5F * static_cast<float>(i));
  EXPECT_EQ(read_file(scratch / "a"), npy(kFloats, elements));
  save_npy(scratch / "a", tensor(2.5, float64));
  EXPECT_EQ(read_file(scratch / "a"),
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", bytes_of(2.5)));
  save_npy(scratch / "a", tensor({true, false}));
  EXPECT_EQ(read_file(scratch / "a"),
            npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", {"\1\0", 2}));
  save_npy(scratch / "a", transpose(counting<std::int16_t>({3, 2})));
  EXPECT_EQ(read_file(scratch / "a"),
            npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                {"\0\0\1\0\2\0\3\0\4\0\5\0", 12}))
      << "Fortran's order stays in place";
}

TEST(Npy, EveryTypeComesBack) {
  const Scratch scratch;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor x = cast(counting<float>({2, 1, 3}), dtype);
    save_npy(scratch / "a", x);
    const Tensor y = load_npy(scratch / "a");
    EXPECT_EQ(y.dtype(), dtype);
    expect_elements<double>(cast(y, float64), {2, 1, 3}, x.to_vector<double>());
  }
}

TEST(Npy, AnyLayoutIsWritten) {
  const Scratch scratch;
  const Tensor x = counting<std::int32_t>({4, 3, 2});
  for (const Tensor& view :
       {slice(x, 0, 1, 4, 2), permute(x, {1, 0, 2}), flip(x), select(x, 2, 1),
        broadcast_to(select(x, 0, 1), {2, 3, 2}), permute(x, {2, 1, 0}), slice(x, 0, 2, 2)}) {
    save_npy(scratch / "a", view);
    expect_elements(load_npy(scratch / "a"), view.shape(), view.to_vector<std::int32_t>());
  }
}

TEST(Npy, FortransOrderStays) {
  const Tensor x = loaded(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                              {"\0\0\3\0\1\0\4\0\2\0\5\0", 12}));
  expect_elements<std::int16_t>(x, {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(x.strides(), Strides({1, 2}));
}

TEST(Npy, OtherByteOrdersVersionsAndSpellings) {
  expect_elements<std::int32_t>(
      loaded(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                 {"\0\0\3\xe8\0\0\0\1", 8})),
      {2}, {1000, 1});
  const std::string header = "{\"shape\":(1,),\"descr\":\"|u1\",\"fortran_order\":False}\n";
  for (const char version : {'\2', '\3'}) {
    expect_elements<std::uint8_t>(
        loaded(std::string("\x93NUMPY") + version + '\0' +
               bytes_of(static_cast<std::uint32_t>(header.size())) + header + "\7"),
        {1}, {7});
  }
}

TEST(Npy, SaysWhoMadeIt) {
  const Scratch scratch;
  save_npy(scratch / "a", counting({3}));
  const Tensor x = load_npy(scratch / "a");
  EXPECT_EQ(x.op(), "load_npy");
  EXPECT_EQ(x.created().line(), static_cast<unsigned>(__LINE__ - 2));
  EXPECT_TRUE(x.is_sole_holder());
}

TEST(Npy, DamagedFiles) {
  const std::string good = npy(kFloats, std::string(24, '\0'));
  refused("", {"the data ends within the first bytes: 0 of 8"});
  refused("PK and more text", {"byte 0: this is no array of NumPy's"});
  refused(good.substr(0, 9), {"the header's length"});
  refused(good.substr(0, 60), {"the data ends within the header"});
  refused(good.substr(0, good.size() - 1),
          {"byte 128: float32[2, 3] needs 24 bytes, and at most 23"});
  refused(good + "x", {"byte 152: the array has bytes after its end"});
  refused("\x93NUMPY\4" + good.substr(7), {"version 4"});
  refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12),
          {"a header of 4294967295 bytes is too long"});
}

TEST(Npy, HostileHeaders) {
  const auto with = [](const std::string& header) { return npy(header, std::string(64, '\0')); };
  const auto shaped = [&](const std::string& shape) {
    return with("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }");
  };
  refused(shaped("(4611686018427387904, 4)"), {"byte 128", "4611686018427387904"});
  refused(shaped("(1000000000000,)"), {"needs 4000000000000 bytes, and at most 64"});
  refused(shaped("(99999999999999999999,)"), {"a size that is none"});
  refused(shaped("(-1,)"), {"a size that is none"});
  refused(shaped("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), {"more than 8 axes"});
  refused(shaped("((1,),)"), {"a size that is none"});
  refused(shaped("3"), {"`(` is missing"});
  refused(shaped("(2,"), {"a size that is none"});
  refused(with("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
          {"type '|O' are not supported"});
  refused(with("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), {"type '<c8'"});
  refused(with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), {"records"});
  refused(with("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }"),
          {"neither True nor False"});
  refused(with("{'descr': '<f4', 'shape': (1,), }"), {"the header lacks"});
  refused(with("{'descr': '<f4', 'descr': '<f4'}"), {"byte 35: the header says a thing twice"});
  refused(with("{'color': '<f4'}"), {"unknown key 'color'"});
  refused(with("{} {}"), {"text follows"});
  refused(with("import os"), {"`{` is missing"});
  refused(with("{'descr"), {"no string"});
  refused(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\1\2"),
          {"byte 129: an element of bool is 2"});
}

TEST(Npy, ABudgetHolds) {
  const Scratch scratch;
  save_npy(scratch / "a", zeros({1000}));
  const Budget budget("small", 3999);
  EXPECT_THROW(load_npy(scratch / "a"), OutOfMemory);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Npy, WhatHasNoDataIsNotWritten) {
  const Scratch scratch;
  const Tensor x = counting({3});
  x.dispose();
  expect_throws<DisposedError>([&] { save_npy(scratch / "a", x); }, {"save_npy"});
  EXPECT_THROW(save_npy(scratch / "a", Tensor()), EmptyTensorError);
  EXPECT_EQ(scratch.size(), 0);
}

}  // namespace
}  // namespace tenure
