#include "tenure/graph/run/known_indices.h"

#include <algorithm>

#include "tenure/ops/core/index_bounds.h"

namespace tenure::graph {
namespace {

/// Which pin has a buffer's tensor; -1: none, or it may be written to.
int pin_of(const Lowered& lowered, int b) {
  const Buffer& buffer = lowered.buffers[graph::at(b)];
  if (buffer.kind == Buffer::Kind::input) return buffer.index;
  if (buffer.kind != Buffer::Kind::source) return -1;
  const bool is_constant = lowered.sources[graph::at(buffer.index)].variable == nullptr;
  return is_constant ? static_cast<int>(lowered.inputs.size()) + buffer.index : -1;
}

}  // namespace

KnownIndices::KnownIndices(const Lowered& lowered) : has_(lowered.units.size()) {
  if (!ops::backend(lowered.request.device).waits_for_indices()) return;
  for (std::size_t u = 0; u < has_.size(); ++u) {
    const Unit& unit = lowered.units[u];
    const auto pin = [&](const ops::IndexBound& bound) {
      return pin_of(lowered, unit.in[at(bound.input)].buffer);
    };
    has_[u] = !unit.bounds.empty() &&
              std::all_of(unit.bounds.begin(), unit.bounds.end(),
                          [&](const ops::IndexBound& bound) { return pin(bound) >= 0; });
    for (std::size_t b = 0; has_[u] && b < unit.bounds.size(); ++b) {
      const Given wanted{static_cast<std::size_t>(pin(unit.bounds[b])), unit.bounds[b]};
      const bool is_known = std::any_of(given_.begin(), given_.end(), [&](const Given& given) {
        return given.pin == wanted.pin && given.bound.lowest == wanted.bound.lowest &&
               given.bound.end == wanted.bound.end && given.bound.except == wanted.bound.except;
      });
      if (!is_known) given_.push_back(wanted);
    }
  }
}

bool KnownIndices::hold(std::span<const Pin> pins, ops::Backend& device) const {
  return std::all_of(given_.begin(), given_.end(), [&](const Given& given) {
    return ops::hold(given.bound, pins[given.pin], device);
  });
}

std::size_t KnownIndices::bytes() const {
  return given_.capacity() * sizeof(Given) + has_.capacity() / 8;
}

}  // namespace tenure::graph
