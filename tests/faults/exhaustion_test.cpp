#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tenure/tenure.h"

// The system itself runs out of memory, in a child with little address space.

namespace tenure {
namespace {

constexpr int kTyped = 7;
constexpr int kUntyped = 8;

std::size_t address_space() {
  std::size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) return 0;
  std::fclose(file);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// How a child ends that calls `f` with few more bytes than it has.
template <class F>
int status_of(const F& f, std::size_t more = 256 * MiB) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Tensor first = ones({4});  // Tenure has begun
      const rlimit limit{address_space() + more, RLIM_INFINITY};
      setrlimit(RLIMIT_AS, &limit);
      f();
    } catch (const OutOfMemory& error) {
      const bool says_so = std::string(error.what()).find("the system has no") == 0;
      _exit(says_so && error.cause() == OutOfMemory::Cause::system ? kTyped : kUntyped);
    } catch (...) {
      _exit(kUntyped);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Set in the program that is started again: it has started no threads yet.
constexpr const char* kVariable = "TENURE_TEST_NO_THREADS";

TEST(Exhaustion, Program) {
  if (std::getenv(kVariable) == nullptr) GTEST_SKIP() << "runs as a child of the test below";
  set_num_threads(1);
  const Tensor a = ones({512, 512});
  { const Tensor product = matmul(a, a); }  // the pool has the memory
  const data::Dataset rows = data::from_tensors({arange(0, 12)}).batch(4).prefetch(2);
  const rlimit limit{address_space() + (1 * MiB), RLIM_INFINITY};  // no stack of a thread
  setrlimit(RLIMIT_AS, &limit);
  set_num_threads(8);
  const Tensor product = matmul(a, a);
  EXPECT_EQ(product.span<float>()[7], 512);
  std::int64_t batches = 0;
  for (const data::Batch& batch : rows) batches += batch[0].dim(0) == 4 ? 1 : 0;
  EXPECT_EQ(batches, 3);
  EXPECT_THROW(Watch(), ProfileError);
}

TEST(Exhaustion, WithoutThreadsTheOneComputes) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers take address space of their own";
#endif
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv(kVariable, "1", 1);
    execl("/proc/self/exe", "exhaustion_test", "--gtest_filter=Exhaustion.Program",
          "--gtest_brief=1", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Exhaustion, IsATypedErrorWhateverTakesTheMemory) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers take address space of their own";
#endif
  EXPECT_EQ(status_of([] {
              std::vector<Tensor> many;
              many.reserve(4'000'000);
              for (;;) many.push_back(ones({4}));
            }),
            kTyped);
  EXPECT_EQ(status_of([] {
              std::vector<Tensor> views;
              views.reserve(4'000'000);
              const Tensor x = ones({4, 4});
              for (;;) views.push_back(transpose(x));
            }),
            kTyped);
  EXPECT_EQ(status_of([] {
              std::vector<Tensor> large;
              for (;;) large.push_back(ones({1 << 20}));
            }),
            kTyped);
  EXPECT_EQ(status_of([] {
              std::vector<Tensor> named;
              named.reserve(4'000'000);
              for (;;) {
                named.push_back(ones({4}));
                named.back().set_name(std::string(1000, 'n'));
              }
            }),
            kTyped);
  EXPECT_EQ(status_of(
                [] {
                  Graph graph;
                  const Tensor x = graph.placeholder("x", DType::float32, {4});
                  const Tensor one = ones({4});
                  Tensor y = x;
                  for (int i = 0; i < 200; ++i) y = tanh(y * 2 + i);
                  Session session(graph, {.cache_limit = std::int64_t{1} << 40});
                  for (int i = 0;; ++i) static_cast<void>(session.run(y + i, {{x, one}}));
                },
                16 * MiB),
            kTyped);
  EXPECT_EQ(status_of(
                [] {
                  const auto f = function(
                      [](const Tensor& x, int times) {
                        Tensor y = x;
                        for (int i = 0; i < times; ++i) y = tanh(y * 2 + i);
                        return y;
                      },
                      {.cache_limit = std::int64_t{1} << 40, .warn_after = 0});
                  const Tensor one = ones({4});
                  for (int i = 100;; ++i) static_cast<void>(f(one, i));
                },
                16 * MiB),
            kTyped);
  EXPECT_EQ(status_of([] {
              GradientTape tape;
              Tensor x = ones({4});
              tape.watch(x);
              for (;;) x = x * 2;
            }),
            kTyped);
}

}  // namespace
}  // namespace tenure
