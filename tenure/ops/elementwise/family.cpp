#include "tenure/ops/elementwise/family.h"

#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <utility>

#include "tenure/base/object_mutex.h"

namespace tenure::ops {

const char* Family::signature(const char* name, int arity) {
  static auto& texts = *new std::deque<std::string>;  // records keep pointers for good
  static constinit ObjectMutex mutex;
  const std::lock_guard lock(mutex);
  constexpr const char* arguments[] = {"x", "a, b", "a, b, c"};
  return texts.emplace_back(fmt::format("{}({})", name, arguments[arity - 1])).c_str();
}

std::vector<Sample> Family::elementwise_samples(int arity, double low, double high, bool selects,
                                                bool divides) {
  const auto n = static_cast<std::size_t>(arity);
  const auto with = [&](const std::vector<Shape>& shapes) {
    Sample sample;
    for (std::size_t i = 0; i < n; ++i) {
      sample.inputs.push_back(
          {.shape = shapes[i % shapes.size()],
           .low = low,
           .high = high,
           .dtype = selects && i == 0 ? std::optional(DType::boolean) : std::nullopt,
           .values = {}});
    }
    return sample;
  };
  std::vector<Sample> samples{with({{17}}), with({{}}), with({{0, 3}}), with({{2, 3, 70}}),
                              with({{2500}})};
  if (arity > 1) {
    samples.push_back(with({{4, 1, 5}, {3, 1}, {5}}));
    samples.push_back(with({{}, {6}}));
  }
  if (!divides) return samples;
  std::vector<Sample> divisions;
  for (const auto& [from, to] : {std::pair(1.0, high), std::pair(low, -1.0)}) {
    for (Sample sample : samples) {
      sample.inputs.back().low = from;
      sample.inputs.back().high = to;
      divisions.push_back(sample);
    }
  }
  return divisions;
}

}  // namespace tenure::ops
