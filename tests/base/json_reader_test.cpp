#include "tenure/base/json_reader.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/base/text.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_throws;

std::string read_string(std::string_view text) { return JsonReader(text, "x").read_string("it"); }

TEST(JsonReader, StringsComeBackAsTheyWere) {
  using namespace std::string_literals;
  const std::string text =
      "quote \" slash \\ / \b\f\n\r\t \x01\x1f \0 zero, \xc3\xa4 \xf0\x9f\x98\x80"s;
  EXPECT_EQ(read_string(json_string(text)), text);
  EXPECT_EQ(json_string("a\"\\\n\x01"), R"("a\"\\\n\u0001")");
}

TEST(JsonReader, JoinsHalvesOfACharacter) {
  EXPECT_EQ(read_string(R"("\ud83d\ude00\u00e4")"), "\xf0\x9f\x98\x80\xc3\xa4");
  for (const char* const half :
       {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")"}) {
    expect_throws<ValueError>([&] { read_string(half); }, {"half of a character"});
  }
}

TEST(JsonReader, DeepNestingNeedsNoStack) {
  const std::string deep(1'000'000, '[');
  expect_throws<ValueError>([&] { JsonReader(deep, "x").skip_value(); }, {"the end of the text"});
  std::string closed = deep + std::string(1'000'000, ']');
  JsonReader json(closed, "x");
  json.skip_value();
  json.expect_end();
}

TEST(JsonReader, NamesTheLine) {
  JsonReader json("{\n\n  \"a\": tru }", "f.json");
  expect_throws<ValueError>(
      [&] { json.read_object("it", [&](const std::string&) { json.read_bool("a"); }); },
      {"f.json:3: a must be true or false"});
}

}  // namespace
}  // namespace tenure
