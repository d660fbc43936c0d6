#include "tenure/base/text.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/base/json_reader.h"

namespace tenure {
namespace {

TEST(Text, PlainTextCommandsNoTerminal) {
  EXPECT_EQ(plain("caf\xc3\xa9 \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_EQ(plain("\x1b[2J\n\x7f"), "?[2J??");
  EXPECT_EQ(plain("\xc2\x9b"
                  "2J \xff"),
            "?2J ?");
  EXPECT_EQ(json_string("\x1b\xc2\x9b"
                        "2J"),
            R"("\u001b\u009b2J")");
}

TEST(Text, ExcerptsAreShortAndCutNoCharacter) {
  EXPECT_EQ(excerpt("abc", 3), "abc");
  EXPECT_EQ(excerpt("abcd", 3), "abc...");
  EXPECT_EQ(excerpt("ab\xc3\xa9", 3), "ab...");
  EXPECT_EQ(excerpt("\x80\x80\x80\x80", 2), "...");
}

TEST(Text, Utf8) {
  EXPECT_EQ(find_invalid_utf8("caf\xc3\xa9"), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8("ab\xc3"), 2u);
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u) << "half of a pair";
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0u) << "longer than need be";
}

TEST(Text, ErrorsQuoteNoWholeFile) {
  const std::string long_name(1 << 20, 'k');
  EXPECT_LT(std::string(FormatError("file", 0, "the name " + long_name).what()).size(), 1000u);
  JsonReader json(R"({"a": 1})", "file");
  try {
    json.read_object("it", [&](const std::string&) { json.fail(1, "no " + long_name); });
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000u);
  }
}

}  // namespace
}  // namespace tenure
