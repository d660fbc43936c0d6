#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

/// Which nodes of a program read each one, found out when first asked for.
class Readers {
 public:
  explicit Readers(const Program& program) : program_(program) {}

  /// Ascending, each once.
  std::span<const std::int32_t> of(std::int32_t node) {
    if (of_.empty()) find();
    return of_[static_cast<std::size_t>(node)];
  }

 private:
  void find() {
    of_.resize(program_.nodes.size());
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      for (const Argument& argument : program_.nodes[i].arguments) {
        if (argument.number) continue;
        auto& list = of_[static_cast<std::size_t>(argument.value.node)];
        if (list.empty() || list.back() != static_cast<std::int32_t>(i)) {
          list.push_back(static_cast<std::int32_t>(i));
        }
      }
    }
  }

  const Program& program_;
  std::vector<std::vector<std::int32_t>> of_;
};

}  // namespace tenure::graph
