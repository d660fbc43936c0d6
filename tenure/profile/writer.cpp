#include "tenure/profile/writer.h"

#include <cstring>
#include <new>
#include <set>

#include "tenure/base/lasting.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/memory/ledger.h"
#include "tenure/profile/call_book.h"
#include "tenure/profile/paths.h"
#include "tenure/profile/profile.h"
#include "tenure/tensor/tensor.h"

namespace tenure::profile {
namespace {

std::string_view text_of(const mem::NamePath* path) {
  return path == nullptr ? std::string_view() : std::string_view(path->text());
}

std::string_view view_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

template <class... Words>
std::size_t mix(Words... words) {
  std::uint64_t hash = 0;
  ((hash = (hash ^ static_cast<std::uint64_t>(words)) * 0x9e3779b97f4a7c15), ...);
  return static_cast<std::size_t>(hash >> 32);
}

}  // namespace

Writer& Writer::instance() {
  static constinit Lasting<Writer> writer;  // threads may tell it things until the process ends
  return writer.get([] { return new Writer; });
}

void Writer::begin(const std::string& path, const ProfileOptions& options) {
  const std::lock_guard lock(mutex_);
  if (recording_.load(std::memory_order_relaxed) != 0) {
    throw ProfileError("Profile: another one is on");
  }
  if (parts_ == nullptr) parts_ = std::make_unique<std::vector<PartChange>>();
  session_ = std::make_unique<Session>(path, options);  // from here on, whoever throws stops it
  if (session_->stacks) CallBook::instance().begin();
  clock_.start();
  things_sampled_.store(0, std::memory_order_relaxed);
  recording_.store(++recordings_, std::memory_order_release);
  mem::segment_watch.store(this, std::memory_order_release);
  mem::install(this);
  try {
    mem::tell_parts(*this);
    mem::ThreadContext& context = mem::this_thread();
    if (context.observed == nullptr) add_buffer(context);  // write() would wait for the lock
    write_what_is_live(context);
  } catch (...) {
    stop();
    throw;
  }
}

void Writer::end() noexcept {
  const std::lock_guard lock(mutex_);
  if (recording_.load(std::memory_order_relaxed) != 0) stop();
}

void Writer::keep_calls() noexcept {
  const std::lock_guard lock(mutex_);
  CallBook::instance().begin();
  mem::install(this);
}

void Writer::stop() noexcept {
  CallBook& book = CallBook::instance();
  if (session_->stacks) book.end();
  mem::install(book.is_on() ? this : nullptr);
  mem::segment_watch.store(nullptr, std::memory_order_release);
  recording_.store(0, std::memory_order_seq_cst);
  while (parts_busy_.test_and_set(std::memory_order_acquire)) {
  }
  if (parts_ != nullptr) parts_->clear();
  has_parts_.store(false, std::memory_order_relaxed);
  parts_busy_.clear(std::memory_order_release);
  // Whoever comes now sees that it is over; whoever came before has the lock of its buffer.
  for (ThreadBuffer* const buffer : buffers_) {
    const ThreadBuffer::Lock busy(*buffer);
    if (buffer->recording == recordings_) session_->file.seal(buffer->chunk);
  }
  session_->tables.seal();
  session_->file.finish(now());
  session_.reset();
}

void Writer::before_fork() noexcept {
  mutex_.lock();
  CallBook::instance().lock();
}

void Writer::after_fork(bool is_child) noexcept {
  CallBook& book = CallBook::instance();
  book.unlock();
  mutex_.unlock();
  if (!is_child) return;
  if (session_ != nullptr && session_->stacks) book.end();
  mem::install(book.is_on() ? this : nullptr);
  recording_.store(0, std::memory_order_seq_cst);
  for (ThreadBuffer* const buffer : buffers_) buffer->forget_thread();
  mem::segment_watch.store(nullptr, std::memory_order_release);
  parts_busy_.clear(std::memory_order_relaxed);
  static_cast<void>(parts_.release());  // another thread may have been changing it
  if (session_ != nullptr) session_->file.forget();
  static_cast<void>(session_.release());  // its locks may have been held by other threads
}

void Writer::add_buffer(mem::ThreadContext& context) {
  auto buffer = std::make_unique<ThreadBuffer>();
  buffers_.push_back(buffer.get());
  context.observed = buffer.release();
}

ThreadBuffer& Writer::buffer_of(mem::ThreadContext& context) {
  if (context.observed == nullptr) {
    const std::lock_guard lock(mutex_);
    add_buffer(context);
  }
  return *static_cast<ThreadBuffer*>(context.observed);
}

void Writer::put(ThreadBuffer& buffer, const mem::ThreadContext& context,
                 const Event& event) noexcept {
  const std::int64_t time = now();
  if (has_parts_.load(std::memory_order_relaxed)) [[unlikely]]
    write_parts(buffer, context, time, event);
  if (!buffer.chunk.has_room(8 * 4)) [[unlikely]]
    open_chunk(buffer, context, time, event);
  if (buffer.chunk.begin == nullptr) [[unlikely]] {
    session_->file.count_dropped(1);
    return;
  }
  put_words(buffer, event, time);
}

void Writer::put_words(ThreadBuffer& buffer, const Event& event, std::int64_t time) noexcept {
  const std::uint64_t words[4] = {
      (static_cast<std::uint64_t>(time) & kLow48) | static_cast<std::uint64_t>(event.kind) << 48 |
          static_cast<std::uint64_t>(event.tag) << 56,
      (event.subject & kLow48) | static_cast<std::uint64_t>(event.extra) << 48, event.third,
      event.fourth};
  std::memcpy(buffer.chunk.payload() + buffer.chunk.used, words, sizeof words);
  buffer.chunk.commit(static_cast<std::uint32_t>(8 * words_of(event.kind)));
}

void Writer::open_chunk(ThreadBuffer& buffer, const mem::ThreadContext& context, std::int64_t time,
                        const Event& first) noexcept {
  std::int64_t live = mem::counts().bytes;
  // What the first event tells is counted already.
  if (first.kind == EventKind::allocate && (first.extra & kBefore) == 0) {
    live -= static_cast<std::int64_t>(first.third);
  }
  const ThreadNumber thread{.number = context.number, .life = buffer.life};
  if (buffer.chunk.begin == nullptr) {
    buffer.chunk = session_->file.open(ChunkKind::events, thread, time, live);
  } else {
    session_->file.renew(buffer.chunk, thread, time, live);
  }
  sample_things(buffer, time, 1'000'000);
}

CallStack Writer::calls_here() noexcept {
  return CallBook::instance().is_on() ? CallStack::capture() : CallStack();
}

std::uint32_t Writer::stack(ThreadBuffer& buffer, const CallStack& calls) noexcept {
  if (calls.addresses().empty()) return 0;
  const std::uint64_t hash = calls.hash();
  ThreadBuffer::KnownStack& known = buffer.stacks[hash % buffer.stacks.size()];
  const std::size_t room = session_->tables.capacity();
  const std::size_t most = session_->stacks ? room : room / 8;  // names need the rest
  if (known.number == 0 || known.hash != hash) known = {hash, session_->tables.stack(calls, most)};
  return known.number;
}

// The first eight of a line, then every second, and so on: one in 512 of those that come often. To
// unwind takes microseconds, which is a few nanoseconds for each. The distances vary, so that no
// caller goes unseen because another one comes just as regularly.
void Writer::sample_calls(ThreadBuffer& buffer, const mem::ThreadContext& context,
                          const mem::Tenant& tenant, std::uint32_t origin) noexcept {
  constexpr std::uint32_t kRarest = 512;
  ThreadBuffer::Sampler& sampler = buffer.samplers[origin % buffer.samplers.size()];
  if (sampler.left-- > 0) return;
  std::uint32_t& random = buffer.random;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  const std::uint32_t distance = std::clamp<std::uint32_t>(sampler.seen / 8, 1, kRarest);
  sampler.left = random % (2 * distance - 1);
  sampler.seen = std::min(sampler.seen + sampler.left + 1, 8 * kRarest);
  const std::uint32_t calls = stack(buffer, CallStack::capture());
  if (calls == 0) return;
  put(buffer, context, {.kind = EventKind::calls, .subject = calls, .third = tenant.id()});
}

std::uint32_t Writer::origin(ThreadBuffer& buffer, const char* op, Site site,
                             const mem::NamePath* path, std::uint32_t stack) noexcept {
  const std::uint64_t number = path == nullptr ? 0 : path->number();
  const std::uint32_t line = site.line();
  ThreadBuffer::KnownOrigin& known =
      buffer.origins[mix(reinterpret_cast<std::uintptr_t>(op),
                         reinterpret_cast<std::uintptr_t>(site.file_name()), line, number, stack) %
                     buffer.origins.size()];
  if (known.number == 0 || known.op != op || known.line != line || known.path != number ||
      known.stack != stack || known.file != site.file_name()) [[unlikely]] {
    const RecordedPlace place = recorded_place(site);
    known = {
        op,     site.file_name(),
        number, line,
        stack,  session_->tables.origin(view_of(op), place.file, place.line, text_of(path), stack)};
  }
  return known.number;
}

std::uint32_t Writer::origin(ThreadBuffer& buffer, const mem::PlannedRun& run,
                             const mem::NamePath* path) noexcept {
  const std::uint64_t number = path == nullptr ? 0 : path->number();
  const char* const file = run.site.file_name();
  ThreadBuffer::KnownRun& known = buffer.runs[mix(run.id, number) % buffer.runs.size()];
  if (known.number == 0 || known.plan != run.id || known.file != file ||
      known.line != run.site.line() || known.path != number) {
    const RecordedPlace place = recorded_place(run.site);
    known = {run.id, file, number, run.site.line(),
             session_->tables.origin(run.name, place.file, place.line, text_of(path))};
  }
  return known.number;
}

std::uint32_t Writer::layout(ThreadBuffer& buffer, DType dtype, const Shape& shape) noexcept {
  std::size_t hash = mix(static_cast<int>(dtype), shape.size());
  for (const std::int64_t dimension : shape) hash = mix(hash, dimension);
  ThreadBuffer::KnownLayout& known = buffer.layouts[hash % buffer.layouts.size()];
  if (known.number == 0 || known.dtype != dtype || known.shape != shape) [[unlikely]] {
    known = {shape, dtype, session_->tables.layout(dtype, shape)};
  }
  return known.number;
}

std::uint64_t Writer::place_of(ThreadBuffer& buffer, const mem::ThreadContext& context,
                               const mem::Storage& storage) noexcept {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(storage.data());
  return (address & kLow48) | account(buffer, context, storage.budget()) << 48;
}

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

void Writer::allocated(mem::ThreadContext& context, const mem::Storage& storage) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::allocate,
                 .tag = static_cast<std::uint8_t>(storage.category()),
                 .subject = storage.serial(),
                 .extra = device_bits(storage.device()),
                 .third = storage.bytes(),
                 .fourth = place_of(buffer, context, storage)};
  });
}

