#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/profile/call_book.h"
#include "tenure/profile/paths.h"
#include "tenure/profile/writer.h"
#include "tenure/tensor/tensor.h"

// What a Writer says of storages, tensors, scopes, steps and runs.

namespace tenure::profile {

std::uint64_t Writer::place_of(ThreadBuffer& buffer, const mem::ThreadContext& context,
                               const mem::Storage& storage) noexcept {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(storage.data());
  return (address & kLow48) | account(buffer, context, storage.budget()) << 48;
}

void Writer::allocated(mem::ThreadContext& context, const mem::Storage& storage) noexcept {
  if (is_census_due_.load(std::memory_order_relaxed)) [[unlikely]]
    renew_census(context, storage.bytes());
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
  // Views are no work of the device's.
  std::uint64_t mark = tenant.kind() == HolderKind::user ? next_mark(context, storage.device()) : 0;
  write_if_on(context, [&](ThreadBuffer& buffer) {
    const Event event = create(buffer, tenant, storage, 0, stack(buffer, calls));
    put(buffer, context, event);
    if (buffer.runs_within > 0) mark = 0;  // the kernels of the program tell its work
    if (mark != 0) {
      put(buffer, context,
          {.kind = EventKind::kernel,
           .subject = mark,
           .extra = device_bits(storage.device()),
           .third = event.fourth & UINT32_MAX});
    }
    if (session_->stacks) {
      sample_things(buffer, now(), kThingsApart);
    } else {
      sample_calls(buffer, context, tenant, static_cast<std::uint32_t>(event.fourth));
    }
  });
  if (mark != 0) put_mark(context, storage.device(), mark);
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

void Writer::step_marked(mem::ThreadContext& context, std::string_view name, Site site) noexcept {
  if (is_census_due_.load(std::memory_order_relaxed)) renew_census(context, 0);
  write(context, [&](ThreadBuffer& buffer) {
    if (buffer.chunk.begin != nullptr) write_things(buffer, now());
    const RecordedPlace place = recorded_place(site);
    return Event{.kind = EventKind::step,
                 .third = session_->tables.origin(name, place.file, place.line, "")};
  });
}

void Writer::run_began(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    sample_things(buffer, now(), kThingsApart);  // a graph may grow from run to run
    const std::uint32_t from = origin(buffer, run, context.path);
    session_->tables.plan(run, from);
    ++buffer.runs_within;
    return Event{.kind = EventKind::run_begin,
                 .subject = run.id,
                 .extra = device_bits(run.device),
                 .third = from};
  });
}

void Writer::run_ended(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept {
  write(context, [&](ThreadBuffer& buffer) {
    if (buffer.runs_within > 0) --buffer.runs_within;  // the recording may have begun within it
    return Event{.kind = EventKind::run_end, .subject = run.id};
  });
}

void Writer::kernel_ran(mem::ThreadContext& context, const char* op, Site site,
                        Device device) noexcept {
  const std::uint64_t mark = next_mark(context, device);
  write(context, [&](ThreadBuffer& buffer) {
    return Event{.kind = EventKind::kernel,
                 .subject = mark,
                 .extra = device_bits(device),
                 .third = origin(buffer, op, site, context.path)};
  });
  if (mark != 0) put_mark(context, device, mark);
}

}  // namespace tenure::profile
