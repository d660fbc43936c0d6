#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "tenure/kernels/instruction_set.h"
#include "tenure/memory/threads/fence.h"
#include "tenure/profile/profile.h"
#include "tenure/profile/watch.h"
#include "tenure/tenure.h"

namespace tenure::cli {
namespace {

/// One thing that was looked at.
struct Finding {
  std::string name;
  std::string value;
  std::string advice{};  ///< empty: all is well
  bool is_broken = false;
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Finding cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  // "200000 100000": so many microseconds of every so many.
  std::istringstream quota(first_line("/sys/fs/cgroup/cpu.max"));
  if (double time = 0, period = 0; quota >> time >> period && period > 0) {
    usable = std::clamp(static_cast<int>(std::ceil(time / period)), 1, usable);
  }
  Finding finding{"cores", fmt::format("{} usable, ops use {} threads", usable, num_threads())};
  if (num_threads() > usable) {
    finding.advice = fmt::format("more threads than cores: set_num_threads({})", usable);
  }
  return finding;
}

Finding instructions() {
  const InstructionSet used = instruction_set();
  const InstructionSet native = native_instruction_set();
  if (used == native) return {"SIMD", std::string(name_of(used))};
  return {"SIMD",
          fmt::format("{}, by TENURE_MAX_ISA; the CPU has {}", name_of(used), name_of(native))};
}

Finding computing(const std::string& name) {
  const float sum = tenure::sum(matmul(ones({64, 64}), ones({64, 64}))).item<float>();
  if (sum == 64.f * 64 * 64) return {name, "a product of matrices is right"};
  return {name, fmt::format("a product of matrices is wrong: {}", sum),
          "this is a bug: please report it", true};
}

/// A GPU, tried out, and who has how much of its memory then.
std::vector<Finding> tried(const CudaGpu& gpu) {
  const std::string name = fmt::format("GPU {} computing", gpu.index);
  try {
    const Device device = cuda(gpu.index);
    const DeviceScope scope(device);
    const Finding found = computing(name);
    const OutsideMemory outside = memory_outside(device);
    return {found,
            {fmt::format("GPU {} memory", gpu.index),
             taken_text(memory(device).reserved_bytes, outside.bytes, outside.total)}};
  } catch (const Error& error) {
    return {{name, "not possible", error.what()}};
  }
}

/// What there is for GPUs: the build, each library, each GPU.
std::vector<Finding> gpus() {
  const CudaReport report = cuda_report();
  if (!report.is_built) {
    return {{"CUDA", fmt::format("not in this build: {}; ops run on the CPU", report.build)}};
  }
  std::vector<Finding> findings{{"CUDA", fmt::format("in this build, {}", report.build)}};
  for (const CudaLibrary& library : report.libraries) {
    const std::string name = fmt::format("CUDA {}", library.name);
    if (library.problem.empty()) {
      findings.push_back({name, fmt::format("{}, {}", library.version, library.path)});
    } else {
      findings.push_back(
          {name,
           library.version.empty() ? "none"
                                   : fmt::format("{}: {}", library.version, library.problem),
           library.version.empty() ? fmt::format("{} ({})", library.advice, library.problem)
                                   : library.advice});
    }
  }
  for (const CudaGpu& gpu : report.gpus) {
    findings.push_back({fmt::format("GPU {}", gpu.index),
                        fmt::format("{}, {}, compute capability {}.{}", gpu.name,
                                    size_text(static_cast<std::int64_t>(gpu.memory)),
                                    gpu.architecture / 10, gpu.architecture % 10)});
    const std::vector<Finding> more = tried(gpu);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  if (report.gpus.empty()) findings.push_back({"GPU", "none found; ops run on the CPU"});
  findings.push_back({"kernel cache", report.cache.empty() ? "none" : report.cache});
  return findings;
}

Finding physical_memory() {
  std::ifstream info("/proc/meminfo");
  std::int64_t total = 0;
  std::int64_t available = 0;
  for (std::string line; std::getline(info, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    words >> name >> kib;
    if (name == "MemTotal:") total = kib * 1024;
    if (name == "MemAvailable:") available = kib * 1024;
  }
  return {"memory", fmt::format("{}, {} available", size_text(total), size_text(available))};
}

Finding container_limit() {
  const std::string limit = first_line("/sys/fs/cgroup/memory.max");
  if (limit.empty() || limit == "max") return {"container limit", "none"};
  const std::int64_t bytes = std::strtoll(limit.c_str(), nullptr, 10);
  return {"container limit", size_text(bytes),
          fmt::format("set_process_budget({}) makes Tenure refuse before the kernel kills",
                      bytes / 10 * 9)};
}

Finding address_space() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return {"address space", "unlimited"};
  return {"address space", size_text(static_cast<std::int64_t>(limit.rlim_cur)),
          "`ulimit -v unlimited` lifts it"};
}

Finding fences() {
  if (mem::has_asymmetric_fence()) return {"membarrier", "works"};
  return {"membarrier", "not allowed here",
          "small ops take a few nanoseconds more; allow membarrier(2) in the sandbox"};
}

Finding watching() {
  try {
    return {"watch sockets",
            std::filesystem::path(profile::watch_socket(0)).parent_path().string()};
  } catch (const ProfileError& error) {
    return {"watch sockets", "not possible", error.what(), true};
  }
}

Finding recording() {
  Finding finding{"recording", "works"};
  // A folder of its own: in one that all may write to, somebody may have laid a link.
  std::string folder = (std::filesystem::temp_directory_path() / "tenure-doctor-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return {"recording", "not possible", fmt::format("{}: {}", folder, std::strerror(errno)), true};
  }
  const std::string file = folder + "/recording";
  try {
    {
      const Profile profile(file);
      ones({2});
    }
    finding.value =
        fmt::format("works, {} events of a tensor's life", profile::Recorded(file).events);
  } catch (const ProfileError& error) {
    finding = {"recording", "not possible", error.what(), true};
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return finding;
}

Finding libraries() {
  return {"libraries", fmt::format("zlib {}, fmt {}.{}.{}", zlibVersion(), FMT_VERSION / 10000,
                                   FMT_VERSION / 100 % 100, FMT_VERSION % 100)};
}

void doctor(bool json) {
  std::vector<Finding> findings = {
      {"tenure", TENURE_VERSION},
      cores(),
      instructions(),
      physical_memory(),
      container_limit(),
      address_space(),
      {"pool", fmt::format("keeps up to {} for reuse",
                           size_text(static_cast<std::int64_t>(cache_limit())))},
      libraries(),
      fences(),
      computing("computing"),
      recording(),
      watching()};
  const std::vector<Finding> of_gpus = gpus();
  findings.insert(findings.begin() + 3, of_gpus.begin(), of_gpus.end());
  if (json) {
    Json document = Json::object();
    for (const Finding& finding : findings) {
      document[finding.name] = {{"value", finding.value}, {"advice", finding.advice}};
    }
    print_json(document);
  }
  const Terminal terminal;
  bool is_broken = false;
  for (const Finding& finding : findings) {
    is_broken = is_broken || finding.is_broken;
    if (json) continue;
    fmt::print("  {:<16} {}\n", finding.name, finding.value);
    if (!finding.advice.empty()) {
      fmt::print("  {:<16} {}\n", "", terminal.bold(finding.advice));
    }
  }
  if (is_broken) throw ExitWith{kFound};
}

}  // namespace

void add_doctor(CLI::App& app) {
  const Command command(app, "doctor", "What this machine has, and whether Tenure works on it");
  const auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Print JSON");
  command.footer(
      R"(Cores, instruction sets, CUDA and GPUs, memory and its limits, libraries; and a product of matrices and a
recording, tried out, the product on each GPU too. What could be better comes with advice.

Exit status: 0, or 1 if computing, recording or watching does not work here.

Examples:
  tenure doctor
  tenure doctor --json | jq .SIMD.value)");
  command.run([json] { doctor(*json); });
}

}  // namespace tenure::cli
