#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenure::profile {

/// The file of a recording, read piece by piece, also while somebody writes to it. What cannot be
/// read twice, as a pipe, is taken into memory.
class RecordingInput {
 public:
  /// Throws ProfileError.
  explicit RecordingInput(std::string path);
  ~RecordingInput();
  RecordingInput(const RecordingInput&) = delete;
  RecordingInput& operator=(const RecordingInput&) = delete;

  /// Bytes when it was opened.
  std::uint64_t size() const { return size_; }
  /// How many bytes of `to` there were at `offset`. Throws ProfileError.
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  void take_all();

  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  bool is_taken_ = false;
  std::vector<std::byte> taken_;
};

}  // namespace tenure::profile
