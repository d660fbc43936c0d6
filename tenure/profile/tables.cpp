#include "tenure/profile/tables.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace tenure::profile {
namespace {

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

bool Tables::write(DefinitionKind kind, std::uint32_t number, std::string_view payload) {
  const std::size_t bytes = sizeof(DefinitionHead) + (payload.size() + 7) / 8 * 8;
  if (bytes > kPayloadBytes || written_ + bytes > capacity_) return false;
  if (chunk_.begin == nullptr) {
    chunk_ = file_.open(ChunkKind::definitions, 0, 0, 0);
    if (chunk_.begin == nullptr) return false;
  } else if (!chunk_.has_room(bytes)) {
    file_.renew(chunk_, 0, 0);
  }
  const DefinitionHead head{kind, number, static_cast<std::uint32_t>(payload.size()), 0};
  std::byte* const at = chunk_.payload() + chunk_.used;
  std::memset(at, 0, bytes);
  std::memcpy(at, &head, sizeof head);
  std::memcpy(at + sizeof head, payload.data(), payload.size());
  chunk_.commit(static_cast<std::uint32_t>(bytes));
  written_ += bytes;
  return true;
}

std::uint32_t Tables::number_of(DefinitionKind kind, const std::string& key) {
  std::string full(1, static_cast<char>(kind));
  full += key;
  if (const auto found = numbers_.find(full); found != numbers_.end()) return found->second;
  std::uint32_t& last = last_[static_cast<std::size_t>(kind)];
  if (!write(kind, last + 1, key)) return 0;
  numbers_.emplace(std::move(full), ++last);
  return last;
}

std::uint32_t Tables::add_string(std::string_view text) {
  if (text.empty()) return 0;
  return number_of(DefinitionKind::string, std::string(text.substr(0, kLongestString)));
}

std::uint32_t Tables::string(std::string_view text) noexcept try {
  const std::lock_guard lock(mutex_);
  return add_string(text);
} catch (const std::bad_alloc&) {
  return 0;
}

std::uint32_t Tables::origin(std::string_view op, std::string_view file, std::uint32_t line,
                             std::string_view scope) noexcept try {
  const std::lock_guard lock(mutex_);
  std::string key;
  append(key, add_string(op));
  append(key, add_string(seen_from(folder_, file)));
  append(key, line);
  append(key, add_string(scope));
  return number_of(DefinitionKind::origin, key);
} catch (const std::bad_alloc&) {
  return 0;
}

std::uint32_t Tables::layout(DType dtype, const Shape& shape) noexcept try {
  const std::lock_guard lock(mutex_);
  std::string key;
  append(key, static_cast<std::uint32_t>(dtype));
  append(key, static_cast<std::uint32_t>(shape.size()));
  for (const std::int64_t dimension : shape) append(key, dimension);
  return number_of(DefinitionKind::layout, key);
} catch (const std::bad_alloc&) {
  return 0;
}

void Tables::plan(const mem::PlannedRun& run, std::uint32_t origin) noexcept try {
  constexpr std::size_t kMostBuffers =
      (kPayloadBytes - sizeof(DefinitionHead) - sizeof(PlanHead)) / sizeof(PlanBuffer);
  const std::lock_guard lock(mutex_);
  std::string key(1, static_cast<char>(DefinitionKind::plan));
  append(key, run.id);
  if (!numbers_.emplace(key, 0).second) return;
  // Of very many, the largest.
  std::vector<const mem::PlannedRun::Buffer*> buffers;
  for (const mem::PlannedRun::Buffer& buffer : run.buffers) buffers.push_back(&buffer);
  if (buffers.size() > kMostBuffers) {
    std::stable_sort(buffers.begin(), buffers.end(),
                     [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    buffers.resize(kMostBuffers);
  }
  std::string payload;
  append(payload,
         PlanHead{run.id, run.peak, run.arena, origin, static_cast<std::uint32_t>(buffers.size())});
  for (const mem::PlannedRun::Buffer* const buffer : buffers) {
    append(payload,
           PlanBuffer{add_string(buffer->op), static_cast<std::uint32_t>(buffer->first),
                      static_cast<std::uint32_t>(buffer->last), 0, buffer->offset, buffer->bytes});
  }
  write(DefinitionKind::plan, 0, payload);
} catch (const std::bad_alloc&) {  // then the plan is unknown
}

}  // namespace tenure::profile
