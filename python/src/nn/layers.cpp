#include "python/src/nn/layers.h"

#include "tenure/nn/attention.h"
#include "tenure/nn/conv.h"
#include "tenure/nn/dense.h"
#include "tenure/nn/norm.h"
#include "tenure/nn/pool.h"
#include "tenure/nn/sequential.h"
#include "tenure/nn/summary.h"

namespace tenure::python {
namespace {

using nn::Layer;
using nn::NamedVariable;

template <class T>
using LayerClass = py::class_<T, Layer, std::shared_ptr<T>>;

nn::Initializer initializer_of(const py::object& given, nn::Initializer usual) {
  if (given.is_none()) return usual;
  if (PyCallable_Check(given.ptr()) != 0) {  // f(shape, dtype)
    return [given](const Shape& shape, nn::Fans /*fans*/, DType dtype, Site /*site*/) {
      const WithLock lock;
      return From<Tensor>::of(
          checked(PyObject_CallFunction(given.ptr(), "NN",
                                        tuple_of(shape.begin(), shape.size()).release(),
                                        wrap(dtype).release()))
              .get(),
          "what an initializer gives");
    };
  }
  const std::string name = given.cast<std::string>();
  if (name == "zeros") return nn::init::zeros();
  if (name == "ones") return nn::init::ones();
  if (name == "normal") return nn::init::normal();
  if (name == "glorot_uniform") return nn::init::glorot_uniform();
  if (name == "glorot_normal") return nn::init::glorot_normal();
  if (name == "he_uniform") return nn::init::he_uniform();
  if (name == "he_normal") return nn::init::he_normal();
  if (name == "lecun_normal") return nn::init::lecun_normal();
  throw ValueError("no initializer is called '" + name +
                   "'; 'glorot_uniform' and 'he_normal' are some");
}

template <class T>
T get(const py::object& object, const char* what) {
  return From<T>::of(object.ptr(), what);
}

void add_base(Module& module) {
  py::class_<NamedVariable>(module, "NamedVariable", "A variable by its path in a model.")
      .def_readonly("name", &NamedVariable::name)
      .def_readonly("variable", &NamedVariable::variable)
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
      .def_property_readonly("kind", &Layer::kind)
      .def_property_readonly("created",
                             [](const Layer& layer) { return to_string(layer.created()); })
      .def("describe", &Layer::describe)
      .def("parameters", &Layer::parameters, "Its own parameters, then those of its parts.")
      .def("trainable", &Layer::trainable, "Those that training changes: all but the frozen ones.")
      .def("buffers", &Layer::buffers, "What it keeps besides parameters.")
      .def("variables", &Layer::variables,
           "Parameters and buffers: all that a checkpoint must hold.")
      .def_property_readonly("parameter_count", &Layer::parameter_count)
      .def("train", &Layer::train, py::arg("on") = true)
      .def("eval", &Layer::eval)
      .def_property_readonly("is_training", &Layer::is_training)
      .def("freeze", &Layer::freeze, py::arg("on") = true)
      .def("unfreeze", &Layer::unfreeze)
      .def_property_readonly("is_frozen", &Layer::is_frozen)
      .def(
          "dispose", [](const Layer& layer) { return layer.dispose(caller()); },
          "Frees parameters and buffers; says how many bytes that were.")
      .def(
          "summary",
          [](const Layer& layer, const Tensor& input) {
            const Site site = caller();
            const WithoutLock unlocked;
            return to_string(nn::summarize(layer, input, site));
          },
          py::arg("input"),
          "Its layers, their shapes and parameters, and what applying it takes; a spec will do.");
  py::class_<PythonLayer, Layer, std::shared_ptr<PythonLayer>>(module, "PythonLayer")
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
      .def("_add", [](PythonLayer& layer, const std::string& name, const Layer& part) {
        layer.add(name, part, caller());
      });
}

void add_dense(Module& module) {
  LayerClass<nn::Dense>(module, "Dense", "x W + b over the last dimension.")
      .def(py::init([](std::int64_t inputs, std::int64_t units, bool bias, const py::object& kernel,
                       DType dtype) {
             nn::DenseOptions options;
             options.bias = bias;
             options.kernel_initializer = initializer_of(kernel, options.kernel_initializer);
             options.dtype = dtype;
             return std::make_shared<nn::Dense>(inputs, units, options, caller());
           }),
           py::arg("inputs"), py::arg("units"), py::kw_only(), py::arg("bias") = true,
           py::arg("kernel_initializer") = py::none(), py::arg("dtype") = DType::float32)
      .def_property_readonly("kernel", &nn::Dense::kernel);
  LayerClass<nn::Embedding>(module, "Embedding", "A row of a table for each index.")
      .def(py::init([](std::int64_t entries, std::int64_t width, const py::object& initializer,
                       DType dtype) {
             return std::make_shared<nn::Embedding>(
                 entries, width, initializer_of(initializer, nn::init::normal()), dtype, caller());
           }),
           py::arg("entries"), py::arg("width"), py::kw_only(), py::arg("initializer") = py::none(),
           py::arg("dtype") = DType::float32)
      .def_property_readonly("table", &nn::Embedding::table);
}

template <class T>
void add_conv(Module& module, const char* name) {
  LayerClass<T>(module, name, "A convolution with weights and a bias of its own.")
      .def(py::init([](std::int64_t inputs, std::int64_t outputs, const py::object& kernel,
                       const py::object& stride, const py::object& padding,
                       const py::object& dilation, std::int64_t groups, bool is_first, bool bias,
                       bool relu, const py::object& initializer, DType dtype) {
             nn::ConvLayerOptions options;
             options.stride = get<SpatialSizes>(stride, "stride");
             options.padding = get<Padding>(padding, "padding");
             options.dilation = get<SpatialSizes>(dilation, "dilation");
             options.groups = groups;
             options.channels = is_first ? Channels::first : Channels::last;
             options.bias = bias;
             options.relu = relu;
             options.kernel_initializer = initializer_of(initializer, options.kernel_initializer);
             options.dtype = dtype;
             return std::make_shared<T>(inputs, outputs, get<SpatialSizes>(kernel, "kernel"),
                                        options, caller());
           }),
           py::arg("inputs"), py::arg("outputs"), py::arg("kernel"), py::kw_only(),
           py::arg("stride") = 1, py::arg("padding") = 0, py::arg("dilation") = 1,
           py::arg("groups") = 1, py::arg("channels_first") = false, py::arg("bias") = true,
           py::arg("relu") = false, py::arg("kernel_initializer") = py::none(),
           py::arg("dtype") = DType::float32);
}

void add_norms(Module& module) {
  LayerClass<nn::LayerNorm>(module, "LayerNorm",
                            "Mean 0 and variance 1 over the last dimension, learned scale.")
      .def(py::init([](std::int64_t width, double epsilon, DType dtype) {
             return std::make_shared<nn::LayerNorm>(width, epsilon, dtype, caller());
           }),
           py::arg("width"), py::arg("epsilon") = 1e-5, py::arg("dtype") = DType::float32);
  LayerClass<nn::RmsNorm>(module, "RmsNorm",
                          "Mean square 1 over the last dimension, learned scale.")
      .def(py::init([](std::int64_t width, double epsilon, DType dtype) {
             return std::make_shared<nn::RmsNorm>(width, epsilon, dtype, caller());
           }),
           py::arg("width"), py::arg("epsilon") = 1e-5, py::arg("dtype") = DType::float32);
  LayerClass<nn::BatchNorm>(module, "BatchNorm", "Normalizes each channel over the batch.")
      .def(py::init([](std::int64_t channels, double epsilon, double momentum, bool is_first,
                       DType dtype) {
             nn::BatchNormLayerOptions options{.epsilon = epsilon, .momentum = momentum};
             options.channels = is_first ? Channels::first : Channels::last;
             options.dtype = dtype;
             return std::make_shared<nn::BatchNorm>(channels, options, caller());
           }),
           py::arg("channels"), py::kw_only(), py::arg("epsilon") = 1e-5, py::arg("momentum") = 0.1,
           py::arg("channels_first") = false, py::arg("dtype") = DType::float32);
  LayerClass<nn::Dropout>(module, "Dropout", "Leaves out elements with probability p in training.")
      .def(py::init([](double p) { return std::make_shared<nn::Dropout>(p, caller()); }),
           py::arg("p"));
}

void add_attention(Module& module) {
  LayerClass<nn::MultiHeadAttention>(module, "MultiHeadAttention",
                                     "Attention of a sequence to itself, in heads.")
      .def(py::init([](std::int64_t width, std::int64_t heads, bool causal, DType dtype) {
             nn::AttentionLayerOptions options;
             options.causal = causal;
             options.dtype = dtype;
             return std::make_shared<nn::MultiHeadAttention>(width, heads, options, caller());
           }),
           py::arg("width"), py::arg("heads"), py::kw_only(), py::arg("causal") = false,
           py::arg("dtype") = DType::float32);
  LayerClass<nn::TransformerBlock>(module, "TransformerBlock",
                                   "Attention and an MLP, each behind a layer norm.")
      .def(py::init([](std::int64_t width, std::int64_t heads, std::int64_t hidden, bool causal,
                       double dropout, DType dtype) {
             nn::TransformerOptions options;
             options.hidden = hidden;
             options.causal = causal;
             options.dropout = dropout;
             options.dtype = dtype;
             return std::make_shared<nn::TransformerBlock>(width, heads, options, caller());
           }),
           py::arg("width"), py::arg("heads"), py::kw_only(), py::arg("hidden") = 0,
           py::arg("causal") = true, py::arg("dropout") = 0.0, py::arg("dtype") = DType::float32);
}

/// Functions as layers.
void add_lambdas(Module& module) {
  LayerClass<nn::Lambda>(module, "Lambda", "A function as a layer without parameters.");
  using Make = nn::Lambda (*)(Site);
  const std::pair<const char*, Make> activations[] = {
      {"Relu", nn::Relu}, {"Tanh", nn::Tanh},       {"Sigmoid", nn::Sigmoid}, {"Gelu", nn::Gelu},
      {"Silu", nn::Silu}, {"Softmax", nn::Softmax}, {"Flatten", nn::Flatten}};
  for (const auto& [name, make] : activations) {
    module.def(name, [make = make] { return std::make_shared<nn::Lambda>(make(caller())); });
  }
  const auto add_pool = [&](const char* name, auto make) {
    module.def(
        name,
        [make](const py::object& kernel, const py::object& stride, const py::object& padding) {
          PoolOptions options;
          if (!stride.is_none()) options.stride = get<SpatialSizes>(stride, "stride");
          options.padding = get<SpatialSizes>(padding, "padding");
          return std::make_shared<nn::Lambda>(
              make(get<SpatialSizes>(kernel, "kernel"), options, caller()));
        },
        py::arg("kernel"), py::kw_only(), py::arg("stride") = py::none(), py::arg("padding") = 0);
  };
  add_pool("MaxPool2d", nn::MaxPool2d);
  add_pool("AvgPool2d", nn::AvgPool2d);
}

}  // namespace

Tensor PythonLayer::forward(Tensor x) const {
  const WithLock lock;
  if (object_ == nullptr) throw ValueError(kind() + " is used before Layer.__init__() was called");
  const Ref result =
      checked(PyObject_CallMethod(object_, "forward", "N", wrap(std::move(x)).release()));
  return From<Tensor>::of(result.get(), "what forward() gives");
}

std::string PythonLayer::describe() const { return {}; }

std::vector<NamedVariable> variables_of(const py::object& given) {
  if (py::isinstance<Layer>(given)) return given.cast<const Layer&>().trainable();
  std::vector<NamedVariable> variables;
  for (const py::handle item : given) {
    if (py::isinstance<NamedVariable>(item)) {
      variables.push_back(item.cast<NamedVariable>());
    } else {
      const auto& variable = item.cast<const Variable&>();
      variables.push_back({variable.name(), variable});
    }
  }
  return variables;
}

void add_layers(Module& module) {
  add_base(module);
  add_dense(module);
  add_conv<nn::Conv1d>(module, "Conv1d");
  add_conv<nn::Conv2d>(module, "Conv2d");
  add_conv<nn::Conv3d>(module, "Conv3d");
  add_norms(module);
  add_attention(module);
  add_lambdas(module);
}

}  // namespace tenure::python
