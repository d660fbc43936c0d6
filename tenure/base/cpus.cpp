#include "tenure/base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

namespace tenure {
namespace {

int cpus_of_affinity() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// Time per period, as a number of CPUs.
std::optional<int> quota(double time, double period) {
  if (!(time > 0) || !(period > 0)) return std::nullopt;
  return static_cast<int>(std::clamp(std::ceil(time / period), 1.0, 1e6));
}

/// "200000 100000", or "max 100000" where there is no limit.
std::optional<int> quota_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  double time = 0;
  double period = 0;
  if (!(in >> time >> period)) return std::nullopt;
  return quota(time, period);
}

/// The older hierarchies have two files.
std::optional<int> old_quota_of(const std::filesystem::path& folder) {
  std::ifstream time_file(folder / "cpu.cfs_quota_us");
  std::ifstream period_file(folder / "cpu.cfs_period_us");
  double time = 0;
  double period = 0;
  if (!(time_file >> time) || !(period_file >> period)) return std::nullopt;
  return quota(time, period);
}

std::optional<int> least(std::optional<int> a, std::optional<int> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// Where this process is in the hierarchy of that controller ("" for the unified one), from the
/// root of it; "" if that is not known.
std::string group_of(const std::filesystem::path& root, const std::string& controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line;
       std::getline(in, line);) {  // "4:cpu,cpuacct:/docker/5f" or "0::/docker/5f"
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool is_it = controller.empty()
                           ? controllers == ",,"
                           : controllers.find(',' + controller + ',') != controllers.npos;
    if (is_it) return line.substr(std::min(second + 2, line.size()));
  }
  return "";
}

/// The least that `read` finds in the group's folder and in those above it.
template <class Read>
std::optional<int> least_along(const std::filesystem::path& mount, const std::string& group,
                               const Read& read) {
  std::optional<int> found = read(mount);
  std::filesystem::path folder = mount;
  for (const std::filesystem::path& part : std::filesystem::path(group)) {
    folder /= part;
    found = least(found, read(folder));
  }
  return found;
}

}  // namespace

std::optional<int> cpus_of_control_group(const std::filesystem::path& root) {
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  const std::optional<int> unified =
      least_along(mount, group_of(root, ""),
                  [](const std::filesystem::path& folder) { return quota_of(folder / "cpu.max"); });
  return least(unified, least_along(mount / "cpu", group_of(root, "cpu"), old_quota_of));
}

int available_cpus() noexcept {
  const int cpus = cpus_of_affinity();
  try {
    return std::clamp(cpus_of_control_group("/").value_or(cpus), 1, cpus);
  } catch (const std::exception&) {  // no memory for a path
    return cpus;
  }
}

}  // namespace tenure
