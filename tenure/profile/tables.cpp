#include "tenure/profile/tables.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "tenure/profile/paths.h"

namespace tenure::profile {
namespace {

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

bool Tables::write(DefinitionKind kind, std::uint32_t number, std::string_view payload,
                   std::uint32_t body) {
  const std::size_t bytes = sizeof(DefinitionHead) + (payload.size() + 7) / 8 * 8;
  if (bytes > kPayloadBytes || written_ + bytes > capacity_) return false;
  if (chunk_.begin == nullptr) {
    chunk_ = file_.open(ChunkKind::definitions, {}, 0, 0);
    if (chunk_.begin == nullptr) return false;
  } else if (!chunk_.has_room(bytes)) {
    file_.renew(chunk_, {}, 0, 0);
  }
  const DefinitionHead head{kind, number, static_cast<std::uint32_t>(payload.size()), body};
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

std::uint32_t Tables::add_origin(std::string_view op, std::string_view file, std::uint32_t line,
                                 std::string_view scope, std::uint32_t stack) {
  std::string key;
  append(key, add_string(op));
  append(key, add_string(seen_from(folder_, file)));
  append(key, line);
  append(key, add_string(scope));
  if (stack != 0) append(key, stack);
  return number_of(DefinitionKind::origin, key);
}

std::uint32_t Tables::origin(std::string_view op, std::string_view file, std::uint32_t line,
                             std::string_view scope, std::uint32_t stack) noexcept try {
  const std::lock_guard lock(mutex_);
  return add_origin(op, file, line, scope, stack);
} catch (const std::bad_alloc&) {
  return 0;
}

std::uint32_t Tables::stack(const CallStack& stack, std::size_t most) noexcept try {
  const Located located = locate(stack.addresses());
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> modules;
  for (const Module& module : located.modules) {
    std::string key;
    append(key, add_string(seen_from(folder_, module.path)));
    key += module.build_id;
    modules.push_back(number_of(DefinitionKind::module, key));
  }
  std::string key;
  for (const ModuleAddress& address : located.addresses) {
    append(key, (address.offset & kLow48) | modules[address.module] << 48);
  }
  const std::size_t before = written_;
  if (stack_bytes_ + key.size() > most) return 0;
  const std::uint32_t number = number_of(DefinitionKind::stack, key);
  stack_bytes_ += written_ - before;
  return number;
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

void Tables::write_steps(std::uint64_t plan, std::uint32_t body,
                         const mem::PlannedProgram& program) {
  constexpr std::size_t kMost = kPayloadBytes - sizeof(DefinitionHead) - 8;
  std::string steps;
  PlanStepsHead head{.id = plan, .resident = program.resident, .first = 0, .steps = 0};
  const auto flush = [&] {
    std::string payload;
    append(payload, head);
    write(DefinitionKind::plan_steps, 0, payload + steps, body);
    head.first += head.steps;
    head.steps = 0;
    steps.clear();
  };
  for (const mem::PlannedProgram::Step& step : program.steps) {
    const std::size_t bytes = sizeof(PlanStep) + (step.inputs.size() + 1) / 2 * 8;
    if (sizeof head + steps.size() + bytes > kMost) flush();
    const RecordedPlace place = recorded_place(step.site);
    append(steps,
           PlanStep{.origin = add_origin(step.op, place.file, place.line, step.scope),
                    .unit = static_cast<std::uint32_t>(step.unit),
                    .inputs = static_cast<std::uint32_t>(step.inputs.size()),
                    .overwrites = step.overwrites,
                    .flags = static_cast<std::uint32_t>(step.category) |
                             (step.is_pure ? kStepPure : 0) | (step.is_output ? kStepOutput : 0),
                    .reserved = 0,
                    .live = step.live,
                    .cost = step.cost,
                    .bytes = step.bytes,
                    .workspace = step.workspace});
    for (const int input : step.inputs) append(steps, static_cast<std::uint32_t>(input));
    if (step.inputs.size() % 2 != 0) append(steps, std::uint32_t{0});
    ++head.steps;
  }
  if (head.steps != 0) flush();
}

void Tables::write_buffers(const PlanHead& head, std::uint32_t body,
                           const mem::PlannedProgram& program) {
  constexpr std::size_t kMostBuffers =
      (kPayloadBytes - sizeof(DefinitionHead) - sizeof(PlanHead)) / sizeof(PlanBuffer);
  const std::vector<mem::PlannedProgram::Buffer>& all = program.buffers;
  std::uint32_t piece = 0;
  std::size_t next = 0;
  do {  // one without buffers is told too
    const std::size_t n = std::min(all.size() - next, kMostBuffers);
    std::string payload;
    PlanHead piece_head = head;
    piece_head.buffers = static_cast<std::uint32_t>(n);
    append(payload, piece_head);
    for (const std::size_t end = next + n; next < end; ++next) {
      const mem::PlannedProgram::Buffer& buffer = all[next];
      const std::string& op = program.steps[static_cast<std::size_t>(buffer.first)].op;
      append(payload,
             PlanBuffer{.op = add_string(buffer.role.empty() ? op : op + ", " + buffer.role),
                        .first = static_cast<std::uint32_t>(buffer.first),
                        .last = static_cast<std::uint32_t>(buffer.last),
                        .flags = static_cast<std::uint32_t>(buffer.category) |
                                 (buffer.is_saved ? kBufferSaved : 0) |
                                 (buffer.is_again ? kBufferAgain : 0),
                        .offset = buffer.offset,
                        .bytes = buffer.bytes,
                        .layout = add_string(buffer.layout),
                        .reserved = 0});
    }
    write(DefinitionKind::plan, piece++, payload, body);
  } while (next < all.size());
}

void Tables::write_bodies(const PlanHead& head, std::uint32_t around, std::int64_t offset,
                          const mem::PlannedProgram& program, std::uint32_t& last) {
  for (const mem::PlannedBody& body : program.bodies) {
    const std::uint32_t number = ++last;
    const std::int64_t begin = offset + body.offset;
    std::string payload;
    append(payload, PlanBody{.id = head.id,
                             .offset = begin,
                             .around = around,
                             .step = static_cast<std::uint32_t>(body.step),
                             .name = add_string(body.name),
                             .reserved = 0});
    write(DefinitionKind::plan_body, 0, payload, number);
    write_steps(head.id, number, body.program);
    write_buffers(head, number, body.program);
    write_bodies(head, number, begin, body.program, last);
  }
}

void Tables::plan(const mem::PlannedRun& run, std::uint32_t origin) noexcept try {
  const std::lock_guard lock(mutex_);
  std::string key(1, static_cast<char>(DefinitionKind::plan));
  append(key, run.id);
  if (!numbers_.emplace(key, 0).second || run.source == nullptr) return;
  const mem::PlannedProgram program = run.source->program();
  const PlanHead head{run.id, run.peak, run.arena, origin, 0};
  write_steps(run.id, 0, program);
  write_buffers(head, 0, program);
  std::uint32_t last = 0;
  write_bodies(head, 0, 0, program, last);
} catch (const std::bad_alloc&) {  // then the plan is unknown
}

}  // namespace tenure::profile
