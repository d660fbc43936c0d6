#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenure/base/handle.h"
#include "tenure/graph/variable.h"
#include "tenure/tensor/tensor.h"

namespace tenure::nn {

/// A variable by its path in a model: "block1/attention/query/kernel".
struct NamedVariable {
  std::string name;
  Variable variable;
};

/// Bytes of what a variable holds.
std::int64_t bytes_of(const Variable& variable);
std::int64_t bytes_of(const std::vector<NamedVariable>& variables);
/// As move_to() of the variables alone.
void move_to(const std::vector<NamedVariable>& variables, Device device, Site site);

/// A part of a model, or the whole of it: parameters, buffers and parts of its own, under names.
///
///     class Net : public nn::Layer {
///      public:
///       Net() : Layer("Net") {
///         add("hidden", hidden_);
///         add("out", out_);
///       }
///       Tensor forward(Tensor x) const override { return out_(tanh(hidden_(std::move(x)))); }
///
///      private:
///       nn::Dense hidden_{784, 128};
///       nn::Dense out_{128, 10};
///     };
///
/// A layer is a handle, as a tensor is: copies are the same layer, with the same parameters.
class Layer {
 public:
  using KeepsItsTensors = void;  ///< no scope disposes variables; see tree.h
  virtual ~Layer() = default;

  /// Applies it. What is made inside has the layer's name in reports, and what Tenure's own
  /// layers make has the line of the call. On a symbol of a graph, it reads its parameters when
  /// the graph runs.
  Tensor operator()(Tensor x, Site site = Site::current()) const;
  /// The same of a model of several inputs or outputs: see forward_all(). Throws ValueError for
  /// other numbers of inputs than it takes.
  std::vector<Tensor> call(std::vector<Tensor> inputs, Site site = Site::current()) const;

  /// "Dense", "Conv2d", the name of a class.
  const std::string& kind() const;
  /// Where it was made.
  Site created() const;
  /// What summary() says about it: "3x3, 32 -> 64".
  virtual std::string describe() const { return {}; }

  /// Its own parameters, then those of its parts in the order in which they were added.
  std::vector<NamedVariable> parameters() const;
  /// Those that training changes: all but the frozen ones.
  std::vector<NamedVariable> trainable() const;
  /// What it keeps besides parameters: the moving averages of a norm.
  std::vector<NamedVariable> buffers() const;
  /// Parameters and buffers: all that a checkpoint must hold.
  std::vector<NamedVariable> variables() const;
  std::int64_t parameter_count() const;

  /// Dropout, batch norm and the like behave differently in training.
  void train(bool on = true) const;
  void eval() const { train(false); }
  bool is_training() const;

  /// A frozen layer's parameters stay as they are, and no gradient is computed for them.
  void freeze(bool on = true) const;
  void unfreeze() const { freeze(false); }
  bool is_frozen() const;

  /// Whether it and each layer below it is training and is frozen, and how often parts were taken
  /// out: a trace that applies it holds for one such text.
  std::string modes() const;
  /// How often it and the layers below it have had parts taken out.
  std::int64_t removals() const;

  /// Moves parameters and buffers to a device: model.to(cuda(0)). All or, if it throws, nothing;
  /// see move_to() in graph/variable.h. An optimizer has state of its own to move.
  void to(Device device, Site site = Site::current()) const;
  /// Frees parameters and buffers; says how many bytes that were. The layer cannot be used any
  /// more.
  std::int64_t dispose(Site site = Site::current()) const;

  /// What a layer knows of its place and content; shared by its copies.
  class State;
  const State& state() const { return *state_; }
  /// Is told of the layers that a thread applies.
  class Watcher;
  class Watch;
  class TrainerCall;

 protected:
  explicit Layer(std::string kind, Site site = Site::current());
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = default;
  Layer& operator=(Layer&&) = default;

  virtual Tensor forward(Tensor x) const = 0;
  /// What call() runs: forward(), of a layer of one input and one output. See Model for others.
  virtual std::vector<Tensor> forward_all(std::vector<Tensor> inputs) const;
  /// What operator() does, with something else instead of forward(): for layers that are called
  /// with more than one tensor.
  Tensor apply_as(Tensor x, const std::function<Tensor(Tensor)>& forward, Site site) const;
  /// The same of whatever takes tensors, of which `first` is one, and gives some; run() says one of
  /// those, or nullptr.
  void apply_around(const Tensor& first, const std::function<const Tensor*()>& run,
                    Site site) const;
  /// Of forward(): where the layer is called. Ops that are given it have that line, not their own.
  static Site call_site();
  /// The line of a part that forward() applies for its own sake, as Sequential does: that
  /// of the call, but where the part was made if the call is a trainer's and has no line of its
  /// own.
  static Site part_site(const Layer& part);

  using Initial = std::function<Tensor()>;
  /// `site` is where the layer was made. Throws ValueError if the name is taken or no name.
  Variable add_parameter(const std::string& name, const Initial& initial,
                         Site site = Site::current());
  Variable add_buffer(const std::string& name, const Initial& initial, Site site = Site::current());
  /// Makes a layer a part of this one. Throws ValueError as add_parameter() does, and for a layer
  /// that this one is a part of.
  void add(const std::string& name, const Layer& part, Site site = Site::current());
  /// Takes a part, a parameter or a buffer out of this one, so that another may have its name; says
  /// whether there was one. Trainers that were made before refuse to go on.
  bool remove(const std::string& name);

  /// What a parameter holds; no gradient goes to it while the layer is frozen.
  Tensor read(const Variable& parameter, Site site = call_site()) const;

 private:
  Handle<State, "layer"> state_;
};

/// A model of several inputs or outputs: `net.call({image, text})` gives a vector. Trainer::step()
/// takes such a batch, and TrainerOptions::inputs says how many tensors of a dataset's are inputs.
///
///     class Net : public nn::Model {
///      protected:
///       std::vector<Tensor> forward_all(std::vector<Tensor> in) const override {
///         return {left_(in.at(0)), right_(in.at(1))};
///       }
///     };
class Model : public Layer {
 protected:
  using Layer::Layer;
  std::vector<Tensor> forward_all(std::vector<Tensor> inputs) const override = 0;
  /// Of one input and one output; throws ValueError if it has others.
  Tensor forward(Tensor x) const final;
};

}  // namespace tenure::nn
