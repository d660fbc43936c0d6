#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tenure/kernels/cuda/compile/compiler.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/tenure.h"
#include "tests/cuda/every_loop.h"

// Every kernel that there can be of the list of ops, compiled for a real architecture by the real
// NVRTC, which needs no GPU.

namespace tenure::kernels::cuda {
namespace {

constexpr int kArchitecture = 90;

/// Libraries are found once in a process: these tests are a program run of their own. Empty: there
/// is none.
std::string nvrtc_version() {
  unsetenv("TENURE_CUDA_LIBRARIES");
  for (const CudaLibrary& library : cuda_report().libraries) {
    if (library.name == "NVRTC" && library.problem.empty()) return library.version;
  }
  return {};
}
bool has_nvrtc() { return !nvrtc_version().empty(); }

void expect_compiled(const std::string& file, std::span<const KernelCode> codes) {
  // What is made is not run: the newer compilers need not make it fast.
  const std::string program = program_of(file, codes);
  const Compiled compiled =
      nvrtc_version().starts_with("13.")
          ? compile(program, kArchitecture, {"--Ofast-compile=max", "--ptxas-options=-O0"})
          : compile(program, kArchitecture);
  ASSERT_TRUE(compiled.problem.empty()) << compiled.problem;
  for (const KernelCode& code : codes) {
    for (const std::string& name : code.names) {
      EXPECT_NE(compiled.code.find(name), std::string::npos) << name;
    }
  }
}

TEST(Nvrtc, CompilesEveryKernelOfEveryFamily) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  std::map<std::string, std::vector<KernelCode>> by_file;
  for (const Family& family : families()) {
    for (const TypedKernel* const kernel : family.kernels) {
      for (const Types& types : kernel->types) by_file[kernel->file].push_back(kernel->code(types));
    }
  }
  EXPECT_GE(by_file.size(), 3u);
  for (const auto& [file, codes] : by_file) expect_compiled(file, codes);
}

TEST(Nvrtc, CompilesTheLoopOfEveryElementwiseOpInEveryType) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ops::OpRecord* const op : ops::all_ops()) {
    EXPECT_EQ(has_loops(*op), op->elementwise != nullptr) << op->name;
  }
  const std::vector<KernelCode> loops = test::every_loop();
  EXPECT_GT(loops.size(), 400u);
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t i = 0; i < loops.size(); i += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, loops.size() - i);
    expect_compiled(loops[i].file, std::span(loops).subspan(i, n));
  }
}

}  // namespace
}  // namespace tenure::kernels::cuda
