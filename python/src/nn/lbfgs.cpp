#include "tenure/nn/lbfgs.h"

#include <memory>

#include "python/src/nn/classes.h"

// Written by hand: its step takes a function of Python's, and its options hold others.

namespace tenure::python {

void add_lbfgs(Module& module) {
  using nn::Lbfgs;
  py::class_<Lbfgs, std::shared_ptr<Lbfgs>> lbfgs(
      module, "Lbfgs", "L-BFGS with a line search, which evaluates the loss as often as it likes.");
  py::class_<Lbfgs::Progress>(lbfgs, "Progress", "What one step did.")
      .def_readonly("before", &Lbfgs::Progress::before, "The loss before the step.")
      .def_readonly("after", &Lbfgs::Progress::after, "The loss after it.")
      .def_readonly("iterations", &Lbfgs::Progress::iterations, "Directions that were taken.")
      .def_readonly("evaluations", &Lbfgs::Progress::evaluations,
                    "How often the loss was computed.")
      .def_readonly("converged", &Lbfgs::Progress::converged,
                    "Whether gradients or changes were as small as asked for.");
  lbfgs
      .def(py::init([](const py::object& parameters, double rate, int iterations, int history,
                       double gradient_tolerance, double change_tolerance) {
             const nn::LbfgsOptions options{.rate = rate,
                                            .iterations = iterations,
                                            .history = history,
                                            .gradient_tolerance = gradient_tolerance,
                                            .change_tolerance = change_tolerance};
             return std::make_shared<Lbfgs>(
                 Argument<std::vector<nn::NamedVariable>>::of(parameters, "parameters"), options,
                 caller());
           }),
           py::arg("parameters"), py::arg("rate") = 1.0, py::kw_only(), py::arg("iterations") = 20,
           py::arg("history") = 10, py::arg("gradient_tolerance") = 1e-7,
           py::arg("change_tolerance") = 1e-9)
      .def(
          "step",
          [](Lbfgs& optimizer, const py::object& loss) {
            const Site site = caller();
            const auto evaluate = [f = held(loss)] {
              const WithLock lock;
              const Ref result = checked(PyObject_CallNoArgs(f.get()));
              return From<Tensor>::of(result.get(), "a loss");
            };
            const WithoutLock unlocked;
            return optimizer.step(evaluate, site);
          },
          py::arg("loss"),
          "Goes down `loss`, a function of nothing that gives one number, as a whole or not at "
          "all.")
      .def_property_readonly("parameters", &Lbfgs::parameters,
                             "What it changes: NamedVariable objects.")
      .def_property_readonly("state", &Lbfgs::state,
                             "What it remembers between steps: NamedVariable objects.")
      .def("dispose", [](Lbfgs& optimizer) { return optimizer.dispose(caller()); });
}

}  // namespace tenure::python
