#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenure/base/handle.h"
#include "tenure/base/site.h"
#include "tenure/graph/variable.h"
#include "tenure/tensor/symbol.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

namespace graph {
class GraphState;
}

/// A computation that is written down first and run later, by a Session. Ops on its placeholders
/// add nodes and allocate nothing. Building the same expression again adds nothing either.
///
///     Graph g("model");
///     Tensor x = g.placeholder("x", DType::float32, {kUnknown, 4});
///     Tensor y = relu(matmul(x, w));
///
/// Copies are the same graph. When the last copy and the last session are gone, its symbols can no
/// longer be used.
class Graph {
 public:
  using KeepsItsTensors = void;  ///< no scope disposes them; see tree.h
  explicit Graph(std::string name = "graph", Site site = Site::current());

  const std::string& name() const;
  /// What a run must be given. Throws GraphError if the name is taken, or the graph is final.
  Tensor placeholder(const std::string& name, DType dtype, const Shape& shape,
                     Site site = Site::current());
  /// A symbol for the tensor's present elements.
  Tensor constant(const Tensor& tensor, Site site = Site::current());

  /// What a variable holds when a run begins.
  Tensor read(const Variable& variable, Site site = Site::current());
  /// Fetched, it gives `value`, and the variable holds that from the end of the run on. Throws
  /// ShapeError or DTypeError.
  Tensor assign(const Variable& variable, const Tensor& value, Site site = Site::current());

  /// The assignments of layers and functions that were applied to its symbols, one for each
  /// variable that they assign to, as the moving averages of a batch norm in training: they are
  /// made by runs that fetch them. What several add to one variable adds up.
  std::vector<Tensor> updates(Site site = Site::current()) const;

  /// From here on, adding a node throws GraphError, which names this line and the one that tried.
  void finalize(Site site = Site::current());
  bool is_final() const;

  std::int64_t nodes() const;
  /// What its constants hold.
  std::int64_t bytes() const;

  /// The nodes, a line each.
  std::string to_string() const;
  /// For Graphviz.
  std::string to_dot() const;

  /// For the layers below.
  const std::shared_ptr<graph::GraphState>& state() const { return state_.shared(); }

 private:
  Handle<graph::GraphState, "graph"> state_;
};

}  // namespace tenure
