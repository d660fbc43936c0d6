#include <fmt/format.h>

#include <set>

#include "tenure/autograd/state.h"
#include "tenure/autograd/tape.h"
#include "tenure/base/units.h"

namespace tenure {
namespace {

std::string role_of(const autograd::Node& node, std::size_t place) {
  if (place < node.inputs) return fmt::format("input {}", place);
  place -= node.inputs;
  if (place < node.outputs) return fmt::format("output {}", place);
  return fmt::format("saved {}", place - node.outputs);
}

/// Symbols are also kept where the rule does not read them.
bool is_needed(const autograd::Node& node, std::size_t place) {
  if (node.op == nullptr) return true;
  const std::uint32_t bits = place < node.inputs ? node.needed_inputs : node.needed_outputs;
  const std::size_t at = place < node.inputs ? place : place - node.inputs;
  return autograd::has_bit(bits, at);
}

}  // namespace

SavedReport GradientTape::saved() const {
  SavedReport report;
  std::set<std::pair<bool, std::uint64_t>> seen;  // storages by serial, symbols by id
  state_->for_each_node([&](const autograd::Node& node) {
    for (std::size_t i = 0; i < node.saved; ++i) {
      const Tensor& tensor = node.saved_tensors[i];
      if (!tensor.defined() || !is_needed(node, i)) continue;
      const TensorBody& body = *tensor.body_or_null();
      const bool is_symbol = body.symbol() != nullptr;
      SavedTensor saved{
          .op = node.title(),
          .site = node.site,
          .role = role_of(node, i),
          .tensor = is_symbol ? body.id() : node.origins[i],
          .dtype = body.dtype,
          .shape = body.shape,
          .bytes = body.shape.is_known() ? static_cast<std::int64_t>(tensor.nbytes()) : 0};
      saved.is_first =
          seen.emplace(is_symbol, is_symbol ? body.id() : body.storage_serial()).second;
      if (saved.is_first && !is_symbol) {
        const Pin pin(*tensor.body_or_null(), "saved", node.site);
        report.bytes += static_cast<std::int64_t>(pin.storage()->bytes());
      }
      report.tensors.push_back(std::move(saved));
    }
  });
  return report;
}

std::string to_string(const SavedReport& report) {
  std::string text;
  for (const SavedTensor& saved : report.tensors) {
    text += fmt::format("{} of {} at {}: {}{}, {}{}\n", saved.role, saved.op, to_string(saved.site),
                        name_of(saved.dtype), to_string(saved.shape), format_bytes(saved.bytes),
                        saved.is_first ? "" : ", shared with the above");
  }
  return text + fmt::format("{} tensors, {}\n", report.tensors.size(), format_bytes(report.bytes));
}

}  // namespace tenure
