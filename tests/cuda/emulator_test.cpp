#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tenure/kernels/cuda/create/create_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tests/cuda/emulated.h"

// The emulated GPU is no kinder than a real one: what ends a kernel there, or gives it numbers that
// nobody knows, does so here. Each kernel that ends the GPU has a process of its own.

namespace tenure {
namespace {

using kernels::cuda::FillArguments;

/// Launches two blocks of a kernel of 64 threads with this body, which has `out`, of 128 floats.
std::vector<float> run(const std::string& body) {
  test::use_emulated_cuda();
  kernels::cuda::Gpu& gpu = kernels::cuda::gpu(cuda(0));
  auto* const out = reinterpret_cast<float*>(gpu.pin(128 * sizeof(float)));
  std::fill_n(out, 128, 0.0f);
  const kernels::cuda::KernelCode code{
      .file = "tenure/kernels/cuda/attention/tensor_cores.cu",
      .text = fmt::format("struct FillArguments {{ void* out; std::uint64_t n, bytes; }};\n"
                          "struct alignas(16) Four {{ float of[4]; }};\n"
                          "inline void tried(const FillArguments& a) {{\n"
                          "  float* const out = static_cast<float*>(a.out);\n"
                          "  const unsigned lane = threadIdx.x % 32;\n{}}}\n"
                          "TENURE_KERNEL(tried_kernel, 64, FillArguments, tried)\n",
                          body),
      .names = {"tried_kernel"}};
  const FillArguments arguments{.out = out, .n = 128, .bytes = 0};
  gpu.launch("tried", gpu.kernels().find(code)[0],
             {.blocks = 2, .threads = 64, .shared_bytes = 4096}, &arguments, sizeof arguments);
  gpu.wait();
  return {out, out + 128};
}

/// Ends the process with 0 where the kernel ends the GPU.
void end_as_faulting(const std::string& body, const std::string& error) {
  try {
    run(body);
  } catch (const DeviceError& thrown) {
    std::exit(std::string(thrown.what()).find(error) == std::string::npos ? 2 : 0);
  }
  std::exit(1);
}

class EmulatedGpuFaults : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EmulatedGpuFaults, BarriersThatAreNotTheSame) {
  EXPECT_EXIT(
      end_as_faulting("if (threadIdx.x < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}\n",
                      "LAUNCH_FAILED"),
      testing::ExitedWithCode(0), "different barriers");
}

TEST_F(EmulatedGpuFaults, ShufflesThatAreNotTheSame) {
  EXPECT_EXIT(end_as_faulting("out[threadIdx.x] = lane % 2 == 0\n"
                              "    ? __shfl_xor_sync(0xffffffffu, 1.0f, 1)\n"
                              "    : __shfl_xor_sync(0xffffffffu, 2.0f, 1);\n",
                              "LAUNCH_FAILED"),
              testing::ExitedWithCode(0), "different places");
}

TEST_F(EmulatedGpuFaults, ShufflesOutOfTheirMask) {
  EXPECT_EXIT(
      end_as_faulting("if (lane < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffu, 1.0f, 16);\n",
                      "LAUNCH_FAILED"),
      testing::ExitedWithCode(0), "outside the mask");
}

TEST_F(EmulatedGpuFaults, AddressesThatAreNoMultiples) {
  EXPECT_EXIT(end_as_faulting("*reinterpret_cast<Four*>(out + 2) = {};\n", "MISALIGNED_ADDRESS"),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_as_faulting("TENURE_SHARED(float, room);\n"
                              "begin_copy(room + 4 * threadIdx.x, out + 1);\n",
                              "LAUNCH_FAILED"),
              testing::ExitedWithCode(0), "no multiple");
}

TEST(EmulatedGpu, SharedMemoryHasNoNumbersAtFirst) {
  const std::vector<float> got =
      run("__shared__ float room[64];\n"
          "TENURE_SHARED(float, given);\n"
          "out[blockIdx.x * 64 + threadIdx.x] =\n"
          "    lane == 0 ? room[threadIdx.x] : given[threadIdx.x];\n"
          "room[threadIdx.x] = given[threadIdx.x] = 1;\n");
  for (const float number : got) EXPECT_NE(number, number);
}

TEST(EmulatedGpu, CopiesIntoSharedMemoryAreThereWhenTheirGroupIs) {
  // The first of two groups has come, the second has not; the thread waits for its own ones alone.
  const std::vector<float> got =
      run("TENURE_SHARED(Four, room);\n"
          "float* const numbers = reinterpret_cast<float*>(room + 64 * 2);\n"
          "out[threadIdx.x * 2] = 1;\n"
          "__syncthreads();\n"
          "begin_copy(&room[threadIdx.x], out);\n"
          "end_copies();\n"
          "begin_copy_of_word(&numbers[threadIdx.x], out, true);\n"
          "end_copies();\n"
          "wait_for_copies<1>();\n"
          "const float first = room[threadIdx.x].of[2], second = numbers[threadIdx.x];\n"
          "wait_for_copies<0>();\n"
          "const float third = numbers[threadIdx.x];\n"
          "__syncthreads();\n"
          "if (threadIdx.x != 0 || blockIdx.x != 1) return;\n"
          "out[1] = first;\nout[3] = second;\nout[5] = third;\n");
  EXPECT_EQ(got[1], 1);
  EXPECT_NE(got[3], got[3]);
  EXPECT_EQ(got[5], 1);
}

}  // namespace
}  // namespace tenure
