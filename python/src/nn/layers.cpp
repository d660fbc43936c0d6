#include "python/src/nn/layers.h"

#include "python/src/nn/classes.h"
#include "tenure/nn/layer_state.h"

namespace tenure::python {
namespace {

using nn::Layer;
using nn::NamedVariable;

/// "Dense(784 -> 512)"; what its parts are called, where it has some and describes nothing.
std::string told_layer(const Layer& layer) {
  std::string details = layer.describe();
  for (const Layer::State::Part& part : layer.state().parts)
    details += (details.empty() ? "" : ", ") + part.name + ": " + part.state->kind;
  return layer.kind() + "(" + details + ")";
}

/// A layer is a handle: who has one may change what it refers to.
Layer::State& state_of(const Layer& layer) { return const_cast<Layer::State&>(layer.state()); }

/// Of it and of each layer below: whether it is training, and whether it is frozen.
std::vector<std::pair<bool, bool>> flags_of(const Layer& layer) {
  std::vector<std::pair<bool, bool>> flags;
  state_of(layer).walk([&](const std::string&, const Layer::State& state) {
    flags.emplace_back(state.is_training, state.is_frozen);
  });
  return flags;
}

void set_flags(const Layer& layer, const std::vector<std::pair<bool, bool>>& flags) {
  if (flags.size() != flags_of(layer).size())
    throw ValueError("flags of another model than " + layer.kind());
  auto next = flags.begin();
  state_of(layer).walk([&](const std::string&, Layer::State& state) {
    state.is_training = next->first;
    state.is_frozen = next++->second;
  });
}

void add_base(Module& module) {
  py::class_<NamedVariable>(module, "NamedVariable", "A variable by its path in a model.")
      .def_readonly("name", &NamedVariable::name, "Its path in the model: 'hidden/kernel'.")
      .def_readonly("variable", &NamedVariable::variable, "The Variable.")
      .def("__repr__", [](const NamedVariable& named) {
        return "<" + named.name + " " + std::string(name_of(named.variable.dtype())) +
               to_string(named.variable.shape()) + ">";
      });
  py::class_<Layer, std::shared_ptr<Layer>>(
      module, "LayerBase", "A part of a model, or the whole of it: parameters, buffers and parts.")
      .def(
          "__call__",
          [](const Layer& layer, const Tensor& x) {
            const Site site = caller();
            const WithoutLock unlocked;
            return layer(x, site);
          },
          py::arg("x"))
      .def("__repr__", told_layer)
      .def_property_readonly("kind", &Layer::kind, "What it is called: the name of its class.")
      .def_property_readonly(
          "created", [](const Layer& layer) { return to_string(layer.created()); },
          "The line that made it.")
      .def("describe", &Layer::describe)
      .def("parameters", &Layer::parameters, "Its own parameters, then those of its parts.")
      .def("trainable", &Layer::trainable, "Those that training changes: all but the frozen ones.")
      .def("buffers", &Layer::buffers, "What it keeps besides parameters.")
      .def("variables", &Layer::variables,
           "Parameters and buffers: all that a checkpoint must hold.")
      .def_property_readonly("parameter_count", &Layer::parameter_count,
                             "How many numbers its parameters have.")
      .def("train", &Layer::train, py::arg("on") = true)
      .def("eval", &Layer::eval)
      .def_property_readonly("is_training", &Layer::is_training,
                             "Whether it computes as in training; see train() and eval().")
      .def("freeze", &Layer::freeze, py::arg("on") = true)
      .def("unfreeze", &Layer::unfreeze)
      .def_property_readonly("is_frozen", &Layer::is_frozen,
                             "Whether training leaves it as it is; see freeze().")
      .def("modes", &Layer::modes,
           "Whether it and each layer below is training and is frozen: a trace that applies it "
           "holds for one such text.")
      .def("_flags", flags_of)
      .def("_set_flags", set_flags)
      .def(
          "to",
          [](const py::object& self, const py::object& device) {
            self.cast<const Layer&>().to(device_of(device.ptr(), "to(): device"), caller());
            return self;
          },
          py::arg("device"), "Moves parameters and buffers to a device; gives the layer.")
      .def(
          "dispose", [](const Layer& layer) { return layer.dispose(caller()); },
          "Frees parameters and buffers; says how many bytes that were.")
      .def(
          "summary",
          [](const Layer& layer, const py::object& input) {
            const nn::Tensors inputs = one_or_several(input, "input");
            const Site site = caller();
            const WithoutLock unlocked;
            return to_string(nn::summarize(layer, inputs, site));
          },
          py::arg("input"),
          "Its layers, their shapes and parameters, and what applying it takes; a spec will do, "
          "and "
          "a tuple of them for a model of several inputs.");
}

void add_python_layer(Module& module) {
  py::class_<PythonLayer, Layer, std::shared_ptr<PythonLayer>>(
      module, "PythonLayer", "What tn.nn.Layer, a layer that is written in Python, is made of.")
      .def(py::init([](std::string kind) {
        return std::make_shared<PythonLayer>(std::move(kind), caller());
      }))
      .def("_set_object",
           [](PythonLayer& layer, py::handle object) { layer.set_object(object.ptr()); })
      .def("_add_parameter",
           [](PythonLayer& layer, const std::string& name, const Tensor& initial, bool is_buffer) {
             const auto make = [&] { return initial; };
             return is_buffer ? layer.add_buffer(name, make, caller())
                              : layer.add_parameter(name, make, caller());
           })
      .def("_add", [](PythonLayer& layer, const std::string& name,
                      const Layer& part) { layer.add(name, part, caller()); })
      .def("_adopt",
           [](PythonLayer& layer, const std::string& name, const Variable& variable) {
             Layer::State& state = state_of(layer);
             state.require_free(name);
             (variable.trainable() ? state.parameters : state.buffers).push_back({name, variable});
           })
      .def("_remove", [](PythonLayer& layer, const std::string& name) { layer.remove(name); })
      .def("_call", [](const PythonLayer& layer, const std::vector<Tensor>& tensors,
                       const py::tuple& arguments, const py::dict& keywords) {
        return layer.call_python(tensors, arguments, keywords, caller());
      });
  LayerClass<nn::Lambda>(module, "Lambda", "A function as a layer without parameters.")
      .def(py::init([](std::string kind, const py::function& function) {
             const auto apply = [f = held(function)](Tensor x) {
               const WithLock lock;
               const Ref made = checked(PyObject_CallOneArg(f.get(), wrap(std::move(x)).get()));
               return From<Tensor>::of(made.get(), "what the function gives");
             };
             return std::make_shared<nn::Lambda>(std::move(kind),
                                                 std::function<Tensor(Tensor)>(apply), caller());
           }),
           py::arg("kind"), py::arg("function"));
}

void add_cache(Module& module) {
  using nn::KeyValueCache;
  py::class_<KeyValueCache>(module, "KeyValueCache",
                            "Keys and values of the positions that attention has seen; empty at "
                            "first. For one layer, and one sequence that goes on.")
      .def(py::init<>())
      .def_readonly("keys", &KeyValueCache::keys, "The keys so far.")
      .def_readonly("values", &KeyValueCache::values, "The values so far.")
      .def_property_readonly("length", &KeyValueCache::length,
                             "For how many places there are keys and values.");
  py::class_<PythonInitializer>(module, "Initializer", "Makes what a parameter holds at first.")
      .def(
          "__call__",
          [](const PythonInitializer& made, const Dims& shape, DType dtype, std::int64_t fan_in,
             std::int64_t fan_out) {
            return made.function(Shape(shape), {.in = fan_in, .out = fan_out}, dtype, caller());
          },
          py::arg("shape"), py::arg("dtype") = DType::float32, py::arg("fan_in") = 1,
          py::arg("fan_out") = 1);
}

/// With a second sequence, a mask or a cache.
template <class Attention>
void add_attention_call(LayerClass<Attention>& made) {
  made.def(
      "__call__",
      [](const Attention& layer, const Tensor& x, const std::optional<Tensor>& memory,
         const std::optional<Tensor>& mask, nn::KeyValueCache* cache) {
        const nn::AttentionInputs inputs{
            .memory = memory.value_or(Tensor()), .mask = mask.value_or(Tensor()), .cache = cache};
        const Site site = caller();
        const WithoutLock unlocked;
        return layer(x, inputs, site);
      },
      py::arg("x"), py::arg("memory") = py::none(), py::kw_only(), py::arg("mask") = py::none(),
      py::arg("cache") = py::none(),
      "memory: another sequence to attend to. mask: bool, true where a query sees a key, or floats "
      "that are added to the scores, of a shape that broadcasts to [batch, heads, queries, keys]. "
      "cache: its keys and values come before the sequence's own, which are added to it.");
}

}  // namespace

void extend(LayerClass<nn::MultiHeadAttention>& made) { add_attention_call(made); }
void extend(LayerClass<nn::TransformerBlock>& made) { add_attention_call(made); }
void extend(LayerClass<nn::Recurrent>& made) {
  made.def(
      "run",
      [](const nn::Recurrent& layer, const Tensor& x, const std::optional<Tensor>& h,
         const std::optional<Tensor>& c, const std::optional<Tensor>& lengths) {
        const nn::RecurrentStart start{.h = h.value_or(Tensor()),
                                       .c = c.value_or(Tensor()),
                                       .lengths = lengths.value_or(Tensor())};
        const Site site = caller();
        const WithoutLock unlocked;
        return layer.run(x, start, site);
      },
      py::arg("x"), py::kw_only(), py::arg("h") = py::none(), py::arg("c") = py::none(),
      py::arg("lengths") = py::none(),
      "The sequence of the last layer, and the last states. h and c are states to begin with, "
      "[layers * directions, batch, units]; lengths has the number of steps of each sequence.");
}

PyObject* PythonLayer::object() const {
  if (object_ == nullptr) throw ValueError(kind() + " is used before Layer.__init__() was called");
  return object_;
}

Tensor PythonLayer::forward(Tensor x) const {
  const WithLock lock;
  const Ref result =
      checked(PyObject_CallMethod(object(), "forward", "N", wrap(std::move(x)).release()));
  return From<Tensor>::of(result.get(), "what forward() gives");
}

std::vector<Tensor> PythonLayer::forward_all(std::vector<Tensor> inputs) const {
  const WithLock lock;
  py::tuple arguments(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    arguments[i] = py::reinterpret_steal<py::object>(wrap(std::move(inputs[i])).release());
  const py::object result = py::handle(object()).attr("forward")(*arguments);
  const py::object outputs =
      py::isinstance<py::list>(result) ? py::tuple(result) : py::object(result);
  return one_or_several(outputs, "what forward() gives");
}

py::object PythonLayer::call_python(const std::vector<Tensor>& tensors, const py::tuple& arguments,
                                    const py::dict& keywords, Site site) const {
  py::object result;
  const Tensor none;
  const Tensor* first = tensors.empty() ? &none : &tensors.front();
  for (const Tensor& tensor : tensors) {
    if (tensor.is_symbolic()) first = &tensor;  // its graph is the call's
  }
  Tensor output;  // one of those in the result, for summaries
  apply_around(
      *first,
      [&]() -> const Tensor* {
        result = py::handle(object()).attr("forward")(*arguments, **keywords);
        const py::object found = py::isinstance<py::tuple>(result) && py::len(result) > 0
                                     ? result.attr("__getitem__")(0)
                                     : result;
        if (!is_tensor(found.ptr())) return nullptr;
        output = tensor_of(found.ptr());
        return &output;
      },
      site);
  return result;
}

std::string PythonLayer::describe() const { return {}; }

void add_layer_base(Module& module) {
  add_base(module);
  add_python_layer(module);
  add_cache(module);
}

}  // namespace tenure::python
