#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <map>

#include "tenure/memory/pool/devices.h"

// Memory that is not the CPU's, for tests: of a bounded size, and such that whoever touches it from
// the host ends the process.

namespace tenure::test {

class SecondMemory : public mem::Source {
 public:
  explicit SecondMemory(std::size_t capacity, int protection = PROT_NONE)
      : capacity_(capacity), protection_(protection) {}
  virtual ~SecondMemory() = default;

  void* map(std::size_t bytes) noexcept override {
    if (bytes > capacity_ - mapped_) return nullptr;
    void* const begin = mmap(nullptr, bytes, protection_, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) return nullptr;
    mapped_ += bytes;
    segments_.emplace(static_cast<const std::byte*>(begin), bytes);
    return begin;
  }
  void unmap(void* begin, std::size_t bytes) noexcept override {
    const auto segment = segments_.find(static_cast<const std::byte*>(begin));
    ASSERT_NE(segment, segments_.end()) << "it came from somewhere else";
    ASSERT_EQ(segment->second, bytes) << "a mapping goes back whole";
    segments_.erase(segment);
    mapped_ -= bytes;
    munmap(begin, bytes);
  }

  std::size_t capacity() const { return capacity_; }
  std::size_t mapped() const { return mapped_; }
  bool has(const void* p) const {
    const auto after = segments_.upper_bound(static_cast<const std::byte*>(p));
    if (after == segments_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return static_cast<const std::byte*>(p) < begin + bytes;
  }

 private:
  const std::size_t capacity_;
  const int protection_;
  std::size_t mapped_ = 0;
  std::map<const std::byte*, std::size_t> segments_;
};

/// A device of this process for good, made known by the first call.
inline constexpr Device kSecond{.kind = Device::Kind::test, .index = 0};
inline SecondMemory& second_memory() {
  static SecondMemory& source = []() -> SecondMemory& {
    auto& made = *new SecondMemory(std::size_t{64} << 20);
    mem::add_device(kSecond, made);
    return made;
  }();
  return source;
}

}  // namespace tenure::test
