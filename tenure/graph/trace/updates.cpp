#include "tenure/graph/trace/updates.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/graph/trace/state.h"
#include "tenure/ops/core/dispatch.h"

namespace tenure::graph {

Updates::Entry* Updates::find(const VariableState* variable) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.variable.get() == variable;
  });
  return found == entries_.end() ? nullptr : &*found;
}

Updates::Entry& Updates::add(std::shared_ptr<VariableState> variable) {
  return entries_.emplace_back(Entry{.variable = std::move(variable)});
}

bool Updates::pass(Entry& entry, const ops::OpRecord* op, Value value, std::uint64_t application) {
  const std::size_t passed = entry.application == application ? entry.passed : 0;
  const auto found =
      std::find_if(entry.parts.begin() + static_cast<std::ptrdiff_t>(passed), entry.parts.end(),
                   [&](const Part& part) { return part.op == op && part.value == value; });
  if (found == entry.parts.end()) return false;
  entry.application = application;
  entry.passed = static_cast<std::size_t>(found - entry.parts.begin()) + 1;
  entry.seen = found->assignment;
  return true;
}

void Updates::append(Entry& entry, const Part& part, std::uint64_t application) {
  entry.parts.push_back(part);
  entry.application = application;
  entry.passed = entry.parts.size();
  entry.seen = part.assignment;
}

void GraphState::update_variable(const std::shared_ptr<VariableState>& variable,
                                 const ops::OpRecord* op, const Tensor& tensor, Site site) {
  const std::uint64_t application = ops::current_application();
  const Value value = value_of(tensor, "assign", site);
  Tensor base;
  {
    const std::lock_guard lock(mutex_);
    Updates::Entry* const entry = updates_.find(variable.get());
    if (entry != nullptr) {
      if (Updates::pass(*entry, op, value, application)) return;
      if (op == nullptr && entry->application != application) {
        throw GraphError(
            fmt::format("variable \"{}\" is assigned to by two applications of layers or functions "
                        "to {}; only what they add to it adds up: return the values and use "
                        "Graph::assign",
                        variable->name, title()),
            site);
      }
      base = make_symbol(builder_.program()[entry->parts.back().assignment].arguments[0].value,
                         "assign", site);
    }
  }
  Tensor total = tensor;
  if (op != nullptr) {
    if (!base.defined()) base = read_variable(variable, site);
    total = ops::call(*op, Operand(base, site), Operand(tensor, site));
  }
  const Value assignment = value_of(assign_variable(variable, total, site), "assign", site);
  const std::lock_guard lock(mutex_);
  Updates::Entry* entry = updates_.find(variable.get());
  if (entry == nullptr) entry = &updates_.add(variable);
  Updates::append(*entry, {.op = op, .value = value, .assignment = assignment}, application);
}

std::vector<Tensor> GraphState::updates(Site site) {
  const std::lock_guard lock(mutex_);
  std::vector<Tensor> symbols;
  for (const Updates::Entry& entry : updates_.entries()) {
    symbols.push_back(make_symbol(entry.parts.back().assignment, "assign", site));
  }
  return symbols;
}

}  // namespace tenure::graph
