#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::planner::offsets {

/// Remembers states that cannot be completed, by a hash of 64 bits. It forgets some when it is
/// full, which costs time alone.
class Nogoods {
 public:
  Nogoods() { clear(); }

  void clear() {
    slots_.assign(kFirst, 0);
    stored_ = 0;
  }

  bool contains(std::uint64_t key) const {
    const std::uint64_t* const bucket = &slots_[first(key)];
    key |= 1;
    return bucket[0] == key || bucket[1] == key || bucket[2] == key || bucket[3] == key;
  }

  void insert(std::uint64_t key) {
    if (stored_ > slots_.size() / 2 && slots_.size() < kMost) grow();
    slots_[first(key) + (stored_++ & (kBucket - 1))] = key | 1;
  }

 private:
  static constexpr std::size_t kBucket = 4;
  static constexpr std::size_t kFirst = std::size_t{1} << 12;
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::size_t first(std::uint64_t key) const {
    return static_cast<std::size_t>(key >> 16) & (slots_.size() - kBucket);
  }

  void grow() {
    std::vector<std::uint64_t> old(slots_.size() * 4, 0);
    old.swap(slots_);
    stored_ = 0;
    for (const std::uint64_t key : old) {
      if (key != 0) slots_[first(key) + (stored_++ & (kBucket - 1))] = key;
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t stored_ = 0;
};

}  // namespace tenure::planner::offsets
