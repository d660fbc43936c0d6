#include "tenure/planner/formats.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tenure/base/error.h"
#include "tenure/planner/order.h"

namespace tenure::planner {
namespace {

template <class F>
std::string error_of(const F& read) {
  try {
    read();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

std::string csv_error(const std::string& text) {
  return error_of([&] { read_buffers(text, "a.csv"); });
}

std::string json_error(const std::string& text) {
  return error_of([&] { read_program(text, "a.json"); });
}

/// A program with these nodes, each in a line; the first is in line 2.
std::string nodes_error(const std::string& nodes) {
  return json_error("{\"nodes\": [\n" + nodes + "\n]}");
}

TEST(Csv, ReadsColumnsInAnyOrder) {
  const BufferTable table = read_buffers(
      "size, note,upper,id,lower,alignment,offset\n"
      "10,x,5,\"a, \"\"b\"\"\",-3,,\r\n"
      "\n"
      "0 ,, 7 ,c,7,64,128",
      "a.csv");
  ASSERT_EQ(table.ids, (std::vector<std::string>{"a, \"b\"", "c"}));
  const Buffer& a = table.problem.buffers[0];
  EXPECT_EQ(a.size, 10);
  EXPECT_EQ(a.lower, -3);
  EXPECT_EQ(a.upper, 5);
  EXPECT_EQ(a.alignment, 1);
  EXPECT_FALSE(a.offset);
  const Buffer& c = table.problem.buffers[1];
  EXPECT_EQ(c.upper, 7);
  EXPECT_EQ(c.alignment, 64);
  EXPECT_EQ(c.offset, 128);
}

TEST(Csv, ReadsGaps) {
  const BufferTable table = read_buffers(
      "id,lower,upper,size,gaps\n"
      "a,-5,30,64,-4--2 7-9  12-15@0:8\n"
      "b,0,4,8,\n",
      "a.csv");
  const std::vector<Gap>& gaps = table.problem.buffers[0].gaps;
  ASSERT_EQ(gaps.size(), 3U);
  EXPECT_EQ(gaps[0].lower, -4);
  EXPECT_EQ(gaps[0].upper, -2);
  EXPECT_EQ(gaps[1].upper, 9);
  EXPECT_EQ(gaps[1].top, 0);
  EXPECT_EQ(gaps[2].lower, 12);
  EXPECT_EQ(gaps[2].top, 8);
  EXPECT_TRUE(table.problem.buffers[1].gaps.empty());
  const BufferTable inclusive = read_buffers("id,lower,end,size,gaps\na,0,9,8,3-5\n", "a");
  EXPECT_EQ(inclusive.problem.buffers[0].gaps[0].upper, 6);
  for (const char* const gap : {"3", "x-5", "3-", "3-5@2", "3-5@2:x", "-3"}) {
    EXPECT_NE(csv_error(std::string("id,lower,upper,size,gaps\na,0,9,8,") + gap).find("a.csv:2: "),
              std::string::npos)
        << gap;
  }
}

TEST(Csv, EveryErrorNamesItsLine) {
  const auto error = [](const std::string& lines) {
    return csv_error("id,lower,upper,size,alignment,offset,gaps\n" + lines);
  };
  EXPECT_EQ(error("a,0,4,8,8,4,\n"),
            "a.csv:2: planner: buffer 0 must lie at 4, which is no multiple of its alignment 8");
  EXPECT_EQ(error("a,0,4,8,,0,\n\nb,2,5,8,,4,\n"),
            "a.csv:4: planner: buffer 1 must lie where buffer 0 must lie at the same time");
  EXPECT_NE(error("a,0,4,9223372036854775807,,,\n").find("a.csv:2: "), std::string::npos);
  EXPECT_NE(error("a,0,4,8,,,\nb,0,4,8,,,2-5\n").find("a.csv:3: "), std::string::npos);
}

TEST(Formats, ErrorsQuoteAnExcerpt) {
  const std::string name(1'000'000, 'n');
  EXPECT_LT(csv_error("id,lower,upper,size\na,0,1," + name).size(), 300U);
  EXPECT_LT(csv_error("id,lower,upper,size\n" + name + ",0,1,1\n" + name + ",0,1,1").size(), 300U);
  EXPECT_LT(nodes_error("{\"id\": \"" + name + "\"}").size(), 300U);
  EXPECT_LT(nodes_error("{\"" + name + "\": 1, \"" + name + "\": 1}").size(), 300U);
  EXPECT_EQ(csv_error("id,lower,upper,size\na,0,1,\x1b[31m").find('\x1b'), std::string::npos);
}

TEST(Json, TakesAByteOrderMark) {
  EXPECT_EQ(read_program("\xef\xbb\xbf{\"nodes\": []}", "a.json").ids.size(), 0U);
}

TEST(Json, RefusesMembersThatComeTwice) {
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 1, \"bytes\": 2, \"inputs\": []}"),
            "a.json:2: the member \"bytes\" is there twice");
  EXPECT_EQ(json_error("{\"nodes\": [],\n\"nodes\": []}"),
            "a.json:2: the member \"nodes\" is there twice");
}

TEST(Csv, EndIsInclusive) {
  EXPECT_EQ(read_buffers("id,lower,end,size\n1,0,4,8\n", "a").problem.buffers[0].upper, 5);
}

TEST(Csv, HasAnyNumberOfBuffers) {
  EXPECT_TRUE(read_buffers("id,lower,upper,size", "a").ids.empty());
  std::string text = "id,lower,upper,size\n";
  constexpr int kMany = 200'000;
  for (int i = 0; i < kMany; ++i) text += std::to_string(i) + ",1,2,3\n";
  EXPECT_EQ(read_buffers(text, "a").problem.buffers.size(), std::size_t{kMany});
}

TEST(Csv, ErrorsNameTheLine) {
  const std::string head = "id,lower,upper,size\n0,0,1,8\n";
  EXPECT_EQ(csv_error(""),
            "a.csv:1: the file is empty; its first line must be id,lower,upper,size");
  EXPECT_EQ(csv_error("id,lower,upper\n"),
            "a.csv:1: column size is missing; the first line must name id, lower, upper and size, "
            "in any order");
  EXPECT_EQ(csv_error("id,lower,upper,size,id\n"), "a.csv:1: column id is there twice");
  EXPECT_EQ(csv_error("id,lower,size\n"),
            "a.csv:1: there must be a column upper (exclusive) or a column end (inclusive), not "
            "both");
  EXPECT_EQ(csv_error(head + "1,0,1\n"), "a.csv:3: here are 3 fields; the first line names 4");
  EXPECT_EQ(csv_error(head + "\n1,0,x,8\n"),
            "a.csv:4: upper must be a whole number, and here is \"x\"");
  EXPECT_EQ(csv_error(head + "1,0,1,1.5\n"),
            "a.csv:3: size must be a whole number, and here is \"1.5\"");
  EXPECT_EQ(csv_error(head + "1,0,1,\n"), "a.csv:3: size must be a whole number, and here is \"\"");
  EXPECT_EQ(csv_error(head + "1,0,1,-8\n"), "a.csv:3: size is -8; it cannot be negative");
  EXPECT_EQ(csv_error(head + "1,0,1,9223372036854775808\n"),
            "a.csv:3: size is 9223372036854775808: more than 64 bits hold");
  EXPECT_EQ(csv_error(head + "1,5,4,8\n"),
            "a.csv:3: the lifetime ends before it begins: lower is 5, upper is 4");
  EXPECT_EQ(csv_error(head + "1,0,1,8\n0,0,1,8\n"),
            "a.csv:4: id \"0\" was given in line 2 already");
  EXPECT_EQ(csv_error(head + "\"1,0,1,8\n"), "a.csv:3: a quoted field does not end in its line");
  EXPECT_EQ(csv_error(head + "\"1\"2,0,1,8\n"), "a.csv:3: text follows a quoted field");
  EXPECT_EQ(csv_error("id,lower,end,size\n1,0,9223372036854775807,8\n"),
            "a.csv:2: end is 9223372036854775807: what follows is more than 64 bits hold");
  EXPECT_EQ(csv_error("id,lower,upper,size,alignment\n1,0,1,8,3\n"),
            "a.csv:2: alignment is 3; it must be a power of two");
  EXPECT_EQ(csv_error("id,lower,upper,size,offset\n1,0,1,8,-1\n"),
            "a.csv:2: offset is -1; it cannot be negative");
}

TEST(ProgramJson, ReadsWhatAProgramCanSay) {
  const Program program = read_program(
      R"({"name": "tiny \u00e4", "other": [1, {"x": [null, -1.5e3, "]"]}, {}], "fixed_bytes": 7,
          "nodes": [
            {"id": 10, "op": "load", "bytes": 4, "inputs": [], "pure": false},
            {"id": "b", "bytes": 4, "cost": 3, "workspace": 2, "inputs": [10], "overwrites": [10],
             "output": true, "more": {}}
          ]})",
      "a.json");
  EXPECT_EQ(program.name, "tiny ä");
  EXPECT_EQ(program.ids, (std::vector<std::string>{"10", "b"}));
  EXPECT_EQ(program.ops, (std::vector<std::string>{"load", ""}));
  EXPECT_EQ(program.dag.resident, 7);
  ASSERT_EQ(program.dag.nodes.size(), 2U);
  EXPECT_FALSE(program.dag.nodes[0].pure);
  const Node& b = program.dag.nodes[1];
  EXPECT_EQ(b.bytes, 4);
  EXPECT_EQ(b.cost, 3);
  EXPECT_EQ(b.workspace, 2);
  EXPECT_EQ(b.inputs, std::vector<int>{0});
  EXPECT_EQ(b.overwrites, 1U);
  EXPECT_TRUE(b.output);
  EXPECT_TRUE(b.pure);
  EXPECT_TRUE(read_program("{\"nodes\": []}", "a").dag.nodes.empty());
}

