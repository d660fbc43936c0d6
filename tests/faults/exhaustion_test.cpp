#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
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
int status_of(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Tensor first = ones({4});  // Tenure has begun
      const rlimit limit{address_space() + (256 * MiB), RLIM_INFINITY};
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
