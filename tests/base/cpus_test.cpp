#include "tenure/base/cpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace tenure {
namespace {

/// A folder with the system's files, for as long as it lives.
class System {
 public:
  explicit System(std::string_view name)
      : root_(std::filesystem::temp_directory_path() /
              ("tenure_cpus_" + std::string(name) + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~System() { std::filesystem::remove_all(root_); }
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  System& file(const std::string& path, std::string_view text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  std::optional<int> cpus() const { return cpus_of_control_group(root_); }

 private:
  std::filesystem::path root_;
};

TEST(Cpus, AreAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(available_cpus(), 1);
  EXPECT_LE(available_cpus(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Cpus, WithoutAControlGroupThereIsNoLimit) {
  EXPECT_EQ(System("none").cpus(), std::nullopt);
  EXPECT_EQ(System("max").file("sys/fs/cgroup/cpu.max", "max 100000\n").cpus(), std::nullopt);
  EXPECT_EQ(System("odd").file("sys/fs/cgroup/cpu.max", "some text").cpus(), std::nullopt);
}

TEST(Cpus, OfAContainerAreThoseThatItHasTimeOf) {
  EXPECT_EQ(System("two").file("sys/fs/cgroup/cpu.max", "200000 100000\n").cpus(), 2);
  EXPECT_EQ(System("part").file("sys/fs/cgroup/cpu.max", "150000 100000\n").cpus(), 2);
  EXPECT_EQ(System("little").file("sys/fs/cgroup/cpu.max", "10000 100000\n").cpus(), 1);
}

TEST(Cpus, TheLeastOfTheGroupAndThoseAboveItCounts) {
  System system("nested");
  system.file("proc/self/cgroup", "0::/service/worker\n")
      .file("sys/fs/cgroup/service/cpu.max", "300000 100000\n")
      .file("sys/fs/cgroup/service/worker/cpu.max", "max 100000\n");
  EXPECT_EQ(system.cpus(), 3);
  system.file("sys/fs/cgroup/service/worker/cpu.max", "100000 100000\n");
  EXPECT_EQ(system.cpus(), 1);
}

TEST(Cpus, OfOlderControlGroupsTheQuotaCounts) {
  System system("old");
  system.file("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/docker/5f\n")
      .file("sys/fs/cgroup/cpu/docker/5f/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu/docker/5f/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.cpus(), std::nullopt);
  system.file("sys/fs/cgroup/cpu/docker/5f/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(system.cpus(), 4);
}

}  // namespace
}  // namespace tenure
