#include "tenure/graph/graph.h"

#include <memory>

#include "python/src/core/bind.h"
#include "python/src/memory/donation.h"
#include "tenure/graph/control.h"
#include "tenure/graph/session.h"
#include "tenure/graph/variable.h"

// Graphs and sessions, scopes of variables, and branches and loops that depend on data.

namespace tenure::python {
namespace {

/// f([tensors]) gives a list of tensors.
graph::FlatFunction flat(const py::function& function) {
  return [f = function.ptr()](const std::vector<Tensor>& tensors) {
    const WithLock lock;
    const Ref made = checked(PyObject_CallOneArg(f, wrap_all(tensors).get()));
    return From<std::vector<Tensor>>::of(made.get(), "what it gives");
  };
}

/// {placeholder or name: value}; values given by donate() end with the run.
std::vector<Feed> feeds_of(const py::dict& given) {
  std::vector<Feed> feeds;
  for (const auto& [key, value] : given) {
    const bool is_given = is_donation(value.ptr());
    Tensor kept = is_given ? Tensor() : From<Tensor>::of(value.ptr(), "a feed");
    if (is_tensor(key.ptr())) {
      const Tensor& symbol = tensor_of(key.ptr());
      is_given ? feeds.emplace_back(symbol, donate(tensor_of(donated(value.ptr()))))
               : feeds.emplace_back(symbol, std::as_const(kept));
    } else {
      const std::string name = text_of(key.ptr(), "the key of a feed");
      is_given ? feeds.emplace_back(name, donate(tensor_of(donated(value.ptr()))))
               : feeds.emplace_back(name, std::as_const(kept));
    }
  }
  return feeds;
}

Shape shape_with_unknowns(const py::sequence& sizes) {
  Shape shape;
  for (const py::handle size : sizes) {
    shape.push_back(size.is_none() ? kUnknown : integer_of(size.ptr(), "a size"));
  }
  return shape;
}

void add_graphs(Module& module) {
  py::class_<Graph>(module, "Graph",
                    "A computation that is written down first and run later, by a Session.")
      .def(py::init([](std::string name) { return Graph(std::move(name), caller()); }),
           py::arg("name") = "graph")
      .def_property_readonly("name", &Graph::name, "Its name, which errors have.")
      .def(
          "placeholder",
          [](Graph& graph, const std::string& name, const py::sequence& shape, DType dtype) {
            return graph.placeholder(name, dtype, shape_with_unknowns(shape), caller());
          },
          py::arg("name"), py::arg("shape"), py::arg("dtype") = DType::float32,
          "What a run must be given; a size that is None is known when it runs.")
      .def(
          "constant",
          [](Graph& graph, const Tensor& tensor) { return graph.constant(tensor, caller()); },
          py::arg("tensor"))
      .def(
          "read",
          [](Graph& graph, const Variable& variable) { return graph.read(variable, caller()); },
          py::arg("variable"), "What a variable holds when a run begins.")
      .def(
          "assign",
          [](Graph& graph, const Variable& variable, const Tensor& value) {
            return graph.assign(variable, value, caller());
          },
          py::arg("variable"), py::arg("value"),
          "Fetched, it gives the value, and the variable holds that from the end of the run on.")
      .def("updates", [](const Graph& graph) { return graph.updates(caller()); })
      .def("finalize", [](Graph& graph) { graph.finalize(caller()); })
      .def_property_readonly("is_final", &Graph::is_final, "Whether finalize() was called.")
      .def_property_readonly("nodes", &Graph::nodes, "How many nodes it has; equal ones are one.")
      .def_property_readonly("bytes", &Graph::bytes, "Bytes that it holds: nodes and constants.")
      .def("to_dot", &Graph::to_dot, "For Graphviz.")
      .def("__repr__", [](const Graph& graph) { return graph.to_string(); });
  py::class_<Session>(module, "Session", "Runs a graph. Nothing is allocated before run().")
      .def(py::init([](const Graph& graph) { return std::make_unique<Session>(graph, caller()); }),
           py::arg("graph"))
      .def("_run",
           [](Session& session, const std::vector<Tensor>& fetches, const py::dict& feeds) {
             const std::vector<Feed> given = feeds_of(feeds);
             const Site site = caller();
             const WithoutLock unlocked;
             return session.run(fetches, given, site);
           })
      .def("_plan",
           [](Session& session, const std::vector<Tensor>& fetches, const py::dict& feeds) {
             return session.plan(fetches, feeds_of(feeds), caller());
           })
      .def(
          "close", [](Session& session) { session.close(caller()); }, "Frees all it holds.")
      .def_property_readonly("is_closed", &Session::is_closed, "Whether close() was called.")
      .def_property_readonly("programs", &Session::programs, "How many programs it has compiled.")
      .def_property_readonly("bytes", &Session::bytes, "Bytes that its programs hold.")
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](Session& session, const py::args& /*error*/) {
        session.close(caller());
        return false;
      });
}

