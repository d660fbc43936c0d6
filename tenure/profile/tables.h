#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tenure/base/site.h"
#include "tenure/memory/observer.h"
#include "tenure/profile/call_stack.h"
#include "tenure/profile/file.h"
#include "tenure/profile/paths.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

namespace tenure::profile {

/// Gives numbers to what events refer to, the same to the same, and writes down what they mean. 0
/// is for nothing, and for all that comes when the tables are full. Any thread may call anything.
class Tables {
 public:
  Tables(RecordingFile& file, std::size_t capacity)
      : file_(file), capacity_(capacity), folder_(current_folder()) {}

  std::uint32_t string(std::string_view text) noexcept;
  std::uint32_t origin(std::string_view op, std::string_view file, std::uint32_t line,
                       std::string_view scope, std::uint32_t stack = 0) noexcept;
  /// 0 also where stacks would take more than so many bytes.
  std::uint32_t stack(const CallStack& stack, std::size_t most) noexcept;
  std::size_t capacity() const { return capacity_; }
  std::uint32_t layout(DType dtype, const Shape& shape) noexcept;
  /// Writes a plan down the first time that it comes.
  void plan(const mem::PlannedRun& run, std::uint32_t origin) noexcept;
  void seal() noexcept { file_.seal(chunk_); }

 private:
  std::uint32_t add_string(std::string_view text);
  std::uint32_t add_origin(std::string_view op, std::string_view file, std::uint32_t line,
                           std::string_view scope, std::uint32_t stack = 0);
  /// Of a program that is itself, or the body of that number.
  void write_steps(std::uint64_t plan, std::uint32_t body, const mem::PlannedProgram& program);
  void write_buffers(const PlanHead& head, std::uint32_t body, const mem::PlannedProgram& program);
  /// All that is in a program, which has that number; `last` is the last number given.
  void write_bodies(const PlanHead& head, std::uint32_t around, std::int64_t offset,
                    const mem::PlannedProgram& program, std::uint32_t& last);
  std::uint32_t number_of(DefinitionKind kind, const std::string& key);
  /// False if there is no room.
  bool write(DefinitionKind kind, std::uint32_t number, std::string_view payload,
             std::uint32_t body = 0);

  std::mutex mutex_;
  RecordingFile& file_;
  const std::size_t capacity_;
  const std::string folder_;  // files are named as seen from here
  std::size_t written_ = 0;
  std::size_t stack_bytes_ = 0;  // of them in stacks
  Chunk chunk_{};
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of all kinds, by kind and payload
  std::uint32_t last_[kDefinitionKinds] = {};               // number given, by kind
};

}  // namespace tenure::profile
