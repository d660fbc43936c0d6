#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tenure/autograd/error.h"
#include "tenure/autograd/late.h"
#include "tenure/autograd/state.h"
#include "tenure/base/small_array.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/autocast.h"
#include "tenure/ops/elementwise.h"
#include "tenure/tensor/introspect.h"

namespace tenure::autograd {
namespace {

/// What is known of a value on the way back.
enum Flag : std::uint8_t {
  kNeeded = 1,  ///< its gradient leads to a source's
  kSought = 2,  ///< it is a source
};

/// Adds `more` to a sum of gradients, in place where nobody else holds it.
void accumulate(Tensor& sum, Tensor more, Site site) {
  if (!sum.defined()) {
    sum = std::move(more);
  } else {
    sum = add(Operand(std::move(sum), site), Operand(std::move(more), site));
  }
}

/// Of the first one that is there.
Device device_of(std::span<const Tensor> gradients) {
  for (const Tensor& gradient : gradients) {
    if (gradient.defined()) return gradient.device();
  }
  return default_device();
}

[[noreturn]] void throw_written(const Node& node, std::size_t place, std::uint64_t write,
                                Site asked) {
  const Tensor& saved = node.saved_tensors[place];
  std::string tensor = fmt::format("tensor {}", node.origins[place]);
  std::string maker;
  for (const Holder& holder : holders(saved, asked)) {
    if (holder.tensor != node.origins[place]) continue;
    if (!holder.name.empty()) tensor += fmt::format(" \"{}\"", holder.name);
    maker = fmt::format(", made by {} at {},", holder.op, to_string(holder.site));
  }
  const Site writer = mem::site_of_write(write);
  throw GradientError(
      fmt::format("{} ({}{}){} was saved for the gradient of {} at {} and then written to, by "
                  "mutable_span() at {}\n"
                  "  write to it before the tape sees it, or to a clone()",
                  tensor, name_of(saved.dtype()), to_string(saved.shape()), maker, node.title(),
                  to_string(node.site), to_string(writer)),
      asked);
}

}  // namespace

void TapeState::run_rule(Node& node, std::span<Tensor> gradients,
                         std::span<const std::uint8_t> flags, bool keep) {
  if (node.op != nullptr && node.op->gradient == nullptr && node.op->expand == nullptr) {
    throw GradientError(std::string(node.op->name) + " cannot be differentiated", node.site);
  }
  SmallArray<Tensor, 4> outputs(node.outputs);
  for (std::size_t o = 0; o < node.outputs; ++o) {
    const Value value = node.first_output + static_cast<Value>(o);
    outputs[o] = (flags[value] & kSought) != 0 ? gradients[value] : std::move(gradients[value]);
  }
  SmallArray<bool, 8> wanted(node.inputs);
  for (std::size_t i = 0; i < node.inputs; ++i) {
    const Value value = node.input_values[i];
    wanted[i] = value != kNoValue && (flags[value] & kNeeded) != 0;
  }
  for (TapeState* tape = static_cast<TapeState*>(ops::current_tape()); tape != nullptr;
       tape = tape->next()) {
    for (std::size_t i = 0; i < node.saved; ++i) {
      if (node.origins[i] != 0) tape->alias(node.origins[i], key_of(node.saved_tensors[i]));
    }
  }
  SmallArray<Tensor, 8> copies(keep ? node.saved : 0);
  if (keep) std::copy_n(node.saved_tensors, node.saved, copies.begin());
  Tensor* const saved = keep ? copies.data() : node.saved_tensors;
  // A custom rule finds what it saved behind the places of its inputs and outputs.
  const std::size_t inputs = node.op == nullptr ? node.saved : node.inputs;
  SmallArray<Tensor, 4> results(node.inputs);
  ops::Backward backward{
      .inputs = {saved, inputs},
      .outputs = {saved + node.inputs, node.outputs},
      .gradients = {outputs.data(), outputs.size()},
      .specs = {node.specs, node.inputs},
      .numbers = {node.numbers, node.numbers == nullptr ? 0 : node.inputs},
      .attributes = node.attributes == nullptr ? ops::kNoAttributes : *node.attributes,
      .wanted = {wanted.data(), wanted.size()},
      .site = node.site,
      .results = {results.data(), results.size()}};
  const DeviceScope device(device_of(backward.gradients));  // for what rules make from nothing
  const Autocast off(DType::float32);  // gradients have the types of their calls
  if (node.op == nullptr) {
    node.custom->run(backward);
  } else if (waits_for_sizes(backward)) {
    go_back_later(node, backward);
  } else {
    node.op->gradient->run(backward);
  }
  if (!keep) node.release();
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (!wanted[i] || !results[i].defined()) continue;
    accumulate(gradients[node.input_values[i]], std::move(results[i]), node.site);
  }
}

