#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

#include "tenure/ops/core/record.h"
#include "tests/support/scratch.h"

// What is written about elementwise ops beside their structs.

namespace tenure {
namespace {

std::string read_source(const std::string& path) {
  std::string text = test::read_file(std::string(TENURE_SOURCE_DIR) + "/" + path);
  EXPECT_NE(text, "") << path;
  return text;
}

/// By name, "name(a, b)" as a header declares it.
std::map<std::string, std::string> declared(const std::string& header) {
  std::map<std::string, std::string> found;
  const std::regex declaration(R"(\nTensor (\w+)\(([^;]*)\);)");
  const std::regex parameter(R"(const Operand& (\w+))");
  const std::string text = read_source(header);
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
    const std::string parameters = (*at)[2];
    std::string& signature = found[(*at)[1]];
    signature = (*at)[1].str() + '(';
    for (std::sregex_iterator p(parameters.begin(), parameters.end(), parameter); p != end; ++p) {
      signature += (signature.ends_with('(') ? "" : ", ") + (*p)[1].str();
    }
    signature += ')';
  }
  return found;
}

TEST(ElementwiseText, SignaturesNameTheArgumentsThatTheHeadersDeclare) {
  std::map<std::string, std::string> functions = declared("tenure/ops/elementwise.h");
  functions.merge(declared("tenure/ops/derivatives.h"));
  int compared = 0;
  for (const ops::OpRecord* const op : ops::all_ops()) {
    if (op->elementwise == nullptr) continue;
    EXPECT_EQ(functions[op->name], op->signature);
    ++compared;
  }
  EXPECT_GT(compared, 70);
}

TEST(ElementwiseText, TheGuideShowsAnOpAsItIsWritten) {
  const std::string guide = read_source("CONTRIBUTING.md");
  const std::size_t begin = guide.find("## An elementwise op");
  const std::string section = guide.substr(begin, guide.find("\n## ", begin + 1) - begin);
  const std::string sources = read_source("tenure/ops/elementwise/activation-inl.h") +
                              read_source("tenure/ops/elementwise.h");
  const std::string opening = "```c++\n";
  int blocks = 0;
  for (std::size_t at = section.find(opening); at != std::string::npos;
       at = section.find(opening, at + 1)) {
    const std::size_t from = at + opening.size();
    const std::string block = section.substr(from, section.find("```", from) - from);
    EXPECT_NE(sources.find(block), std::string::npos) << block;
    ++blocks;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace tenure