void Writer::freed(mem::ThreadContext& context, const mem::Storage& storage) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::free,
                 .subject = storage.serial(),
                 .extra = device_bits(storage.device()),
                 .third = storage.bytes()};
  });
}

void Writer::evicted(mem::ThreadContext& context, const mem::Storage& storage) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::evict,
                 .subject = storage.serial(),
                 .extra = device_bits(storage.device()),
                 .third = storage.bytes()};
  });
}

void Writer::recomputed(mem::ThreadContext& context, const mem::Storage& storage) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::recompute,
                 .tag = static_cast<std::uint8_t>(storage.category()),
                 .subject = storage.serial(),
                 .extra = device_bits(storage.device()),
                 .third = storage.bytes(),
                 .fourth = place_of(buffer, context, storage)};
  });
}

void Writer::recategorized(mem::ThreadContext& context, const mem::Storage& storage) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::recategorize,
                 .tag = static_cast<std::uint8_t>(storage.category()),
                 .subject = storage.serial()};
  });
}

void Writer::created(mem::ThreadContext& context, const mem::Tenant& tenant,
                     const mem::Storage& storage) noexcept {
  const CallStack calls = calls_here();
  if (!calls.addresses().empty()) CallBook::instance().created(tenant.id(), calls);
  write_if_on(context, [&](ThreadBuffer& buffer) {
    const Event event = create(buffer, tenant, storage, 0, stack(buffer, calls));
    put(buffer, context, event);
    if (!session_->stacks) {
      sample_calls(buffer, context, tenant, static_cast<std::uint32_t>(event.fourth));
    }
  });
}

