#include "tenure/data/csv.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenure/base/error.h"
#include "tenure/data/dataset.h"
#include "tenure/memory/budget.h"
#include "tenure/ops/creation.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

namespace tenure::data {
namespace {

using test::expect_elements;
using test::expect_throws;
using test::Scratch;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Table read(const std::string& content, const CsvOptions& options = {}) {
  const Scratch scratch;
  return read_csv(scratch.file("a.csv", content), options);
}
void refused(const std::string& content, const std::vector<std::string>& parts,
             const CsvOptions& options = {}, Site site = Site::current()) {
  expect_throws<FormatError>([&] { read(content, options); }, parts, site);
}

TEST(Csv, AsManyColumnsAsALineHasCommas) {
  const Table table = read(std::string(65'535, ','), {.header = false});
  EXPECT_EQ(table.columns.size(), 65'536u);
  EXPECT_EQ(table.rows, 1);
  const std::string more(200'000, ',');
  EXPECT_EQ(read(more, {.header = false, .max_columns = 300'000}).columns.size(), 200'001u);
}

/// A comma is a column, and a column is a tensor: a file of commas would take hundreds of times its
/// size.
TEST(Csv, TooManyColumnsAreRefused) {
  refused(std::string(1'000'000, ','), {"line 1, column 65537", "65536 columns", "max_columns"},
          {.header = false});
  refused("a,b,c\n1,2,3\n", {"line 1, column 3", "more than 2 columns"}, {.max_columns = 2});
  EXPECT_EQ(read("a,b\n1,2\n", {.max_columns = 2}).columns.size(), 2u);
}

TEST(Csv, ASignIsOneSign) {
  expect_elements<std::int64_t>(read("a\n+5\n-5\n")["a"], {2}, {5, -5});
  for (const char* const text : {"+-5", "++5", "-+5", "+", "-"}) {
    refused("a\n" + std::string(text) + "\n", {"is no int64"}, {.types = {{"a", int64}}});
    EXPECT_FALSE(read("a\n" + std::string(text) + "\n").column("a").words.empty()) << text;
  }
}

TEST(Csv, NumbersBeyondAnyDoubleAreInfiniteOrZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::string zeros(400, '0');
  expect_elements<float>(read("a\n1.5\n1e999\n-2.5e+999\n1e99999999999\n1" + zeros + "\n")["a"],
                         {5}, {1.5f, kInfinity, -kInfinity, kInfinity, kInfinity});
  expect_elements<float>(
      read("a\n1.5\n1e-999\n-3e-99999999999\n0." + zeros + "1\n0.0001" + zeros + "e-390\n")["a"],
      {5}, {1.5f, 0, 0, 0, 0});
}

TEST(Csv, FindsTheTypes) {
  const Table table = read("id,size,name,note\n1,2.5,ann,\n-2,,bob,x\n3, 1e3 ,ann,\n");
  EXPECT_EQ(table.rows, 3);
  ASSERT_EQ(table.columns.size(), 4u);
  expect_elements<std::int64_t>(table["id"], {3}, {1, -2, 3});
  expect_elements<float>(table["size"], {3}, {2.5, kNaN, 1000});
  expect_elements<std::int64_t>(table["name"], {3}, {0, 1, 0});
  EXPECT_EQ(table.column("name").words, (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(table.column("note").words, (std::vector<std::string>{"", "x"}));
  EXPECT_TRUE(table.column("id").words.empty());
  expect_throws<ValueError>([&] { table["age"]; }, {"no column \"age\" among its 4"});
}

TEST(Csv, QuotesSeparatorsAndLineEnds) {
  const Table table = read(
      "\xef\xbb\xbf"
      "a;b\r\n\"x;\r\n\"\"y\"\"\";1\r\n\r\n\"\";2",
      {.separator = ';'});
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.column("a").words, (std::vector<std::string>{"x;\r\n\"y\"", ""}));
  expect_elements<std::int64_t>(table["b"], {2}, {1, 2});
}

TEST(Csv, WithoutAHeader) {
  const Table table = read("1,2\n3,4\n", {.header = false});
  expect_elements<std::int64_t>(table["0"], {2}, {1, 3});
  expect_elements<std::int64_t>(table["1"], {2}, {2, 4});
}

TEST(Csv, EmptyFiles) {
  EXPECT_EQ(read("").columns.size(), 0u);
  EXPECT_EQ(read("\n\n").rows, 0);
  const Table table = read("a,b\n");
  EXPECT_EQ(table.rows, 0);
  EXPECT_EQ(table["b"].shape(), Shape({0}));
}

TEST(Csv, TypesByName) {
  const Table table =
      read("a,b,c,d\n1,true,255,1\n0,0,+7,\n",
           {.types = {{"a", float16}, {"b", boolean}, {"c", uint8}, {"d", float64}}});
  EXPECT_EQ(table["a"].dtype(), float16);
  expect_elements<bool>(table["b"], {2}, {true, false});
  expect_elements<std::uint8_t>(table["c"], {2}, {255, 7});
  expect_elements<double>(table["d"], {2}, {1, kNaN});
  expect_throws<ValueError>([] { read("a\n1\n", {.types = {{"z", int32}}}); }, {"no column \"z\""});
}

TEST(Csv, ErrorsNameLineAndColumn) {
  const auto typed = [](DType dtype) { return CsvOptions{.types = {{"b", dtype}}}; };
  refused("a,b\n1,2\n3,x\n", {"byte 10: line 3, column 2: \"x\" is no int32 (column \"b\")"},
          typed(int32));
  refused("a,b\n1,256\n", {"line 2, column 2: \"256\" is no uint8"}, typed(uint8));
  refused("a,b\n1,\n", {"line 2, column 2: \"\" is no int64"}, typed(int64));
  refused("a,b\n1,1.5\n", {"\"1.5\" is no int64"}, typed(int64));
  refused("a,b\n1,2x\n", {"\"2x\" is no float32"}, typed(float32));
  refused("a,b\n\"1\n1\",maybe\n", {"line 2, column 2: \"maybe\" is no bool"}, typed(boolean));
  refused("a,b\n\"1\n\n1\",2\n3\n", {"line 5, column 1: the line has 1 fields; 2 are expected"});
  refused("a,b\n1,2,3\n", {"line 2, column 3: the line has more than 2 fields"});
  refused("a,b\n1,\"2\n", {"line 2, column 2: a quoted field has no end"});
  refused("a,b\n1,\"2\"3\n", {"line 2, column 2: text follows a quoted field"});
  refused("a,a\n", {"line 1, column 2: two columns have the name \"a\""});
}

TEST(Csv, ASeparatorThatMeansSomethingElseIsRefused) {
  const Scratch scratch;
  const std::string path = scratch.file("a.csv", "a,b\n1,2\n");
  for (const char separator : {'"', '\n', '\r'}) {
    expect_throws<ValueError>([&] { read_csv(path, {.separator = separator}); }, {"separator"});
  }
}

TEST(Csv, BecomesADataset) {
  const Table table = read("x,y\n1.5,0\n2.5,1\n");
  const Dataset dataset = from_tensors({table["x"], table["y"]});
  expect_elements<float>(dataset.batch(2).at(0)[0], {2}, {1.5, 2.5});
}

TEST(Csv, ABudgetHolds) {
  const Scratch scratch;
  std::string text = "x\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";
  const std::string path = scratch.file("a.csv", text);
  const Budget budget("small", 9000);
  EXPECT_THROW(read_csv(path), OutOfMemory);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace tenure::data
