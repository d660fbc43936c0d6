#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenure/base/object_mutex.h"
#include "tenure/graph/ir/builder.h"
#include "tenure/graph/trace/updates.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/recorder.h"

namespace tenure::graph {

/// A program in the making, and the name under which its symbols know it: a graph's, or a trace's.
/// Any thread may add to it.
class GraphState final : public ops::Recorder, public std::enable_shared_from_this<GraphState> {
 public:
  enum class Kind {
    graph,  ///< constants by content; assignments run when they are fetched
    trace,  ///< constants by reference; every run makes the last assignment to each variable
    body,   ///< a part of another one, of a loop or a branch: what it reads there are its inputs
  };
  GraphState(Kind kind, std::string name, Site site, std::shared_ptr<GraphState> outer = nullptr)
      : kind_(kind),
        name_(std::move(name)),
        site_(site),
        outer_(std::move(outer)),
        device_(outer_ == nullptr ? default_device() : outer_->device_),
        builder_(
            kind == Kind::graph ? Builder::Constants::by_content : Builder::Constants::by_identity,
            device_, [this](const Node& node) { admit(node); }) {}
  ~GraphState() override;

  std::vector<Tensor> record(const ops::OpRecord& op, std::span<const Operand> operands,
                             const ops::Attributes& attributes, Site site) override;

  Tensor input(const std::string& name, DType dtype, const Shape& shape, Site site);
  Tensor constant(const Tensor& tensor, Site site);
  /// A symbol for what a variable holds; within the graph, after the assignments so far if it is a
  /// trace.
  Tensor read_variable(const std::shared_ptr<VariableState>& variable, Site site);
  /// A symbol for the assigned value. Throws ShapeError or DTypeError.
  Tensor assign_variable(const std::shared_ptr<VariableState>& variable, const Tensor& value,
                         Site site);
  /// Of a graph: the same by what is applied to a symbol of it. With an op, the variable gets that
  /// op of what it holds and the value. Throws GraphError if others replace what it holds.
  void update_variable(const std::shared_ptr<VariableState>& variable, const ops::OpRecord* op,
                       const Tensor& value, Site site);
  /// The last of those for each variable.
  std::vector<Tensor> updates(Site site);
  /// Values of the program around a body that the body reads; its last inputs. They are the tensors
  /// that it met, so that a tape knows them.
  std::vector<Tensor> captures() const;
  std::vector<Value> captured_inputs() const;
  /// Whether `other` is this one or is around it.
  bool is_within(const GraphState& other) const;
  /// The last assignment to each variable.
  std::vector<Value> assignments() const;
  /// A symbol for a value that it has.
  Tensor symbol(Value value, Site site);
  void finalize(Site site);
  bool is_final() const;

  /// The value behind a symbol of this graph; a tensor with data becomes a constant. Throws
  /// SymbolError for another graph's symbol.
  Value value_of(const Tensor& tensor, const char* user, Site site);
  std::optional<Value> find_input(const std::string& name) const;

  bool is_graph() const { return kind_ == Kind::graph; }
  const std::string& name() const { return name_; }
  /// `graph "model"`
  std::string title() const;
  Site site() const { return site_; }
  /// Where it runs, and everything in it is: the default device when it was begun.
  Device device() const override { return device_; }

  /// Calls `f(program)` while nothing is added.
  template <class F>
  auto read(const F& f) const {
    const std::lock_guard lock(mutex_);
    return f(builder_.program());
  }
  std::int64_t constant_bytes() const;
  /// What was written down; nothing is left.
  Program take();

 private:
  /// What a body reads of the program around it.
  struct Capture {
    Value outside{};  ///< of what has no data
    Value inside{};
    Tensor tensor{};                            ///< by which it got there
    std::shared_ptr<VariableState> variable{};  ///< or what was read
  };
  /// The input that stands for a value of the program around it, or for a tensor with data that
  /// becomes one when the body is complete.
  Value capture(Capture found, const ops::Spec& spec, Site site);
  Value capture_symbol(const Tensor& tensor, const char* user, Site site);
  /// Throws SymbolError for another graph's symbol, and DisposedError.
  void require_usable(const Tensor& tensor, const char* user, Site site) const;
  /// Throws GraphError if it is final; else a graph's node is counted.
  void admit(const Node& node) const;
  Tensor make_symbol(Value value, const char* op, Site site);
  /// Throws DeviceError for what is elsewhere.
  void require_here(Device device, const char* user) const;
  void require_here(const VariableState& variable, const char* user) const;
  /// What reads of a variable find that was assigned to; nullopt: what it holds.
  std::optional<Value> assignment_before(const VariableState* variable);

  Kind kind_;
  std::string name_;
  Site site_;
  std::shared_ptr<GraphState> outer_;  // of a body
  Device device_;
  mutable ObjectMutex mutex_;
  Builder builder_;
  std::vector<Capture> captures_;
  std::map<std::string, Value> inputs_;
  std::map<const VariableState*, Value> assigned_;  // of a trace
  Updates updates_;                                 // of a graph
  std::optional<Site> finalized_;
};

/// The value behind a symbol, and its graph. nullopt for a tensor with data.
struct SymbolView {
  std::shared_ptr<GraphState> graph;  ///< null if it is gone
  Value value;
};
std::optional<SymbolView> look_up(const Tensor& tensor);

}  // namespace tenure::graph