Writer::Event Writer::create(ThreadBuffer& buffer, const mem::Tenant& tenant,
                             const mem::Storage& storage, std::uint16_t extra,
                             std::uint32_t stack) noexcept {
  const auto& body = static_cast<const TensorBody&>(tenant);  // there are no other tenants
  const std::uint64_t from = origin(buffer, tenant.op(), tenant.created(), tenant.path(), stack);
  const std::uint64_t form = layout(buffer, body.dtype, body.shape);
  return {.kind = EventKind::create,
          .tag = static_cast<std::uint8_t>(tenant.kind()),
          .subject = storage.serial(),
          .extra = static_cast<std::uint16_t>(extra | (storage.is_foreign() ? kForeign : 0)),
          .third = tenant.id(),
          .fourth = from | form << 32};
}

void Writer::used(mem::ThreadContext& context, const mem::Tenant& tenant, const char* by,
                  Site site) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::use,
                 .subject = tenant.storage_serial(),
                 .third = origin(buffer, by, site, context.path)};
  });
}

void Writer::disposed(mem::ThreadContext& context, std::uint64_t tensor, std::uint64_t storage,
                      const char* by, Site site) noexcept {
  const CallStack calls = calls_here();
  if (!calls.addresses().empty()) CallBook::instance().disposed(tensor, calls);
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::dispose,
                 .subject = storage,
                 .third = tensor,
                 .fourth = origin(buffer, by, site, context.path, stack(buffer, calls))};
  });
}

