#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenure/base/handle.h"
#include "tenure/base/object_mutex.h"
#include "tenure/ops/core/operand.h"

namespace tenure {

namespace graph {
class VariableState;
}
namespace ops {
struct OpRecord;
}

/// A named tensor that can be changed: a parameter, a counter, a moving average. It outlives scopes
/// and holds its data until dispose() or until its last copy goes. Copies are the same variable.
///
/// Inside a trace value() is a symbol for what the variable holds when the function runs, and
/// assign() takes effect at the end of each run, all at once; if the run throws, nothing is
/// assigned. In a graph, `Graph::read` and `Graph::assign` are the same as nodes, and
/// `Graph::updates` has what was assigned by what is applied to its symbols.
class Variable {
 public:
  using KeepsItsTensors = void;  ///< no scope disposes them; see tree.h
  /// Holds a copy of `initial`, or the tensor itself if it was moved in. Of a spec() it has no
  /// data: what computes with it can be planned, and to run that or to read it is a SymbolError.
  explicit Variable(const Operand& initial, std::string name = "variable", bool trainable = true);

  const std::string& name() const;
  bool trainable() const;
  DType dtype() const;
  const Shape& shape() const;
  /// Where what it holds is: the device of what it was made with, until it is moved.
  Device device() const;
  /// Moves what it holds to another device; see move_to().
  void to(Device device, Site site = Site::current()) const;
  /// False of one that was made with a spec().
  bool has_data() const;
  /// Where it was made.
  Site created() const;

  /// What it holds. The tensor stays as it is when the variable is assigned to. Throws
  /// DisposedError.
  Tensor value(Site site = Site::current()) const;
  /// Replaces what it holds by a tensor of the same type and shape, whose elements are copied to
  /// the variable's device. Throws ShapeError, DTypeError and DisposedError.
  void assign(const Operand& value) const;
  void assign_add(const Operand& value) const;
  void assign_sub(const Operand& value) const;

  /// Frees the data. The variable cannot be used any more.
  void dispose(Site site = Site::current()) const;
  bool is_disposed() const;

  const std::shared_ptr<graph::VariableState>& state() const { return state_.shared(); }

 private:
  void update(const ops::OpRecord& op, const Operand& value) const;

  Handle<graph::VariableState, "variable"> state_;
};

/// Moves what variables hold to a device, all of it or, if it throws, nothing: OutOfMemory,
/// DisposedError, ValueError for a device that is not present, GraphError while something is
/// traced. What was read before stays where it is. A function that was traced is traced again when
/// its tensors are there too.
void move_to(const std::vector<Variable>& variables, Device device, Site site = Site::current());

/// Owns variables by name, and frees them together. Any thread may use it.
class Container {
 public:
  explicit Container(std::string name = "container") : name_(std::move(name)) {}
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  const std::string& name() const { return name_; }
  /// In the order of their names.
  std::vector<Variable> variables() const;
  /// nullptr if there is none. It stays until clear().
  const Variable* find(const std::string& name) const;
  std::int64_t bytes() const;
  /// Disposes all its variables and forgets them; says how many bytes that were.
  std::int64_t clear(Site site = Site::current());

 private:
  friend class VariableScope;
  friend Variable get_variable(const std::string&, const std::function<Tensor()>&, bool, Site);
  std::int64_t locked_bytes() const;

  std::string name_;
  mutable ObjectMutex mutex_;
  std::map<std::string, Variable> variables_;
};

/// While it lives, variables of the thread that opened it that get_variable() makes go to a
/// container, under names that begin with this scope's. Scopes may end in any order and anywhere.
class VariableScope {
 public:
  enum class Reuse {
    never,      ///< a name that exists is an error
    always,     ///< a name that does not exist is an error
    automatic,  ///< get or make
  };

  /// In the container of the scope around it, or a container of the process.
  explicit VariableScope(const std::string& name, Reuse reuse = Reuse::never);
  VariableScope(const std::string& name, Container& container, Reuse reuse = Reuse::never);
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

 private:
  friend Variable get_variable(const std::string&, const std::function<Tensor()>&, bool, Site);
  struct State;
  /// The innermost one of this thread that lives; nullptr: none.
  static const State* current();
  static Container& current_container();

  std::shared_ptr<State> state_;
};

/// The variable of this name in the current scope; made from `initial()` if there is none and the
/// scope allows it. Throws GraphError, which names the line that made the first one.
Variable get_variable(const std::string& name, const std::function<Tensor()>& initial,
                      bool trainable = true, Site site = Site::current());

}  // namespace tenure
