#include "python/src/ops/generator.h"

#include "python/src/core/bind.h"

namespace tenure::python {

bool is_generator(PyObject* object) noexcept { return py::isinstance<Generator>(object); }
Generator& generator_of(PyObject* object) noexcept {
  return *py::handle(object).cast<Generator*>();
}

void add_generator(Module& module) {
  py::class_<Generator>(module, "Generator",
                        "Where random numbers come from: a seed, and a counter.")
      .def(py::init<std::uint64_t>(), py::arg("seed") = 0)
      .def("seed", &Generator::seed, py::arg("seed"), "Begins anew, with this seed.")
      .def_property(
          "state",
          [](const Generator& generator) {
            return std::pair(generator.state().seed, generator.state().offset);
          },
          [](Generator& generator, std::pair<std::uint64_t, std::uint64_t> state) {
            generator.set_state({.seed = state.first, .offset = state.second});
          },
          "(seed, counter): what it takes to go on with the same numbers.");
  module.def("seed", &tenure::seed, py::arg("seed"), "Seeds the default generator.");
  module.def("default_generator", &default_generator, py::return_value_policy::reference,
             "The generator of all random ops that are given none.");
}

}  // namespace tenure::python