/// `with tn.VariableScope("block"):`
class VariableScopeBlock {
 public:
  VariableScopeBlock(std::string name, const std::string& reuse, Container* container)
      : name_(std::move(name)), container_(container) {
    using Reuse = VariableScope::Reuse;
    if (reuse != "never" && reuse != "always" && reuse != "automatic") {
      throw ValueError("reuse is '" + reuse + "'; there are 'never', 'always', 'automatic'");
    }
    reuse_ = reuse == "never" ? Reuse::never : reuse == "always" ? Reuse::always : Reuse::automatic;
  }
  VariableScopeBlock& begin() {
    if (scope_) throw ValueError("the scope is entered already; make one for each `with`");
    scope_ = container_ == nullptr ? std::make_unique<VariableScope>(name_, reuse_)
                                   : std::make_unique<VariableScope>(name_, *container_, reuse_);
    return *this;
  }
  void end() { scope_.reset(); }

 private:
  std::string name_;
  Container* container_;
  VariableScope::Reuse reuse_;
  std::unique_ptr<VariableScope> scope_;
};

void add_variable_scopes(Module& module) {
  py::class_<Container>(module, "Container", "Owns variables by name, and frees them together.")
      .def(py::init<std::string>(), py::arg("name") = "container")
      .def_property_readonly("name", &Container::name, "Its name, which errors have.")
      .def_property_readonly("variables", &Container::variables, "The variables in it.")
      .def_property_readonly("bytes", &Container::bytes, "Bytes of their data.")
      .def("clear", [](Container& container) { return container.clear(caller()); });
  py::class_<VariableScopeBlock>(module, "VariableScope",
                                 "Names the variables that get_variable() makes in it.")
      .def(py::init<std::string, const std::string&, Container*>(), py::arg("name"), py::kw_only(),
           py::arg("reuse") = "never", py::arg("container") = nullptr, py::keep_alive<1, 4>())
      .def("__enter__", &VariableScopeBlock::begin, py::return_value_policy::reference)
      .def("__exit__", [](VariableScopeBlock& block, const py::args& /*error*/) {
        block.end();
        return false;
      });
  module.def(
      "get_variable",
      [](const std::string& name, const py::function& initial, bool trainable) {
        return get_variable(
            name,
            [&] {
              return From<Tensor>::of(checked(PyObject_CallNoArgs(initial.ptr())).get(),
                                      "what `initial` gives");
            },
            trainable, caller());
      },
      py::arg("name"), py::arg("initial"), py::arg("trainable") = true,
      "The variable of this name in the current scope; made of initial() if the scope allows it.");
}

}  // namespace

void add_graph(Module& module) {
  add_graphs(module);
  add_variable_scopes(module);
  module.def(
      "_cond",
      [](const Tensor& predicate, const py::function& then, const py::function& otherwise,
         const std::vector<Tensor>& operands) {
        return graph::run_cond(Operand(predicate, caller()), flat(then), flat(otherwise), operands);
      },
      py::arg("predicate"), py::arg("then"), py::arg("otherwise"), py::arg("operands"));
  module.def(
      "_while",
      [](const py::function& condition, const py::function& body, const std::vector<Tensor>& state,
         std::int64_t max_iterations) {
        return graph::run_while(flat(condition), flat(body), state, max_iterations, caller());
      },
      py::arg("condition"), py::arg("body"), py::arg("state"), py::arg("max_iterations"));
  module.def(
      "_scan",
      [](const py::function& body, const std::vector<Tensor>& carry,
         const std::vector<Tensor>& xs) {
        return graph::run_scan(flat(body), carry, xs, caller());
      },
      py::arg("body"), py::arg("carry"), py::arg("xs"));
}

}  // namespace tenure::python
