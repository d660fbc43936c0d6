#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/error_site.h"
#include "tests/support/scratch.h"

// What datasets and readers throw and make bears the line of the user's call.

namespace tenure::data {
namespace {

using test::expect_error;

std::uint_least32_t line_of(const Tensor& tensor) {
  const std::string file = tensor.created().file_name();
  EXPECT_TRUE(file.ends_with("data/site_test.cpp")) << file;
  return tensor.created().line();
}

const auto nothing = [](Batch element) { return element; };

TEST(DataSite, OfErrorsOfDatasets) {
  const Tensor x = ones({4, 2});
  const Dataset ds = from_tensors({x});
  const std::uint_least32_t here = __LINE__;
  expect_error<ValueError>("from_tensors", here + 1, [&] { from_tensors({}); });
  expect_error<ShapeError>("from_tensors", here + 2, [&] { from_tensors({x, ones({3})}); });
  expect_error<ValueError>("from_function", here + 3, [&] { from_function(2, {}); });
  expect_error<ValueError>("batch", here + 4, [&] { ds.batch(0); });
  expect_error<ValueError>("take", here + 5, [&] { ds.take(-1); });
  expect_error<ValueError>("skip", here + 6, [&] { ds.skip(-1); });
  expect_error<ValueError>("repeat", here + 7, [&] { ds.repeat(-1); });
  expect_error<ValueError>("prefetch", here + 8, [&] { ds.prefetch(-1); });
  expect_error<IndexError>("at()", here + 9, [&] { ds.at(4); });
  expect_error<ValueError>("epoch", here + 10, [&] { ds.epoch(-1); });
  expect_error<ValueError>("map", here + 11, [&] { ds.map(std::function<Batch(Batch)>()); });
  Dataset moved = ds;
  const Dataset other = std::move(moved);
  expect_error<EmptyHandleError>("batch", __LINE__, [&] { moved.batch(2); });  // NOLINT
}

TEST(DataSite, OfErrorsOfReaders) {
  const test::Scratch scratch;
  const std::string text = scratch.file("a.csv", "a,b\n1,2\n3\n");
  const std::uint_least32_t here = __LINE__;
  expect_error<FileError>("read_csv", here + 1, [&] { read_csv(scratch / "none"); });
  expect_error<FormatError>("read_csv", here + 2, [&] { read_csv(text); });
  expect_error<FormatError>("read_idx", here + 3, [&] { read_idx(text); });
  expect_error<FileError>("mnist", here + 4, [&] { mnist(scratch / "none"); });
  expect_error<FormatError>("read_png", here + 5, [&] { read_png(text); });
  expect_error<DTypeError>("write_png", here + 6, [&] { write_png(text, ones({2, 2})); });
  expect_error<FileError>("image_folder", here + 7, [&] { image_folder(scratch / "none"); });
  expect_error<ValueError>("digits", here + 8, [&] { digits(-1, 1); });
}

TEST(DataSite, OfElementsIsWhereTheirSourceWasMade) {
  const Dataset rows = from_tensors({ones({6, 2})});
  const std::uint_least32_t made = __LINE__ - 1;
  EXPECT_EQ(line_of(rows.at(0)[0]), made);
  EXPECT_EQ(line_of(rows.batch(2).at(0)[0]), made);
  EXPECT_EQ(line_of(rows.shuffle(1).batch(4).prefetch(1).at(0)[0]), made);
  const Dataset places = from_function(6, [](std::int64_t i) { return Batch{full({2}, i)}; });
  EXPECT_EQ(line_of(places.batch(3).at(0)[0]), static_cast<std::uint_least32_t>(__LINE__ - 1));
  const Dataset mapped = rows.map(nothing);
  EXPECT_EQ(line_of(mapped.batch(3).at(0)[0]), static_cast<std::uint_least32_t>(__LINE__ - 1));
  const Dataset repeated = rows.take(3).repeat(2);
  EXPECT_EQ(line_of(repeated.batch(4).at(0)[0]), static_cast<std::uint_least32_t>(__LINE__ - 1));
}

}  // namespace
}  // namespace tenure::data
