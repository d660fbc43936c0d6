#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tenure/ops/shape/meet.h"

namespace tenure::graph {

/// While it lives, those of a call's tensors that are everywhere (ops/shape/meet.h) are where the
/// program runs; after that they are what they were.
class Brought {
 public:
  Brought(std::vector<Tensor>& tensors, Device device, Site site) : tensors_(tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].device(site) == device) continue;
      Tensor there = ops::brought_to(tensors[i], device, site);
      originals_.emplace_back(i, std::exchange(tensors[i], std::move(there)));
    }
  }
  ~Brought() {
    for (auto& [i, original] : originals_) tensors_[i] = std::move(original);
  }
  Brought(const Brought&) = delete;
  Brought& operator=(const Brought&) = delete;

 private:
  std::vector<Tensor>& tensors_;
  std::vector<std::pair<std::size_t, Tensor>> originals_;
};

}  // namespace tenure::graph
