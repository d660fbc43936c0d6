#pragma once

#include <filesystem>
#include <optional>

namespace tenure {

/// CPUs that this process may use: as many as its affinity has, and no more than its control group
/// gives time of. At least 1.
int available_cpus() noexcept;

/// How many CPUs' time the control group of this process gives, rounded up; nothing if it sets no
/// limit. `root` is where the system's files are: "/", but for tests.
std::optional<int> cpus_of_control_group(const std::filesystem::path& root);

}  // namespace tenure
