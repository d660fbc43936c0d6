#include <gtest/gtest.h>

#include <cstdlib>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/nn/attention.h"
#include "tenure/tenure.h"
#include "tests/support/same_bits.h"

// What only a real GPU can show: libraries that the emulated one does not have. Skipped where there
// is none.

namespace tenure {
namespace {

/// Libraries are found once in a process: these tests are a program run of their own.
class RealGpu : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("TENURE_CUDA_LIBRARIES");
    try {
      device_ = cuda();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    if (cuda_report().gpus.front().name == "emulated GPU") {
      GTEST_SKIP() << "this process has begun with the emulated one";
    }
  }
  Device device_ = cpu;
};

/// The largest difference of elements, relative to the largest element.
double difference(const Tensor& there, const Tensor& expected) {
  const Tensor here = cast(there.to(cpu), float32);
  return max(abs(here - expected)).item<float>() / max(abs(expected)).item<float>();
}

/// Matrices of 16-bit floats whose rows begin anywhere are multiplied in pieces: along the rows or
/// the columns of the result, or along what is summed over.
TEST_F(RealGpu, MultipliesMatricesInPieces) {
  seed(3);
  struct Case {
    std::int64_t m, n, k;
    bool a_is_transposed, b_is_transposed;
  };
  for (const DType type : {bfloat16, float16}) {
    for (const Case& c :
         {Case{1024, 5003, 1024, false, false}, Case{1024, 5003, 1024, false, true},
          Case{1024, 1024, 5003, false, true}, Case{1024, 5001, 1024, true, false},
          Case{520, 4099, 2056, true, false}, Case{1024, 1032, 4097, false, true},
          Case{5003, 1024, 1024, true, false}, Case{4099, 1024, 1032, true, true}}) {
      const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool is_transposed) {
        Tensor made =
            cast(normal(is_transposed ? Shape{columns, rows} : Shape{rows, columns}), type);
        return is_transposed ? transpose(made) : made;
      };
      const Tensor a = matrix(c.m, c.k, c.a_is_transposed);
      const Tensor b = matrix(c.k, c.n, c.b_is_transposed);
      const auto there = [&](const Tensor& x, bool is_transposed) {
        return is_transposed ? transpose(transpose(x).to(device_)) : x.to(device_);
      };
      const Tensor made = matmul(there(a, c.a_is_transposed), there(b, c.b_is_transposed));
      const Tensor expected = matmul(cast(a, float32), cast(b, float32));
      EXPECT_LT(difference(made, expected), type == bfloat16 ? 4e-3 : 5e-4)
          << c.m << ' ' << c.n << ' ' << c.k << ' ' << c.b_is_transposed;
      test::expect_same_bits(matmul(there(a, c.a_is_transposed), there(b, c.b_is_transposed)),
                             made);
    }
  }
}

/// Tensor cores read tiles as only they do; there are enough to go around all stages.
TEST_F(RealGpu, AttendsByTensorCores) {
  seed(4);
  for (const DType type : {bfloat16, float16}) {
    for (const std::int64_t width : {64, 40, 128}) {
      for (const bool causal : {true, false}) {
        const auto make = [&](std::int64_t length) {
          return cast(normal({2, length, 3, width}), type);
        };
        const std::vector<Tensor> made{make(300), make(500), make(500), make(300)};
        const auto run = [&](const auto& there) {
          std::vector<Tensor> x;
          for (const Tensor& one : made) x.push_back(transpose(there(one), 1, 2));
          std::vector<Tensor> results = ops::run_many_now(
              ops::attention_gradient_record(), std::vector<Operand>(x.begin(), x.end()),
              ops::Attributes(causal, false, 0.0), Site::current());
          results.push_back(attention(x[0], x[1], x[2], {.causal = causal}));
          return results;
        };
        const auto on_gpu = [&] { return run([&](const Tensor& x) { return x.to(device_); }); };
        const std::vector<Tensor> got = on_gpu();
        const std::vector<Tensor> again = on_gpu();
        const std::vector<Tensor> expected = run([](const Tensor& x) { return cast(x, float32); });
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_LT(difference(got[i], expected[i]), type == bfloat16 ? 0.01 : 1.5e-3)
              << i << ' ' << width << ' ' << causal;
          test::expect_same_bits(again[i].to(cpu), got[i].to(cpu));
        }
      }
    }
  }
}

TEST_F(RealGpu, RoundsToTf32WhereThatIsAllowed) {
  seed(4);
  const Tensor a = normal({512, 512});
  const Tensor expected = matmul(cast(a, float64), cast(a, float64));
  const auto error = [&] {
    return difference(matmul(a.to(device_), a.to(device_)), cast(expected, float32));
  };
  EXPECT_LT(error(), 2e-6);
  set_cuda_tf32(true);
  EXPECT_GT(error(), 2e-5);
  EXPECT_LT(error(), 2e-3);
  set_cuda_tf32(false);
  EXPECT_LT(error(), 2e-6);
}

/// A step that is replayed has the numbers, the memory and the plan of one that is not.
TEST_F(RealGpu, ReplaysTraining) {
  const auto losses = [&](bool convolves, bool is_profiled) {
    seed(7);
    const nn::Sequential model =
        convolves ? nn::Sequential(nn::Conv2d(1, 16, 3), nn::BatchNorm(16), nn::Relu(),
                                   nn::Conv2d(16, 32, 3, {.stride = 2, .padding = 1}),
                                   nn::MaxPool2d(2), nn::Flatten(), nn::Dense(32, 10))
                  : nn::Sequential(nn::Dense(64, 128), nn::Gelu(), nn::LayerNorm(128),
                                   nn::Dense(128, 10));
    model.to(device_);
    nn::AdamW adam(model.trainable(), 0.01);
    nn::Trainer trainer(
        model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, adam);
    std::vector<double> found;
    for (int step = 0; step < 20; ++step) {
      const Tensor x = normal(convolves ? Shape{32, 6, 6, 1} : Shape{32, 64}).to(device_);
      const Tensor target = randint(0, 10, {32}).to(device_);
      std::optional<Profile> profile;  // has each kernel, so that it is not replayed
      if (is_profiled) profile.emplace(testing::TempDir() + "not_replayed");
      found.push_back(trainer.step(x, target).loss);
    }
    return found;
  };
  for (const bool convolves : {false, true}) {
    const std::vector<double> found = losses(convolves, false);
    EXPECT_EQ(found, losses(convolves, true));
    EXPECT_LT(found.back(), found.front() + 2) << "it diverges";
  }
}

/// What the driver says is taken is the pool's and what others take.
TEST_F(RealGpu, CountsAllOfItsMemory) {
  const DeviceScope scope(device_);
  const std::int64_t outside = cuda_memory_outside(device_);
  const std::int64_t before = memory(device_).reserved_bytes;
  const Tensor x = zeros({std::int64_t{1} << 30}, uint8);
  EXPECT_GE(memory(device_).reserved_bytes - before, std::int64_t{1} << 30);
  EXPECT_NEAR(static_cast<double>(cuda_memory_outside(device_)), static_cast<double>(outside),
              64.0 * (1 << 20));
}

}  // namespace
}  // namespace tenure
