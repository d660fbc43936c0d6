#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::autograd {

/// A value that a tape knows: a source, or an output of a noted call.
using Value = std::uint32_t;
inline constexpr Value kNoValue = 0xffffffff;

/// Which value a tensor is, by its id. Ids are never 0 and never used again, so that what ended
/// stays in the table without harm.
class ValueTable {
 public:
  Value find(std::uint64_t id) const {
    if (size_ == 0) return kNoValue;
    for (std::size_t i = place(id);; i = (i + 1) & (entries_.size() - 1)) {
      if (entries_[i].id == id) return entries_[i].value;
      if (entries_[i].id == 0) return kNoValue;
    }
  }
  /// Replaces what was there.
  void insert(std::uint64_t id, Value value) {
    make_room(1);
    put(id, value);
  }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }
  /// For so many more, which insert() then takes without fail.
  void make_room(std::size_t more) {
    while ((size_ + more) * 2 > entries_.size()) grow();
  }
  void clear() {
    if (size_ == 0) return;
    for (Entry& entry : entries_) entry = {};
    size_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t id = 0;
    Value value = kNoValue;
  };
  static constexpr std::size_t kFirst = 64;  // a size that malloc is quick to find

  std::size_t place(std::uint64_t id) const {
    return (id * 0x9e3779b97f4a7c15u >> 32) & (entries_.size() - 1);
  }
  void put(std::uint64_t id, Value value) {
    std::size_t i = place(id);
    while (entries_[i].id != 0 && entries_[i].id != id) i = (i + 1) & (entries_.size() - 1);
    size_ += entries_[i].id == 0;
    entries_[i] = {.id = id, .value = value};
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? kFirst : entries_.size() * 2);
    old.swap(entries_);
    size_ = 0;
    for (const Entry& entry : old) {
      if (entry.id != 0) put(entry.id, entry.value);
    }
  }

  std::vector<Entry> entries_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace tenure::autograd
