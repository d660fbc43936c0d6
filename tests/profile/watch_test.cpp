#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "tenure/tenure.h"
#include "tests/profile/scratch.h"
#include "tests/support/share.h"

// A program that is watched while it runs.

namespace tenure {
namespace {

using test::ScratchFile;

TEST(Watch, AnswersItsOwnUser) {
  const Watch watch;
  const Tensor x = ones({100});
  struct stat status {};
  ASSERT_EQ(stat(watch.socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THROW(Watch(), ProfileError);
  profile::WatchClient client(getpid());
  for (int i = 0; i < 3; ++i) {
    const std::string answer = client.snapshot();
    EXPECT_NE(answer.find("\"op\":\"ones\""), std::string::npos) << answer;
  }
}

TEST(Watch, AnswersSeveralAtOnce) {
  const Watch watch;
  profile::WatchClient first(getpid());
  profile::WatchClient second(getpid());
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(first.snapshot().empty());
    EXPECT_FALSE(second.snapshot().empty());
  }
}

TEST(Watch, AForkedChildLeavesItToItsParent) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  auto watch = std::make_unique<Watch>();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // it must not wait for a thread that it does not have
    watch.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  profile::WatchClient client(getpid());
  EXPECT_FALSE(client.snapshot().empty()) << "the child took the socket away";
}

TEST(Watch, TakesNoStandardDescriptor) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    const Watch watch;
    const bool are_free = fcntl(STDIN_FILENO, F_GETFD) == -1 && fcntl(STDOUT_FILENO, F_GETFD) == -1;
    _exit(are_free ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Watch, WaitsForADescriptorWithoutWork) {
  const Watch watch;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int free = dup(0);
  close(free);
  const rlimit one_more{.rlim_cur = static_cast<rlim_t>(free) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  profile::WatchClient client(getpid());  // has the last one: nothing is left for the other side
  const std::clock_t start = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const std::clock_t used = std::clock() - start;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(used, CLOCKS_PER_SEC / 10) << "of four tenths of a second";
  EXPECT_FALSE(client.snapshot().empty()) << "it is served as soon as there is one";
}

TEST(Watch, SaysWhyItCannot) {
  EXPECT_THROW(profile::WatchClient client(getpid()), ProfileError);
  EXPECT_THROW(profile::WatchClient client(999'999'999), ProfileError);
  const ScratchFile folder;
  ASSERT_EQ(mkdir(folder.path().c_str(), 0755), 0);
  const char* const before = getenv("XDG_RUNTIME_DIR");
  const std::string old = before == nullptr ? "" : before;
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  EXPECT_THROW(Watch(), ProfileError) << "others can look into the folder";
  before == nullptr ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", old.c_str(), 1);
  EXPECT_NO_THROW(Watch()) << "a refused one leaves nothing behind";
}

}  // namespace
}  // namespace tenure
