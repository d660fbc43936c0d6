#include "tenure/profile/recorded_plans.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "tenure/profile/plan_moments.h"

namespace tenure::profile {
namespace {

/// So deep are bodies within bodies read: what looks at them goes as deep.
constexpr int kDeepest = 64;

/// Damaged numbers must not overflow sums.
std::int64_t amount(std::int64_t value) {
  return std::clamp<std::int64_t>(value, 0, static_cast<std::int64_t>(kLow48));
}

Category category_in(std::uint32_t flags) {
  const std::uint32_t category = flags & 0xff;
  return category < kCategories ? static_cast<Category>(category) : Category::activation;
}

int step_number(std::uint32_t value) { return static_cast<int>(value & INT32_MAX); }

}  // namespace

int RecordedPlan::step_around(int body) const {
  int step = 0;
  for (int b = body; b != kNoBody; b = bodies[static_cast<std::size_t>(b)].around) {
    step = bodies[static_cast<std::size_t>(b)].step;
  }
  return step;
}

bool PlanDefinitions::read_plan(const DefinitionHead& head, const std::byte* payload) {
  if (head.length < sizeof(PlanHead)) return false;
  const auto plan = read<PlanHead>(payload);
  // Before format 3 a buffer ended before its layout.
  constexpr std::size_t kBufferBytes[] = {sizeof(PlanBuffer), offsetof(PlanBuffer, layout)};
  const auto* const bytes =
      std::find_if(std::begin(kBufferBytes), std::end(kBufferBytes), [&](std::size_t each) {
        return head.length == sizeof(PlanHead) + std::size_t{plan.buffers} * each;
      });
  if (bytes == std::end(kBufferBytes)) return false;
  Raw& raw = raw_[plan.id];
  if (head.body == 0) raw.head = plan;
  std::vector<PlanBuffer>& buffers = raw.parts[head.body].buffers[head.number];
  buffers.assign(plan.buffers, {});
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::memcpy(&buffers[i], payload + sizeof(PlanHead) + i * *bytes, *bytes);
  }
  return true;
}

bool PlanDefinitions::read_steps(const DefinitionHead& head, const std::byte* payload) {
  if (head.length < sizeof(PlanStepsHead)) return false;
  const auto plan = read<PlanStepsHead>(payload);
  std::span<const std::byte> left(payload + sizeof(PlanStepsHead),
                                  head.length - sizeof(PlanStepsHead));
  std::vector<RecordedPlan::Step> steps;
  for (std::uint32_t i = 0; i < plan.steps; ++i) {
    if (left.size() < sizeof(PlanStep)) return false;
    const auto step = read<PlanStep>(left.data());
    left = left.subspan(sizeof step);
    const std::size_t inputs = (std::size_t{step.inputs} + 1) / 2 * 8;
    if (left.size() < inputs) return false;
    RecordedPlan::Step made{.origin = step.origin,
                            .unit = step.unit,
                            .category = category_in(step.flags),
                            .is_pure = (step.flags & kStepPure) != 0,
                            .is_output = (step.flags & kStepOutput) != 0,
                            .overwrites = step.overwrites,
                            .live = amount(step.live),
                            .cost = amount(step.cost),
                            .bytes = amount(step.bytes),
                            .workspace = amount(step.workspace),
                            .inputs = std::vector<std::uint32_t>(step.inputs)};
    if (step.inputs != 0) {
      std::memcpy(made.inputs.data(), left.data(), std::size_t{step.inputs} * 4);
    }
    left = left.subspan(inputs);
    steps.push_back(std::move(made));
  }
  Raw& raw = raw_[plan.id];
  raw.parts[head.body].steps[plan.first] = std::move(steps);
  if (head.body == 0) raw.resident = amount(plan.resident);
  return left.empty();
}

bool PlanDefinitions::read_body(const DefinitionHead& head, const std::byte* payload) {
  if (head.length != sizeof(PlanBody) || head.body == 0) return false;
  const auto body = read<PlanBody>(payload);
  raw_[body.id].bodies[head.body] = body;
  return true;
}

std::vector<RecordedPlan::Step> PlanDefinitions::Part::all_steps() const {
  std::vector<RecordedPlan::Step> all;
  std::set<std::uint32_t> known;
  for (const auto& [first, some] : steps) {
    if (first != all.size()) break;  // what comes before is missing
    for (const RecordedPlan::Step& step : some) {
      all.push_back(step);
      all.back().is_again = !known.insert(step.unit).second;
    }
  }
  return all;
}

std::vector<RecordedPlan> PlanDefinitions::plans(const std::vector<std::string>& strings) const {
  std::vector<RecordedPlan> plans;
  for (const auto& [id, raw] : raw_) {
    if (raw.head.id == id) plans.push_back(plan_of(raw, strings));
  }
  return plans;
}

RecordedPlan PlanDefinitions::plan_of(const Raw& raw, const std::vector<std::string>& strings) {
  const auto text = [&](std::uint32_t number) -> std::string_view {
    return number < strings.size() ? std::string_view(strings[number]) : std::string_view();
  };
  const auto part = [&](int body) -> const Part& {
    static const Part none;
    const auto found = raw.parts.find(static_cast<std::uint32_t>(body + 1));
    return found == raw.parts.end() ? none : found->second;
  };
  RecordedPlan plan{.id = raw.head.id,
                    .peak = amount(raw.head.peak),
                    .arena = amount(raw.head.arena),
                    .origin = raw.head.origin,
                    .steps = part(RecordedPlan::kNoBody).all_steps(),
                    .resident = raw.resident};
  std::vector<int> depths;
  for (const auto& [number, body] : raw.bodies) {
    const int around = step_number(body.around) - 1;
    const int step = step_number(body.step);
    // Numbers go up without gaps; what is missing takes all that follows with it.
    if (number != plan.bodies.size() + 1 || body.around >= number) break;
    if (static_cast<std::size_t>(step) >= plan.steps_of(around).size()) break;
    depths.push_back(around < 0 ? 1 : depths[static_cast<std::size_t>(around)] + 1);
    if (depths.back() > kDeepest) break;
    plan.bodies.push_back({.name = text(body.name),
                           .around = around,
                           .step = step,
                           .offset = amount(body.offset),
                           .steps = part(static_cast<int>(number) - 1).all_steps()});
  }
  for (int body = RecordedPlan::kNoBody; body < static_cast<int>(plan.bodies.size()); ++body) {
    const bool is_program = body == RecordedPlan::kNoBody;
    const std::vector<RecordedPlan::Step>& steps = plan.steps_of(body);
    const std::int64_t base = is_program ? 0 : plan.bodies[static_cast<std::size_t>(body)].offset;
    const int around = plan.step_around(body);
    for (const auto& [piece, buffers] : part(body).buffers) {
      for (const PlanBuffer& b : buffers) {
        const int first = step_number(std::min(b.first, b.last));
        const int last = step_number(b.last);
        plan.buffers.push_back({.op = text(b.op),
                                .layout = text(b.layout),
                                .offset = base + amount(b.offset),
                                .bytes = amount(b.bytes),
                                .first = is_program ? first : around,
                                .last = is_program ? last : around,
                                .origin = b.first < steps.size() ? steps[b.first].origin : 0,
                                .category = category_in(b.flags),
                                .is_saved = (b.flags & kBufferSaved) != 0,
                                .is_again = (b.flags & kBufferAgain) != 0,
                                .body = body,
                                .inner_first = first,
                                .inner_last = last});
      }
    }
  }
  choose_shown(plan);
  return plan;
}

}  // namespace tenure::profile
