#include "tests/support/shadow_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace tenure::test {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t kPage = ShadowMemory::kPage;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

void give_up(const char* reason) {
  std::fprintf(stderr, "test device: %s\n", reason);
  std::abort();
}

ShadowMemory::ShadowMemory() {
  file_ = memfd_create("tenure test device", 0);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kCapacity)) != 0) give_up("no file");
  const auto map = [&](int protection) {
    void* const begin = mmap(nullptr, kCapacity, protection, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (begin == MAP_FAILED) give_up("no addresses");
    return static_cast<std::byte*>(begin);
  };
  begin_ = map(PROT_NONE);
  shadow_ = map(PROT_READ | PROT_WRITE);
  free_.emplace(0, kCapacity);
}

std::byte* ShadowMemory::shadow_of(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  if (byte < begin_ || byte > begin_ + kCapacity) give_up("an address of the host's in a call");
  return shadow_ + (byte - begin_);
}

ops::View ShadowMemory::shadow_of(const ops::View& view) const {
  ops::View shadow = view;
  shadow.data = view.data == nullptr || view.count() == 0 ? nullptr : shadow_of(view.data);
  return shadow;
}

void* ShadowMemory::take(std::size_t bytes) noexcept {
  const std::size_t wanted = whole_pages(bytes);
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& range) { return range.second >= wanted; });
  if (found == free_.end()) return nullptr;
  const auto [offset, room] = *found;
  free_.erase(found);
  if (room > wanted) free_.emplace(offset + wanted, room - wanted);
  return begin_ + offset;
}

void ShadowMemory::give_back(void* begin, std::size_t bytes) noexcept {
  auto offset = static_cast<std::size_t>(static_cast<std::byte*>(begin) - begin_);
  std::size_t room = whole_pages(bytes);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + room == next->first) {
    room += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      room += before->second;
      free_.erase(before);
    }
  }
  free_.emplace(offset, room);
}

std::size_t ShadowMemory::taken() const noexcept {
  std::size_t taken = kCapacity;
  for (const auto& [offset, bytes] : free_) taken -= bytes;
  return taken;
}

void ShadowMemory::empty(void* begin, std::size_t bytes) const noexcept {
  const auto offset = static_cast<std::byte*>(begin) - begin_;
  const int done = fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                             static_cast<off_t>(bytes));
  if (done != 0) give_up("memory cannot be given back");
}

}  // namespace tenure::test