std::vector<bool> TapeState::reached_from(Value target) const {
  std::vector<bool> reached(producers_.size(), false);
  if (target == kNoValue) return reached;
  reached[target] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = *nodes_[i];
    bool passes = false;
    for (std::size_t o = 0; o < node.outputs; ++o) passes |= reached[node.first_output + o];
    for (std::size_t input = 0; passes && input < node.inputs; ++input) {
      if (node.input_values[input] != kNoValue) reached[node.input_values[input]] = true;
    }
  }
  return reached;
}

std::vector<std::uint8_t> TapeState::flags_for(std::span<const Value> sources) const {
  std::vector<std::uint8_t> flags(producers_.size(), 0);
  for (const Value source : sources) {
    if (source != kNoValue) flags[source] = kNeeded | kSought;
  }
  for (const Node* const node : nodes_) {
    const auto is_needed = [&](Value value) {
      return value != kNoValue && (flags[value] & kNeeded) != 0;
    };
    if (node->is_flat()) continue;
    if (!std::any_of(node->input_values, node->input_values + node->inputs, is_needed)) continue;
    for (std::size_t o = 0; o < node->outputs; ++o) flags[node->first_output + o] |= kNeeded;
  }
  return flags;
}

void TapeState::require_unwritten(Value target, std::span<const Value> sources, Site asked) const {
  if (mem::latest_write() == first_write_) return;
  const std::vector<bool> reached = reached_from(target);
  const std::vector<std::uint8_t> flags = flags_for(sources);
  for (const Node* const node : nodes_) {
    if (mem::latest_write() == node->last_write) continue;
    bool is_passed = false;
    for (std::size_t o = 0; o < node->outputs; ++o) {
      const Value output = node->first_output + static_cast<Value>(o);
      is_passed |= reached[output] && (flags[output] & kNeeded) != 0;
    }
    for (std::size_t i = 0; is_passed && i < node->saved; ++i) {
      const Tensor& saved = node->saved_tensors[i];
      const mem::Storage* const storage =
          saved.defined() ? saved.body_or_null()->storage() : nullptr;
      if (storage != nullptr && storage->last_write() > node->last_write) {
        throw_written(*node, i, storage->last_write(), asked);
      }
    }
  }
}

std::vector<Tensor> TapeState::go_back(std::span<const Value> targets,
                                       std::span<const Tensor> seeds,
                                       std::span<const Value> sources, bool keep) {
  /// At the end, however it comes.
  struct Forgetting {
    TapeState* tape;
    ~Forgetting() {
      if (tape != nullptr) tape->forget();
    }
  };
  const Forgetting forgetting{keep ? nullptr : this};
  const mem::CategoryGuard category(mem::this_thread(), Category::gradient);
  const std::vector<std::uint8_t> flags = flags_for(sources);
  std::vector<Tensor> gradients(producers_.size());
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] != kNoValue && seeds[t].defined()) {
      accumulate(gradients[targets[t]], seeds[t], site);
    }
  }
  std::unique_ptr<mem::PathScope> scope;  // of the layer whose gradients are computed
  const std::string* path = nullptr;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    Node& node = *nodes_[i];
    const auto outputs = std::span(gradients).subspan(node.first_output, node.outputs);
    const bool is_reached =
        node.outputs != 0 && (flags[node.first_output] & kNeeded) != 0 &&
        std::any_of(outputs.begin(), outputs.end(), [](const Tensor& g) { return g.defined(); });
    // Sources further back want it, or it is only a source itself.
    const bool leads_on = std::any_of(
        node.input_values, node.input_values + node.inputs,
        [&](Value value) { return value != kNoValue && (flags[value] & kNeeded) != 0; });
    if (is_reached && leads_on) {
      if (node.scope != path) {
        scope.reset();
        if (node.scope != nullptr) scope = std::make_unique<mem::PathScope>(*node.scope);
        path = node.scope;
      }
      run_rule(node, gradients, flags, keep);
    } else if (!keep) {
      node.release();
    }
    for (std::size_t o = 0; o < node.outputs; ++o) {
      if ((flags[node.first_output + o] & kSought) == 0) outputs[o] = Tensor();
    }
  }
  std::vector<Tensor> results;
  for (const Value source : sources) {
    results.push_back(source == kNoValue ? Tensor() : gradients[source]);
  }
  return results;
}

}  // namespace tenure::autograd
