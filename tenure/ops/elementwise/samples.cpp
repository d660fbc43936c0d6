#include <optional>
#include <utility>

#include "tenure/ops/elementwise/definition.h"

namespace tenure::ops {

std::vector<Sample> elementwise_samples(int arity, double low, double high, bool selects,
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