TEST(ProgramJson, ErrorsNameTheLine) {
  EXPECT_EQ(json_error(""),
            "a.json:1: the file must be an object, and here is the end of the text");
  EXPECT_EQ(json_error("\n[]"), "a.json:2: the file must be an object, and here is `[]`");
  EXPECT_EQ(json_error("{}"), "a.json:1: there are no `nodes`");
  EXPECT_EQ(json_error("{\"nodes\": []}\nx"), "a.json:2: after the last bracket comes `x`");
  EXPECT_EQ(json_error("{\"nodes\": [}"), "a.json:1: a node must be an object, and here is `}`");
  EXPECT_EQ(json_error("{\"nodes\" []}"), "a.json:1: `:` is missing before `[]}`");
  EXPECT_EQ(json_error("{\"x\": [1 2]}"), "a.json:1: `,` or `]` is missing before `2]}`");
  EXPECT_EQ(json_error("{\"x\": nul}"), "a.json:1: a value is missing before `nul}`");
  EXPECT_EQ(json_error("{\"x\n"), "a.json:1: a string has no closing quote");
  EXPECT_EQ(json_error("{\"x\\q\""), "a.json:1: `\\q` means nothing in a string");
  EXPECT_EQ(json_error("{\"x\\u12"), "a.json:1: `\\u` needs four hexadecimal digits");
  EXPECT_EQ(nodes_error("{\"bytes\": 1}"), "a.json:2: a node has no `id`");
  EXPECT_EQ(nodes_error("{\"id\": 1}"), "a.json:2: node 1 has no `bytes`");
  EXPECT_EQ(nodes_error("{\"id\": 1,\n \"bytes\": -1}"),
            "a.json:3: bytes is -1; it cannot be negative");
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 1.5}"),
            "a.json:2: bytes must be a whole number, and here is `1.5}`");
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 9223372036854775808}"),
            "a.json:2: bytes is 9223372036854775808: more than 64 bits hold");
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 1, \"pure\": 1}"),
            "a.json:2: pure must be true or false, and here is `1}`");
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 1},\n{\"id\": 1, \"bytes\": 1}"),
            "a.json:3: id 1 was given in line 2 already");
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 1, \"inputs\": [\n2]}"),
            "a.json:3: node 1 reads 2, and no node has that id");
  EXPECT_EQ(nodes_error("{\"id\": 0, \"bytes\": 1},\n{\"id\": 1, \"bytes\": 1, \"inputs\": [0,0]}"),
            "a.json:3: node 1 names its input 0 twice");
  EXPECT_EQ(nodes_error("{\"id\": 1, \"bytes\": 1, \"overwrites\": [0]}"),
            "a.json:2: node 1 overwrites 0, which is none of its first 32 inputs");
  EXPECT_EQ(nodes_error("{\"id\": \"a\", \"bytes\": 1, \"inputs\": [\"b\"]},\n"
                        "{\"id\": \"b\", \"bytes\": 1, \"inputs\": [\"a\"]}"),
            "a.json:2: nodes wait for each other: a -> b -> a");
  EXPECT_EQ(nodes_error("{\"id\": 5, \"bytes\": 9223372036854775807}"),
            "a.json: the bytes of all nodes overflow at node 0, which has 9223372036854775807");
}

