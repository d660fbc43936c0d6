#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tenure/kernels/instruction_set.h"
#include "tests/support/scratch.h"

namespace tenure::test {

/// Runs a test of this program ("Suite.Name") again on each instruction set below this machine's.
/// The test writes to the file that the variable of the environment names; judge(set, name, file)
/// reads it.
template <class Judge>
void on_lower_sets(const std::string& test, const std::string& variable, const Judge& judge) {
  const Scratch scratch;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const auto& [set, name] :
       {std::pair(InstructionSet::sse4, "sse4"), std::pair(InstructionSet::avx2, "avx2")}) {
    if (set >= instruction_set()) continue;
    const std::string file = scratch / name;
    const std::string command = std::string("TENURE_MAX_ISA=") + name + " " + variable + "='" +
                                file + "' '" + program + "' --gtest_filter=" + test + " >/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream in(file);
    judge(set, name, in);
  }
}

}  // namespace tenure::test
