#include "tenure/profile/plan_moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace tenure::profile {
namespace {

constexpr int kProgram = RecordedPlan::kNoBody;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// By body and step, those of the program last.
template <class T>
class OfSteps {
 public:
  explicit OfSteps(const RecordedPlan& plan) {
    for (const RecordedPlan::Body& body : plan.bodies) values_.emplace_back(body.steps.size());
    values_.emplace_back(plan.steps.size());
  }
  std::vector<T>& of(int body) { return body == kProgram ? values_.back() : values_[at(body)]; }
  std::vector<std::vector<T>> take() && { return std::move(values_); }

 private:
  std::vector<std::vector<T>> values_;
};

OfSteps<std::vector<int>> bodies_by_step(const RecordedPlan& plan) {
  OfSteps<std::vector<int>> bodies(plan);
  for (std::size_t b = 0; b < plan.bodies.size(); ++b) {
    const RecordedPlan::Body& body = plan.bodies[b];
    bodies.of(body.around)[at(body.step)].push_back(static_cast<int>(b));
  }
  return bodies;
}

class Listing {
 public:
  explicit Listing(const RecordedPlan& plan) : plan_(plan), bodies_(bodies_by_step(plan)) {
    int number = 0;
    add(kProgram, "", number);
  }
  std::vector<PlanMoment> take() && { return std::move(list_); }

 private:
  /// The steps of a body are numbered on from those of the body before.
  void add(int body, const std::string& prefix, int& number) {
    const int n = static_cast<int>(plan_.steps_of(body).size());
    for (int step = 0; step < n; ++step) {
      const std::size_t mine = list_.size();
      const std::string label = fmt::format("{}{}", prefix, number++);
      list_.push_back({.body = body, .step = step, .label = label, .begin = positions_});
      int inside = 0;
      for (const int inner : bodies_.of(body)[at(step)]) add(inner, label + '.', inside);
      if (inside == 0) ++positions_;
      list_[mine].end = positions_;
    }
  }

  const RecordedPlan& plan_;
  OfSteps<std::vector<int>> bodies_;
  std::vector<PlanMoment> list_;
  int positions_ = 0;
};

}  // namespace

std::vector<PlanMoment> moments(const RecordedPlan& plan) { return Listing(plan).take(); }

std::string body_text(const RecordedPlan& plan, int body) {
  std::string text;
  for (int b = body; b != kProgram; b = plan.bodies[at(b)].around) {
    text += text.empty() ? "" : " in ";
    text += plan.bodies[at(b)].name;
  }
  return text;
}

PlanPositions::PlanPositions(const RecordedPlan& plan) : moments_(profile::moments(plan)) {
  OfSteps<std::size_t> places(plan);
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    places.of(moments_[i].body)[at(moments_[i].step)] = i;
  }
  places_ = std::move(places).take();
}

const PlanMoment& PlanPositions::moment(int body, int step) const {
  static const PlanMoment nowhere;
  const auto& places = body == kProgram ? places_.back() : places_[at(body)];
  return at(step) < places.size() ? moments_[places[at(step)]] : nowhere;
}

int PlanPositions::begin_of(const RecordedPlan::Buffer& buffer) const {
  return moment(buffer.body, buffer.inner_first).begin;
}
int PlanPositions::end_of(const RecordedPlan::Buffer& buffer) const {
  return moment(buffer.body, buffer.inner_last).end;
}
std::string PlanPositions::label_of(const RecordedPlan::Buffer& buffer) const {
  const std::string& first = moment(buffer.body, buffer.inner_first).label;
  const std::string& last = moment(buffer.body, buffer.inner_last).label;
  return first == last ? first : first + " to " + last;
}

void choose_shown(RecordedPlan& plan) {
  if (plan.bodies.empty()) return;
  const int n = static_cast<int>(plan.bodies.size());
  OfSteps<std::int64_t> level(plan);  // of their own buffers
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    std::vector<std::int64_t>& changes = level.of(buffer.body);
    const std::size_t end = at(buffer.inner_last) + 1;
    if (at(buffer.inner_first) >= changes.size()) continue;
    changes[at(buffer.inner_first)] += buffer.bytes;
    if (end < changes.size()) changes[end] -= buffer.bytes;
  }
  for (int b = 0; b < n; ++b) {
    std::partial_sum(level.of(b).begin(), level.of(b).end(), level.of(b).begin());
  }
  // Bodies come after those that they are in: from the innermost out.
  OfSteps<std::int64_t> inside(plan);
  OfSteps<int> fullest_body(plan);  // from 1 up
  std::vector<std::size_t> fullest_step(plan.bodies.size());
  for (int b = n; b-- > 0;) {
    const std::vector<std::int64_t>& own = level.of(b);
    if (own.empty()) continue;
    const auto bytes = [&](std::size_t step) { return own[step] + inside.of(b)[step]; };
    std::size_t& fullest = fullest_step[at(b)];
    for (std::size_t s = 1; s < own.size(); ++s) {
      if (bytes(s) > bytes(fullest)) fullest = s;
    }
    const RecordedPlan::Body& body = plan.bodies[at(b)];
    std::int64_t& most = inside.of(body.around)[at(body.step)];
    int& chosen = fullest_body.of(body.around)[at(body.step)];
    if (chosen == 0 || bytes(fullest) >= most) {  // of equal ones the first
      most = bytes(fullest);
      chosen = b + 1;
    }
  }
  std::vector<bool> is_shown(plan.bodies.size());
  for (int b = 0; b < n; ++b) {
    const RecordedPlan::Body& body = plan.bodies[at(b)];
    const bool is_there =
        body.around == kProgram ||
        (is_shown[at(body.around)] && fullest_step[at(body.around)] == at(body.step));
    is_shown[at(b)] = is_there && fullest_body.of(body.around)[at(body.step)] == b + 1;
  }
  for (RecordedPlan::Buffer& buffer : plan.buffers) {
    if (buffer.body == kProgram) continue;
    const std::size_t moment = fullest_step[at(buffer.body)];
    buffer.is_shown = is_shown[at(buffer.body)] && at(buffer.inner_first) <= moment &&
                      moment <= at(buffer.inner_last);
  }
}

}  // namespace tenure::profile
