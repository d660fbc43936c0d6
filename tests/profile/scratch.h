#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tenure::test {

/// A file name that no other test has; the file goes with it.
class ScratchFile {
 public:
  ScratchFile()
      : path_((std::filesystem::path(testing::TempDir()) /
               ("tenure-" + std::to_string(getpid()) + "-" + std::to_string(next_++)))
                  .string()) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  static inline int next_ = 0;
  const std::string path_;
};

}  // namespace tenure::test
