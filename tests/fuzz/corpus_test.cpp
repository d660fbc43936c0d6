#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fuzz/formats.h"
#include "tests/support/scratch.h"

// Every file of the corpus, in every build.

namespace tenure::fuzz {
namespace {

class Corpus : public testing::TestWithParam<Format> {};

TEST_P(Corpus, IsReadOrRefused) {
  int files = 0;
  const auto folder = std::filesystem::path(TENURE_CORPUS) / GetParam().name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_NO_THROW(survive(GetParam(), test::read_file(entry.path().string()))) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, Corpus, testing::ValuesIn(formats().begin(), formats().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenure::fuzz
