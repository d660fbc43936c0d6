#include <algorithm>
#include <new>

#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/budget.h"
#include "tenure/profile/paths.h"
#include "tenure/profile/writer.h"

// What a Writer says of pools, budgets and things that are no tensors.

namespace tenure::profile {

void Writer::note_part(const mem::PoolPart& part, std::uint8_t tag) noexcept {
  if (recording_.load(std::memory_order_acquire) == 0) return;
  while (parts_busy_.test_and_set(std::memory_order_acquire)) {
  }
  if (recording_.load(std::memory_order_seq_cst) == 0) {  // it ended meanwhile: see stop()
    parts_busy_.clear(std::memory_order_release);
    return;
  }
  try {
    const auto slab = static_cast<std::uint8_t>(part.block == 0 ? 0 : kPartIsSlab);
    parts_->push_back({part, now(), static_cast<std::uint8_t>(tag | slab)});
    has_parts_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it stays unknown
  }
  parts_busy_.clear(std::memory_order_release);
}

void Writer::write_parts(ThreadBuffer& buffer, const mem::ThreadContext& context, std::int64_t time,
                         const Event& first) noexcept {
  std::vector<PartChange> changes;
  while (parts_busy_.test_and_set(std::memory_order_acquire)) {
  }
  changes.swap(*parts_);
  has_parts_.store(false, std::memory_order_relaxed);
  parts_busy_.clear(std::memory_order_release);
  for (const PartChange& change : changes) {
    if (!buffer.chunk.has_room(8 * 4)) open_chunk(buffer, context, time, first);
    if (buffer.chunk.begin == nullptr) return session_->file.count_dropped(1);
    const mem::PoolPart& part = change.part;
    const std::uint64_t unit = (part.block == 0 ? part.granularity : part.block) / kPartUnit;
    put_words(buffer,
              {.kind = EventKind::part,
               .tag = change.tag,
               .subject = reinterpret_cast<std::uintptr_t>(part.begin),
               .extra = device_bits(part.device),
               .third = (part.bytes & kLow48) | unit << 48,
               .fourth = static_cast<std::uint64_t>(change.time)},
              time);
  }
}

void Writer::sample_things(ThreadBuffer& buffer, std::int64_t time,
                           std::int64_t apart_ns) noexcept {
  const std::int64_t last = things_sampled_.load(std::memory_order_relaxed);
  if (buffer.chunk.begin == nullptr || (last != 0 && time - last < apart_ns)) return;
  things_sampled_.store(time, std::memory_order_relaxed);
  try {
    write_things(buffer, time);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): told at the next look
  }
}

void Writer::write_things(ThreadBuffer& buffer, std::int64_t time) {
  Session& session = *session_;
  const std::unique_lock lock(session.things_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is telling them
  std::vector<std::int64_t> counted;
  mem::Population::count(counted);
  if (counted == session.things_counted) return;
  std::unordered_map<std::uint32_t, Things> now_there;
  for (const HolderGroup& group : mem::Population::groups()) {
    const RecordedPlace place = recorded_place(group.site);
    Things& things = now_there[session.tables.origin(group.op, place.file, place.line, "")];
    things.number += group.tensors;
    things.bytes += group.bytes;
  }
  for (const auto& [origin, things] : session.things_told) now_there.try_emplace(origin);
  for (const auto& [origin, things] : now_there) {
    const auto told = session.things_told.find(origin);
    if (told != session.things_told.end() && told->second.number == things.number) continue;
    if (!buffer.chunk.has_room(8 * 16)) return;  // the rest is told at the next look
    const auto units =
        static_cast<std::uint64_t>(std::min<std::int64_t>(things.bytes / kThingUnit, UINT32_MAX));
    put_words(buffer,
              {.kind = EventKind::things,
               .subject = static_cast<std::uint64_t>(things.number),
               .third = origin | units << 32},
              time);
    session.things_told[origin] = things;
  }
  session.things_counted = std::move(counted);
}

std::uint64_t Writer::account(ThreadBuffer& buffer, const mem::ThreadContext& context,
                              const mem::BudgetAccount* account) noexcept {
  if (account == nullptr) return 0;
  const std::uint64_t number = account_bits(account->number());
  std::atomic<std::uint64_t>& told = session_->told_accounts[number / 64];
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  if ((told.load(std::memory_order_relaxed) & bit) == 0) {
    told.fetch_or(bit, std::memory_order_relaxed);
    put(buffer, context, describe(*account, this->account(buffer, context, account->around())));
  }
  return number;
}

Writer::Event Writer::describe(const mem::BudgetAccount& account, std::uint64_t around) noexcept {
  return {.kind = EventKind::account,
          .tag = account.is_of_process() ? std::uint8_t{1} : std::uint8_t{0},
          .subject = std::min<std::uint64_t>(account.limit(), kLow48),
          .extra = device_bits(account.device()),
          .third = account_bits(account.number()) |
                   static_cast<std::uint64_t>(session_->tables.string(account.name())) << 32,
          .fourth = around};
}

void Writer::budget_began(mem::ThreadContext& context, const mem::BudgetAccount& account) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    const std::uint64_t number = account_bits(account.number());
    session_->told_accounts[number / 64].fetch_or(std::uint64_t{1} << number % 64,
                                                  std::memory_order_relaxed);
    return describe(account, this->account(buffer, context, account.around()));
  });
}

void Writer::budget_ended(mem::ThreadContext& context, const mem::BudgetAccount& account) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::account_end, .subject = account_bits(account.number())};
  });
}

void Writer::refused(mem::ThreadContext& context, const mem::Refusal& refusal) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::refuse,
                 .tag = static_cast<std::uint8_t>(refusal.cause),
                 .subject = std::min<std::uint64_t>(refusal.requested, kLow48),
                 .extra = device_bits(refusal.device),
                 .third = account(buffer, context, refusal.budget),
                 .fourth = refusal.used};
  });
}

void Writer::refusal_named(mem::ThreadContext& context, std::string_view call, Site site) noexcept {
  write(context, [&](ThreadBuffer&) {
    const RecordedPlace place = recorded_place(site);
    const mem::NamePath* const path = context.path;
    return Event{.kind = EventKind::requester,
                 .third = session_->tables.origin(call, place.file, place.line,
                                                  path == nullptr ? "" : path->text())};
  });
}

}  // namespace tenure::profile