void Writer::missed(mem::ThreadContext& context, const mem::Tenant& tenant, const char* by,
                    Site site) noexcept {
  const CallStack calls = calls_here();
  write(context, [&](ThreadBuffer& buffer) {
    const std::uint64_t use = origin(buffer, by, site, context.path, stack(buffer, calls));
    const std::uint64_t disposal = origin(buffer, tenant.disposed_by(), tenant.disposed(), nullptr);
    return Event{.kind = EventKind::miss,
                 .subject = tenant.storage_serial(),
                 .third = tenant.id(),
                 .fourth = use | disposal << 32};
  });
}

void Writer::destroyed(mem::ThreadContext& context, const mem::Tenant& tenant) noexcept {
  if (CallBook& book = CallBook::instance(); book.is_on()) book.destroyed(tenant.id());
  write(context, [&](ThreadBuffer&) {
    return Event{
        .kind = EventKind::destroy, .subject = tenant.storage_serial(), .third = tenant.id()};
  });
}

void Writer::named(mem::ThreadContext& context, const mem::Tenant& tenant,
                   const std::string& name) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::name,
                 .subject = tenant.storage_serial(),
                 .third = tenant.id(),
                 .fourth = session_->tables.string(name)};
  });
}

void Writer::kind_changed(mem::ThreadContext& context, const mem::Tenant& tenant) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::kind,
                 .tag = static_cast<std::uint8_t>(tenant.kind()),
                 .subject = tenant.storage_serial(),
                 .third = tenant.id()};
  });
}

void Writer::scope_began(mem::ThreadContext& context, bool is_name, Site site) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::scope_begin,
                 .tag = is_name ? std::uint8_t{1} : std::uint8_t{0},
                 .third = origin(buffer, "scope", site, context.path)};
  });
}

void Writer::scope_ended(mem::ThreadContext& context, bool is_name) noexcept {
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::scope_end, .tag = is_name ? std::uint8_t{1} : std::uint8_t{0}};
  });
}

void Writer::renew_census(mem::ThreadContext& context) noexcept try {
  constexpr std::int64_t kBytesOfATensor = 96;
  bool is_due = false;
  write_if_on(context, [&](ThreadBuffer&) {
    RecordingFile& file = session_->file;
    // One that would push out most of what there is helps nobody.
    is_due = file.is_census_due() && mem::counts().tensors * kBytesOfATensor <
                                         static_cast<std::int64_t>(file.capacity() / 4);
    if (!is_due) return;
    for (auto& told : session_->told_accounts) told.store(0, std::memory_order_relaxed);
    const std::lock_guard lock(session_->things_mutex);
    session_->things_counted.clear();
    session_->things_told.clear();
  });
  if (!is_due) return;
  mem::tell_parts(*this);
  write_what_is_live(context);
} catch (const std::bad_alloc&) {  // then old tensors stay unknown
}

void Writer::step_marked(mem::ThreadContext& context, std::string_view name, Site site) noexcept {
  renew_census(context);
  write(context, [&](ThreadBuffer& buffer) {
    if (buffer.chunk.begin != nullptr) write_things(buffer, now());
    const RecordedPlace place = recorded_place(site);
    return Event{.kind = EventKind::step,
                 .third = session_->tables.origin(name, place.file, place.line, "")};
  });
}

void Writer::run_began(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    sample_things(buffer, now(), 100'000);  // a graph may grow from run to run
    const std::uint32_t from = origin(buffer, run, context.path);
    session_->tables.plan(run, from);
    return Event{.kind = EventKind::run_begin,
                 .subject = run.id,
                 .extra = device_bits(run.device),
                 .third = from};
  });
}

void Writer::run_ended(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept {
  write(context,
        [&](ThreadBuffer&) { return Event{.kind = EventKind::run_end, .subject = run.id}; });
}

void Writer::kernel_ran(mem::ThreadContext& context, const char* op, Site site,
                        Device device) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::kernel,
                 .extra = device_bits(device),
                 .third = origin(buffer, op, site, context.path)};
  });
}

}  // namespace tenure::profile
