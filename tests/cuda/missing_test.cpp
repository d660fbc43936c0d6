#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tenure/kernels/cuda/compile/cache.h"
#include "tenure/kernels/cuda/create/create_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/memory/pool/chunk_heap.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/profile/history.h"
#include "tests/cuda/emulated.h"
#include "tests/support/scratch.h"

// What is missing, too old or broken is said, with what to do, and nothing else happens. Libraries
// are looked for once in a process: each test is one.

namespace tenure {
namespace {

namespace fs = std::filesystem;

/// Ends the process with 0 where cuda(0) throws a DeviceError with all of `parts` in its text.
void end_as_cuda_says(const std::vector<std::string>& parts) {
  try {
    cuda(0);
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    for (const std::string& part : parts) {
      if (text.find(part) == std::string::npos) {
        std::fprintf(stderr, "%s\nhas no: %s\n", text.c_str(), part.c_str());
        std::exit(1);
      }
    }
    std::exit(0);
  }
  std::exit(2);
}

/// Without kernels: those of one test are compiled as they come.
Device bare_gpu() {
  test::use_emulated_cuda();
  return cuda(0);
}

class CudaMissing : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CudaMissing, NoDriver) {
  const test::Scratch empty;
  EXPECT_EXIT(
      {
        setenv("TENURE_CUDA_LIBRARIES", (empty / "").c_str(), 1);
        end_as_cuda_says({"libcuda.so.1", "cannot open", "install NVIDIA's driver", "cuda(0)"});
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CudaMissing, NoCompiler) {
  const test::Scratch folder;
  fs::create_symlink(fs::path(TENURE_EMULATED_CUDA) / "libcuda.so.1", folder / "libcuda.so.1");
  EXPECT_EXIT(
      {
        setenv("TENURE_CUDA_LIBRARIES", (folder / "").c_str(), 1);
        end_as_cuda_says({"NVRTC", "libnvrtc.so.13", "install NVRTC"});
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CudaMissing, ADriverThatIsTooOld) {
  EXPECT_EXIT(
      {
        setenv("TENURE_EMULATED_CUDA", "11040", 1);
        test::use_emulated_cuda();
        end_as_cuda_says({"too old", "CUDA 11.4", "12.0 is needed"});
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CudaMissing, NoGpu) {
  EXPECT_EXIT(
      {
        setenv("TENURE_EMULATED_GPUS", "0", 1);
        test::use_emulated_cuda();
        end_as_cuda_says({"sees no GPU"});
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CudaMissing, NoGpuOfThatIndex) {
  EXPECT_EXIT(
      {
        test::use_emulated_cuda();
        bool threw = false;
        try {
          cuda(7);
        } catch (const DeviceError& error) {
          threw = std::string(error.what()).find("there are 2 GPUs") != std::string::npos;
        }
        std::exit(threw ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

/// A program that ends without a word, with work in the queue and tensors alive.
TEST_F(CudaMissing, NothingAtTheEndOfAProcess) {
  EXPECT_EXIT(
      {
        const Device device = bare_gpu();
        static Tensor kept = copy_to(ones({100000}), device);
        for (int i = 0; i < 50; ++i) kept = kept + 1;
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

/// With TENURE_CUDA_WAIT=1 the call that faults is the one that throws.
TEST_F(CudaMissing, NoOrderBetweenAFaultAndItsError) {
  EXPECT_EXIT(
      {
        setenv("TENURE_CUDA_WAIT", "1", 1);
        kernels::cuda::Gpu& gpu = kernels::cuda::gpu(bare_gpu());
        const kernels::cuda::TypedKernel* const fill =
            kernels::cuda::creation_family().kernels.front();
        int of_host = 0;
        try {
          gpu.launch("bad_op", *fill, int32, {.blocks = 1, .threads = 32},
                     kernels::cuda::FillArguments{.out = &of_host, .n = 1, .bytes = 1});
        } catch (const DeviceError& error) {
          std::exit(std::string(error.what()).find("in bad_op:") == std::string::npos ? 2 : 0);
        }
        std::exit(1);
      },
      testing::ExitedWithCode(0), "");
}

/// The first segment of a device's memory.
mem::PoolPart first_segment(Device device) {
  struct First final : mem::SegmentWatch {
    void part_came(const mem::PoolPart& part) noexcept override {
      if (found.begin == nullptr) found = part;
    }
    void part_went(const mem::PoolPart&) noexcept override {}
    mem::PoolPart found;
  } first;
  mem::heap(device).tell_segments(first);
  return first.found;
}

/// Takes the memory of `x` away from the GPU, then ends with 0 if what `use()` throws names an op
/// and the place of the call, which is at `line` of this file.
template <class Use>
void end_as_a_fault_says(const Tensor& x, const char* op, int line, const Use& use) {
  const auto unmap = test::emulators<int(const void*, std::size_t)>("cuMemUnmap");
  const mem::PoolPart segment = first_segment(x.device());
  if (unmap(segment.begin, segment.bytes) != 0) std::exit(3);
  try {
    use();
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    std::fputs(text.c_str(), stderr);
    const std::string place = "missing_test.cpp:" + std::to_string(line);
    const bool has_both = text.find("in " + std::string(op) + ":") != std::string::npos &&
                          text.find(place) != std::string::npos;
    std::exit(has_both ? 0 : 2);
  }
  std::exit(1);
}

/// On a GPU whose every op is waited for, and which has run those below.
Tensor waited_for() {
  setenv("TENURE_CUDA_WAIT", "1", 1);
  const Tensor x = copy_to(ones({1000}), bare_gpu());
  static_cast<void>(clone(x * 2));
  return x;
}
void fault_in_a_kernel() {
  const Tensor x = waited_for();
  end_as_a_fault_says(x, "mul", __LINE__, [&] { static_cast<void>(x * 2); });
}
void fault_in_a_copy() {
  const Tensor x = waited_for();
  end_as_a_fault_says(x, "clone", __LINE__, [&] { static_cast<void>(clone(x)); });
}

/// With TENURE_CUDA_WAIT=1 an op that faults throws in its own line, whatever it queues.
TEST_F(CudaMissing, NoDoubtOfTheLineOfAFault) {
  EXPECT_EXIT(fault_in_a_kernel(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(fault_in_a_copy(), testing::ExitedWithCode(0), "");
}

/// A program that is recorded and ends without a word, with work in the queue.
TEST_F(CudaMissing, NothingAtTheEndOfARecording) {
  const test::SharedScratch folder;
  const std::string file = folder / "all.tenure";
  EXPECT_EXIT(
      {
        setenv("TENURE_PROFILE", file.c_str(), 1);
        const Device device = bare_gpu();
        static Tensor kept = copy_to(ones({100000}), device);
        for (int i = 0; i < 50; ++i) kept = kept + 1;
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  const profile::Recorded recorded(file);
  EXPECT_TRUE(recorded.is_complete());
  const profile::History history(recorded, true);
  const auto kernels = std::count_if(
      history.spans.begin(), history.spans.end(),
      [](const profile::Span& span) { return span.thread == profile::Span::kNoThread; });
  EXPECT_EQ(kernels, 51);
}

/// A fault that shows where a program would be written down is told with its op, as ever.
TEST_F(CudaMissing, NoSilenceOfAFaultBeforeAProgram) {
  EXPECT_EXIT(
      {
        const Device device = bare_gpu();
        kernels::cuda::Gpu& gpu = kernels::cuda::gpu(device);
        const kernels::cuda::TypedKernel* const fill =
            kernels::cuda::creation_family().kernels.front();
        const auto f = function([](const Tensor& given) { return given * 2 + 1; });
        const Tensor x = copy_to(ones({4}), device);
        static_cast<void>(f(x));  // the next call is written down
        gpu.wait();
        int of_host = 0;
        gpu.launch("bad_op", *fill, int32, {.blocks = 1, .threads = 32},
                   kernels::cuda::FillArguments{.out = &of_host, .n = 1, .bytes = 1});
        test::emulators<int(CUstream_st*)>("cuStreamSynchronize")(gpu.stream());
        try {
          static_cast<void>(f(x));
        } catch (const DeviceError& error) {
          std::fputs(error.what(), stderr);
          std::exit(0);
        }
        std::exit(1);
      },
      testing::ExitedWithCode(0), "in bad_op");
}

/// A GPU that is newer than the compiler is given text that its driver makes code of.
TEST_F(CudaMissing, AnArchitectureThatTheCompilerKnows) {
  const test::Scratch cache;
  EXPECT_EXIT(
      {
        setenv("TENURE_EMULATED_CAPABILITY", "12", 1);
        setenv("TENURE_CACHE", (cache / "").c_str(), 1);
        const Tensor x = copy_to(ones({3}), bare_gpu()) + 1;
        std::exit(x.to_vector<float>()[2] == 2 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CudaMissing, AFolderForKernelsThatCannotBeWritten) {
  EXPECT_EXIT(
      {
        setenv("TENURE_CACHE", "/proc/no such folder", 1);
        const Tensor x = copy_to(ones({3}), bare_gpu()) + 1;
        std::exit(x.to_vector<float>()[2] == 2 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

/// Files of kernels that were damaged cost the time to compile them again.
TEST_F(CudaMissing, AFolderOfDamagedKernels) {
  const test::SharedScratch cache;
  const auto run = [&] {
    setenv("TENURE_CACHE", (cache / "").c_str(), 1);
    const Tensor x = copy_to(ones({3}), bare_gpu()) + 1;
    std::exit(x.to_vector<float>()[2] == 2 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  int damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache / "")) {
    if (!entry.is_regular_file()) continue;
    const std::uintmax_t bytes = entry.file_size();
    std::ofstream(entry.path(), std::ios::binary) << std::string(bytes, '?');
    ++damaged;
  }
  EXPECT_GT(damaged, 0);
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(CodeCache, GivesBackWhatItKeptAndNothingElse) {
  using kernels::cuda::CodeCache;
  using kernels::cuda::CodeKey;
  const test::Scratch scratch;
  const CodeCache cache(scratch / "deep/cuda");
  const CodeKey key{1, 2};
  EXPECT_EQ(cache.find(key), "");
  const std::string code(1000, 'c');
  cache.keep(key, code);
  EXPECT_EQ(cache.find(key), code);
  EXPECT_EQ(cache.find({1, 3}), "") << "another program of the same hash";
  EXPECT_EQ(cache.find({2, 2}), "");
  // One file, nothing beside it.
  const auto first = fs::directory_iterator(cache.folder());
  ASSERT_EQ(std::distance(fs::begin(first), fs::end(first)), 1);
  const fs::path file = fs::directory_iterator(cache.folder())->path();
  // Cut off, and changed in every place.
  for (std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{24}, std::size_t{600}}) {
    cache.keep(key, code);
    fs::resize_file(file, bytes);
    EXPECT_EQ(cache.find(key), "") << bytes;
  }
  for (std::streamoff at = 0; at < 1024; at += 13) {
    cache.keep(key, code);
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(at).put('!');
    EXPECT_EQ(cache.find(key), "") << at;
  }
}

TEST(CodeCache, LetsGoOfWhatWasNotUsedForLongest) {
  using kernels::cuda::CodeCache;
  const test::Scratch scratch;
  const CodeCache cache(scratch / "cuda", 2500);
  const std::string code(1000, 'c');
  for (std::uint64_t i = 0; i < 2; ++i) cache.keep({i, i}, code);
  const auto age = [&](std::uint64_t name, int seconds) {
    for (const auto& entry : fs::directory_iterator(cache.folder())) {
      if (entry.path().stem().string().back() == static_cast<char>('0' + name)) {
        fs::last_write_time(entry.path(),
                            fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
      }
    }
  };
  age(0, 10);
  age(1, 20);
  cache.keep({2, 2}, code);
  EXPECT_NE(cache.find({0, 0}), "");
  EXPECT_EQ(cache.find({1, 1}), "");
  EXPECT_NE(cache.find({2, 2}), "");
}

}  // namespace
}  // namespace tenure
