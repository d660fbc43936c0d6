#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenure::test {

/// An empty folder that goes with the object.
class Scratch {
 public:
  Scratch() {
    // In memory where the system has such a folder: disks take milliseconds for each file.
    const std::filesystem::path memory = "/dev/shm";
    const bool has_memory = access(memory.c_str(), W_OK) == 0;
    std::string name =
        ((has_memory ? memory : std::filesystem::temp_directory_path()) / "tenure-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The path of a file in it.
  std::string operator/(const std::string& name) const { return (folder_ / name).string(); }
  /// The path of a new file with this content.
  std::string file(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return *this / name;
  }
  /// How many files and folders it has.
  std::ptrdiff_t size() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::filesystem::path folder_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The same folder in a test and in the processes of its death tests, which begin the test anew.
class SharedScratch {
 public:
  SharedScratch() {
    if (std::getenv(kName) != nullptr) return;
    own_.emplace();
    setenv(kName, (*own_ / "").c_str(), 1);
  }
  ~SharedScratch() {
    if (own_.has_value()) unsetenv(kName);
  }
  SharedScratch(const SharedScratch&) = delete;
  SharedScratch& operator=(const SharedScratch&) = delete;

  std::string operator/(const std::string& name) const { return std::getenv(kName) + name; }

 private:
  static constexpr const char* kName = "TENURE_TEST_SCRATCH";
  std::optional<Scratch> own_;
};

}  // namespace tenure::test