TEST(ProgramJson, DeepNestingIsPassedOver) {
  const std::string deep(200'000, '[');
  EXPECT_NE(json_error("{\"x\": " + deep), "no error");
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_EQ(json_error("{\"nodes\": [], \"x\": " + closed + "}"), "no error");
}

TEST(ProgramJson, SurvivesEveryPrefix) {
  const std::string text =
      R"({"name": "\ud83d\ude00 \n", "x": [true, 1e5], "nodes": [{"id": 1, "bytes": 2, "inputs": []}]})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(json_error(text.substr(0, length)), "no error") << length;
  }
  EXPECT_EQ(read_program(text, "a").name, "\xf0\x9f\x98\x80 \n");
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Formats, ReadTheSharedInstances) {
  const char* const folder = std::getenv("TENURE_PLANNER_DATA");
  if (folder == nullptr) GTEST_SKIP() << "TENURE_PLANNER_DATA names no folder of instances";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".csv") {
      EXPECT_FALSE(read_buffers(content(entry.path()), name).ids.empty()) << name;
    } else if (entry.path().extension() == ".json") {
      const Dag dag = read_program(content(entry.path()), name).dag;
      const OrderPlan plan = order(dag, {.steps = 300'000, .given = {}});
      EXPECT_EQ(validate(dag, plan), std::nullopt) << name;
      EXPECT_GT(dag.resident, 0) << name;
    }
  }
}

}  // namespace
}  // namespace tenure::planner
