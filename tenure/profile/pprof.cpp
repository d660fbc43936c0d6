#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tenure/profile/exports.h"
#include "tenure/profile/stacks.h"
#include "tenure/profile/text.h"

// The message Profile of pprof's profile.proto, written by hand: it is small, and a dependency on
// protobuf for it would be large.

namespace tenure::profile {
namespace {

class Message {
 public:
  void number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void bytes(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(int field, const Message& value) { bytes(field, value.bytes_); }
  void numbers(int field, const std::vector<std::uint64_t>& values) {
    Message list;
    for (const std::uint64_t value : values) list.varint(value);
    bytes(field, list.bytes_);
  }
  const std::string& text() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

class Strings {
 public:
  std::uint64_t operator()(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_{""};
  std::unordered_map<std::string, std::uint64_t> numbers_{{"", 0}};
};

Message value_type(Strings& strings, const char* type, const char* unit) {
  Message message;
  message.number(1, strings(type));
  message.number(2, strings(unit));
  return message;
}

}  // namespace

std::string to_pprof(const History& history) {
  Message profile;
  Strings strings;
  for (const auto& [type, unit] : {std::pair{"alloc_objects", "count"},
                                   {"alloc_space", "bytes"},
                                   {"inuse_objects", "count"},
                                   {"inuse_space", "bytes"}}) {
    profile.message(1, value_type(strings, type, unit));
  }
  // A location has one function, and both have one number.
  std::unordered_map<std::string, std::uint64_t> locations;
  const auto location = [&](const StackFrame& frame) {
    const auto [found, is_new] = locations.try_emplace(frame.name, locations.size() + 1);
    if (!is_new) return found->second;
    const std::uint64_t number = found->second;
    Message function;
    function.number(1, number);
    function.number(2, strings(frame.name));
    function.number(3, strings(frame.name));
    if (!frame.file.empty()) function.number(4, strings(std::string(frame.file)));
    profile.message(5, function);
    Message line;
    line.number(1, number);
    if (!frame.file.empty()) line.number(2, frame.line);
    Message message;
    message.number(1, number);
    message.message(4, line);
    profile.message(4, message);
    return number;
  };
  for (const Stack& stack : stacks(history)) {
    const std::vector<StackFrame> frames =
        frames_of(history.recorded, history.recorded.origin(stack.origin));
    std::vector<std::uint64_t> path;  // the innermost first
    for (std::size_t i = frames.size(); i > 0; --i) path.push_back(location(frames[i - 1]));
    Message sample;
    sample.numbers(1, path);
    sample.numbers(2, {static_cast<std::uint64_t>(stack.allocations),
                       static_cast<std::uint64_t>(stack.allocated_bytes),
                       static_cast<std::uint64_t>(stack.peak_storages),
                       static_cast<std::uint64_t>(stack.peak_bytes)});
    profile.message(2, sample);
  }
  profile.number(9, static_cast<std::uint64_t>(history.recorded.started_ns));
  profile.number(10, static_cast<std::uint64_t>(history.end_ns));
  profile.number(14, strings("inuse_space"));
  for (const std::string& text : strings.list()) profile.bytes(6, text);
  return packed(profile.text(), Packing::gzip);
}

}  // namespace tenure::profile
