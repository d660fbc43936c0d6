#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenure/base/object_mutex.h"
#include "tenure/graph/run/cache.h"
#include "tenure/graph/trace/state.h"
#include "tenure/ops/core/prepare.h"

namespace tenure::graph {

/// A program inside a program: a branch of cond(), the body of a loop. Its inputs are its operands,
/// then what it reads of the program around it.
struct Body {
  std::string name;  ///< "then branch", for messages
  Program program;
  std::vector<Value> inputs;
  std::vector<Value> results;

  /// Types and shapes of the results for inputs of these.
  std::vector<ops::Spec> infer(std::span<const ops::Spec> given, Site site) const;
};

/// Calls a program's ops on other tensors, which stand for its inputs. Gives those that stand for
/// the results.
std::vector<Tensor> replay(const Program& program, std::span<const Value> inputs,
                           std::span<const Value> results, const std::vector<Tensor>& tensors);

/// A body in the making, and what it reads of the program around it.
struct TracedBody {
  Body body;
  std::vector<Tensor> captures;  ///< symbols of that program
};

using BodyFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Writes down what `f` does with operands of these types and shapes. Its symbols end with it.
TracedBody trace_body(const std::shared_ptr<GraphState>& outer, const std::string& name,
                      std::span<const ops::Spec> operands, const BodyFunction& f, Site site);

/// What the bodies of one call were compiled into, an attribute of it.
struct CompiledBodies final : ops::Opaque {
  explicit CompiledBodies(BodyPrograms programs) : programs(std::move(programs)) {}
  const BodyPrograms programs;
};

/// The last of the attributes that a kernel gets, if they have such.
std::shared_ptr<const CompiledBodies> compiled_in(const ops::Attributes& attributes);

/// The types and shapes of what the bodies of a call get, of all operands and captures: inputs
/// may be read in parts, or decide which body runs.
using BodySpecs = std::vector<ops::Spec> (*)(const ops::Kernel& kernel);

/// The bodies of one call, an attribute of it. Bodies have their
/// own captures, one after the other behind the operands that all of them get.
class Bodies final : public ops::Preparable {
 public:
  Bodies(std::vector<Body> bodies, std::vector<std::size_t> captures, BodySpecs specs)
      : bodies_(std::move(bodies)), captures_(std::move(captures)), specs_(specs) {}

  const Body& operator[](std::size_t i) const { return bodies_[i]; }
  std::size_t size() const { return bodies_.size(); }
  /// The inputs of body i, out of all operands and captures of the call.
  template <class T>
  std::vector<T> inputs_of(std::size_t i, std::span<const T> operands,
                           std::span<const T> captures) const {
    std::vector<T> inputs(operands.begin(), operands.end());
    std::size_t first = 0;
    for (std::size_t b = 0; b < i; ++b) first += captures_[b];
    const auto mine = captures.subspan(first, captures_[i]);
    inputs.insert(inputs.end(), mine.begin(), mine.end());
    return inputs;
  }
  std::size_t captures() const;
  /// Whether running them draws random numbers: to run them again gives something else.
  bool draws() const override;

  /// What the bodies of the call get, operands and captures.
  std::vector<ops::Spec> specs(const ops::Kernel& kernel) const { return specs_(kernel); }
  /// With CompiledBodies as the last. Calls with the same specs share them, and they end with the
  /// last of these.
  ops::Attributes prepared(const ops::Kernel& kernel) const override;
  /// What was written down takes on the heap.
  std::size_t bytes() const;

 private:
  std::shared_ptr<const CompiledBodies> compiled(std::span<const ops::Spec> specs) const;

  std::vector<Body> bodies_;
  std::vector<std::size_t> captures_;  // how many, of each
  BodySpecs specs_;
  mutable ObjectMutex mutex_;
  mutable std::map<Signature, std::weak_ptr<const CompiledBodies>> programs_;
};

/// What only the op of a call knows; nullptr: nothing.
const ops::Opaque* opaque_in(const Node& node);

/// Those of a branch or a loop; nullptr for other nodes.
const Bodies* bodies_in(const Node& node);

/// What the bodies in a program take on the heap, as they were written down.
std::size_t body_bytes(const Program& program);

}  // namespace tenure::graph
