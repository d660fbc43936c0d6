#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tenure/base/file.h"

namespace tenure::io {

/// Compresses into a file by the method deflate, without a wrapper. Its state lies in Tenure's
/// pool.
class Deflater {
 public:
  explicit Deflater(AtomicFile& file);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Writes what is still held back; nothing may follow.
  void finish();

 private:
  struct State;
  void run(std::span<const std::byte> bytes, int flush);

  AtomicFile& file_;
  std::unique_ptr<State> state_;
};

}  // namespace tenure::io
