#include <algorithm>

#include "tenure/memory/accounts/name_path.h"
#include "tenure/profile/call_book.h"
#include "tenure/profile/paths.h"
#include "tenure/profile/writer.h"

// The numbers that a Writer's events refer to lines, calls and layouts by.

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
  sample_things(buffer, now(), kThingsApart);
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

}  // namespace tenure::profile
