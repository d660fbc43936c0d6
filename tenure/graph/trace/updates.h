#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

// Note: assignments in graphs
//
// A layer or a function that is applied to a symbol of a graph may assign to variables. That
// becomes a node which a run may fetch, the update of the variable. Each application sees its own
// assignments, as a trace does; what other applications did is for runs to come: its reads give
// what the variable holds when a run begins. Applications that add to a variable add up; the same
// one again, as equal calls, adds nothing.

/// What the applications of layers and functions to a graph assign to variables.
class Updates {
 public:
  struct Part {
    const ops::OpRecord* op = nullptr;  ///< add or sub; nullptr: the value replaces what was there
    Value value{};
    Value assignment{};
  };
  struct Entry {
    std::shared_ptr<VariableState> variable{};
    std::vector<Part> parts{};
    std::uint64_t application = 0;  ///< the last that assigned
    std::size_t passed = 0;         ///< how many parts it has come by
    Value seen{};                   ///< its last assignment
  };

  /// nullptr: nobody assigns to it.
  Entry* find(const VariableState* variable);
  Entry& add(std::shared_ptr<VariableState> variable);
  /// In the order of the first assignment to each.
  const std::vector<Entry>& entries() const { return entries_; }

  /// Lets an application come by a part that does the same; false: there is none.
  static bool pass(Entry& entry, const ops::OpRecord* op, Value value, std::uint64_t application);
  /// Adds a part.
  static void append(Entry& entry, const Part& part, std::uint64_t application);

 private:
  std::vector<Entry> entries_;
};

}  // namespace tenure::graph
