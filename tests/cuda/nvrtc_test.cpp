#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tenure/kernels/cuda/compile/compiler.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/tenure.h"
#include "tests/cuda/every_kernel.h"

// Every kernel that there can be of the list of ops, compiled for a real architecture by the real
// NVRTC, which needs no GPU: to the text that drivers take in every type, and to machine code,
// which takes most of the time, in one type of each.

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

void expect_compiled(std::span<const KernelCode> codes, Target target) {
  // What is made is not run: the newer compilers need not make it fast.
  const std::string program = program_of(codes.front().file, codes);
  const bool is_new = nvrtc_version().starts_with("13.");
  const Compiled compiled =
      !is_new          ? compile(program, target)
      : target.is_text ? compile(program, target, {"--Ofast-compile=max"})
                       : compile(program, target, {"--Ofast-compile=max", "--ptxas-options=-O0"});
  ASSERT_TRUE(compiled.problem.empty()) << compiled.problem;
  for (const KernelCode& code : codes) {
    for (const std::string& name : code.names) {
      EXPECT_NE(compiled.code.find(name), std::string::npos) << name;
    }
  }
}

void expect_compiled(const std::vector<test::KernelBatch>& batches) {
  for (const test::KernelBatch& batch : batches) {
    expect_compiled(batch.all, {.architecture = kArchitecture, .is_text = true});
    expect_compiled(batch.widest, {.architecture = kArchitecture});
  }
}

TEST(Nvrtc, CompilesEveryKernelOfEveryFamily) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  const std::vector<test::KernelBatch> families = test::every_family();
  EXPECT_GE(families.size(), 3u);
  expect_compiled(families);
}

TEST(Nvrtc, CompilesProductsWithALoopBehindThem) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  const ops::OpRecord& add = *ops::find_op("add");
  const ops::Loop loop = ops::loop_of(add, ops::elementwise_types(add, DType::float32));
  const PrintedNeighbours after{.after = &print_struct(loop, loop.in_types)};
  const Types floats(DType::float32, DType::float32, DType::float32);
  std::set<std::string> files;
  for (const TypedKernel* const kernel : product_family().kernels) {
    const bool is_of_floats = !kernel->first.empty();
    const auto& types = kernel->types;
    if (!is_of_floats && std::find(types.begin(), types.end(), floats) == types.end()) continue;
    const KernelCode code = kernel->code(is_of_floats ? Types() : floats, after);
    expect_compiled({&code, 1}, {.architecture = kArchitecture, .is_text = true});
    files.insert(kernel->file);
  }
  EXPECT_EQ(files.size(), 3u);
}

TEST(Nvrtc, CompilesTheLoopOfEveryElementwiseOpInEveryType) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ops::OpRecord* const op : ops::all_ops()) {
    EXPECT_EQ(has_loops(*op), op->elementwise != nullptr) << op->name;
  }
  const std::vector<test::KernelBatch> loops = test::every_loop();
  std::size_t kernels = 0;
  for (const test::KernelBatch& batch : loops) kernels += batch.all.size();
  EXPECT_GT(kernels, 400u);
  expect_compiled(loops);
}

/// A GPU that the compiler does not know yet gets what its driver can make code of.
TEST(Nvrtc, ServesArchitecturesNewerThanItself) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  EXPECT_FALSE(target_for(kArchitecture).is_text);
  EXPECT_EQ(target_for(kArchitecture).architecture, kArchitecture);
  const Target newest = target_for(990);
  EXPECT_TRUE(newest.is_text);
  EXPECT_GE(newest.architecture, kArchitecture);
  EXPECT_LT(newest.architecture, 990);
}

}  // namespace
}  // namespace tenure::kernels::cuda
