#include <algorithm>
#include <new>
#include <set>

#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/memory/ledger.h"
#include "tenure/profile/writer.h"
#include "tenure/tensor/tensor.h"

// What a Writer says of all that is live.

namespace tenure::profile {

void Writer::write_what_is_live(mem::ThreadContext& context) {
  std::set<std::uint64_t> storages;
  const mem::Census census;
  census.for_each([&](const mem::Tenant& tenant) {
    const mem::Storage* const storage = tenant.storage();
    if (storage == nullptr || storage->is_hollow()) return;
    if (!storage->is_foreign() && storages.insert(storage->serial()).second) {
      write(context, [&](ThreadBuffer& buffer) {
        return Event{.kind = EventKind::allocate,
                     .tag = static_cast<std::uint8_t>(storage->category()),
                     .subject = storage->serial(),
                     .extra = static_cast<std::uint16_t>(kBefore | device_bits(storage->device())),
                     .third = storage->bytes(),
                     .fourth = place_of(buffer, context, *storage)};
      });
    }
    write(context,
          [&](ThreadBuffer& buffer) { return create(buffer, tenant, *storage, kBefore, 0); });
    if (const std::string name = tenant.name(); !name.empty()) named(context, tenant, name);
  });
}

void Writer::renew_census(mem::ThreadContext& context, std::size_t untold) noexcept try {
  constexpr std::int64_t kBytesOfATensor = 96;
  constexpr std::int64_t kLargest = 8;  // one that pushes out most of what there is helps nobody
  bool is_on = false;
  std::int64_t began = 0;
  write_if_on(context, [&](ThreadBuffer&) {
    if (!is_census_due_.exchange(false, std::memory_order_relaxed)) return;
    if (mem::counts().tensors * kBytesOfATensor >
        static_cast<std::int64_t>(session_->file.capacity()) / kLargest) {
      return;
    }
    is_on = true;
    began = now();
    for (auto& told : session_->told_accounts) told.store(0, std::memory_order_relaxed);
    const std::lock_guard lock(session_->things_mutex);
    session_->things_counted.clear();
    session_->things_told.clear();
  });
  if (!is_on) return;
  mem::tell_parts(*this);
  write_what_is_live(context);
  write(context, [&](ThreadBuffer& buffer) {
    if (buffer.chunk.begin != nullptr) write_things(buffer, now());
    return Event{.kind = EventKind::census,
                 .subject = static_cast<std::uint64_t>(std::max<std::int64_t>(
                     mem::counts().bytes - static_cast<std::int64_t>(untold), 0)),
                 .third = static_cast<std::uint64_t>(began),
                 .fourth = static_cast<std::uint64_t>(now())};
  });
} catch (const std::bad_alloc&) {  // then the history begins at the next one
}

}  // namespace tenure::profile
