#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "tenure/tenure.h"

namespace tenure {
namespace {

TEST(Fork, AChildComputesOnOneThread) {
  const Tensor a = normal({512, 512});
  const Tensor large = normal({1 << 22});
  const double expected = sum(matmul(a, a)).item<float>();
  sum(tanh(large));  // OpenMP's threads are there now

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    set_num_threads(8);
    const double product = sum(matmul(a, a)).item<float>();
    tanh(large);
    _exit(num_threads() == 1 && std::abs(product - expected) < 1e-3 * std::abs(expected) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GE(num_threads(), 1);
}

}  // namespace
}  // namespace tenure
