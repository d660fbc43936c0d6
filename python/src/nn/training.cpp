#include <memory>
#include <optional>

#include "python/src/nn/callbacks.h"
#include "python/src/nn/classes.h"

// Optimizers, trainers, weights: what is not made of their headers.

namespace tenure::python {
namespace {

using nn::Optimizer;

/// One gradient for each parameter; None leaves it as it is.
std::vector<Tensor> gradients_of(const py::object& given) {
  const Ref items =
      checked(PySequence_Fast(given.ptr(), "gradients must be a list of tensors, or None"));
  std::vector<Tensor> gradients;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
    gradients.push_back(item == Py_None ? Tensor() : From<Tensor>::of(item, "a gradient"));
  }
  return gradients;
}

void add_summary(Module& module) {
  using nn::Summary;
  py::class_<Summary> summary(module, "Summary", "A model on an input of a certain shape.");
  py::class_<Summary::Row>(summary, "Row")
      .def_readonly("path", &Summary::Row::path, "Where the layer is in the model.")
      .def_readonly("kind", &Summary::Row::kind, "What it is called.")
      .def_readonly("detail", &Summary::Row::detail, "Its sizes and options.")
      .def_property_readonly(
          "output", [](const Summary::Row& row) { return Dims(row.output); },
          "The shape of what it gives.")
      .def_readonly("parameters", &Summary::Row::parameters,
                    "How many numbers its parameters have.");
  summary.def_readonly("rows", &Summary::rows, "One for each layer.")
      .def_readonly("parameters", &Summary::parameters, "How many numbers all parameters have.")
      .def_readonly("trainable", &Summary::trainable, "How many of them training changes.")
      .def_readonly("parameter_bytes", &Summary::parameter_bytes, "Bytes of the parameters.")
      .def_readonly("inference", &Summary::inference, "Bytes at the peak of applying it.")
      .def_readonly("training", &Summary::training, "Bytes at the peak of its gradients.")
      .def("__repr__", [](const Summary& made) { return to_string(made); });
  module.def(
      "summarize",
      [](const py::object& model, const py::object& input, const py::object& target) {
        const nn::Tensors inputs = one_or_several(input, "input");
        const Site site = caller();
        if (py::isinstance<nn::Trainer>(model) && !target.is_none()) {
          const nn::Tensors targets = one_or_several(target, "target");
          const auto& trainer = model.cast<const nn::Trainer&>();
          const WithoutLock unlocked;
          return nn::summarize(trainer, inputs, targets, site);
        }
        const nn::Layer& layer =
            object_of<nn::Layer>(model, "model", "a layer, or a Trainer with a target");
        const WithoutLock unlocked;
        return nn::summarize(layer, inputs, site);
      },
      py::arg("model"), py::arg("input"), py::arg("target") = py::none(),
      "Traces a model, or, with a target, a step of a trainer; specs will do. Allocates nothing.");
}

void add_late_scores(Module& module) {
  py::class_<nn::LateScores>(module, "LateScores",
                             "Scores of a step that the device may not have come to yet.")
      .def(
          "get",
          [](const nn::LateScores& scores) {
            const Site site = caller();
            const WithoutLock unlocked;
            return scores.get(site);
          },
          "Waits for them, once.");
}

void add_weights(Module& module) {
  module.def(
      "load_weights",
      [](const nn::Layer& model, const py::object& path, bool cast, bool partial) {
        const std::string file = Argument<std::string>::of(path, "path");
        const Site site = caller();
        const WithoutLock unlocked;
        return nn::load_weights(model, file, {.cast = cast, .partial = partial}, site);
      },
      py::arg("model"), py::arg("path"), py::kw_only(), py::arg("cast") = false,
      py::arg("partial") = false,
      "What save_weights() has written. cast: floats of another type are converted. partial: what "
      "does not fit is left as it is, and told in the result.");
  module.def(
      "bytes_of",
      [](const py::object& variables) {
        if (py::isinstance<Variable>(variables))
          return nn::bytes_of(variables.cast<const Variable&>());
        return nn::bytes_of(Argument<std::vector<nn::NamedVariable>>::of(variables, "variables"));
      },
      py::arg("variables"), "Of what variables hold: one, a list, or those that a model trains.");
}

}  // namespace

py::str told(const py::object& object, std::initializer_list<const char*> fields) {
  std::string words = "<" + type_name(object.ptr());
  words.erase(1, words.rfind('.') == std::string::npos ? 0 : words.rfind('.'));
  const char* separator = " ";
  for (const char* const field : fields) {
    words +=
        separator + std::string(field) + "=" + py::repr(object.attr(field)).cast<std::string>();
    separator = ", ";
  }
  return words + ">";
}

void extend(py::class_<nn::Trainer, std::shared_ptr<nn::Trainer>>& made) {
  made.def(
          "step",
          [](nn::Trainer& trainer, const py::object& x, const py::object& target) {
            const nn::Tensors inputs = one_or_several(x, "x");
            const nn::Tensors targets = one_or_several(target, "target");
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.step(inputs, targets, site);
          },
          py::arg("x"), py::arg("target"),
          "One batch; if it raises, parameters are as before. Of a model of several inputs, or a "
          "loss "
          "of several targets, each is a tuple.")
      .def(
          "step_ahead",
          [](nn::Trainer& trainer, const py::object& x, const py::object& target) {
            const nn::Tensors inputs = one_or_several(x, "x");
            const nn::Tensors targets = one_or_several(target, "target");
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.step_ahead(inputs, targets, site);
          },
          py::arg("x"), py::arg("target"),
          "The same without waiting for a device that computes later: the next step can be given "
          "to "
          "it while it is at this one.")
      .def(
          "score",
          [](const nn::Trainer& trainer, const py::object& x, const py::object& target) {
            const nn::Tensors inputs = one_or_several(x, "x");
            const nn::Tensors targets = one_or_several(target, "target");
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.score(inputs, targets, site);
          },
          py::arg("x"), py::arg("target"), "The same without training.")
      .def(
          "predict",
          [](const nn::Trainer& trainer, const py::object& x) {
            const nn::Tensors inputs = one_or_several(x, "x");
            const Site site = caller();
            nn::Tensors made;
            {
              const WithoutLock unlocked;
              made = trainer.predict(inputs, site);
            }
            return py::reinterpret_steal<py::object>(one_or_tuple(made).release());
          },
          py::arg("x"), "What the model gives: a tensor, or a tuple of them.")
      .def(
          "plan",
          [](const nn::Trainer& trainer, const py::object& x, const py::object& target) {
            const nn::Tensors inputs = one_or_several(x, "x");
            const nn::Tensors targets = one_or_several(target, "target");
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.plan(inputs, targets, site);
          },
          py::arg("x"), py::arg("target"), "What a step on such a batch takes; specs will do.")
      .def(
          "summary",
          [](const nn::Trainer& trainer, const py::object& input, const py::object& target) {
            const nn::Tensors inputs = one_or_several(input, "input");
            const nn::Tensors targets = one_or_several(target, "target");
            const Site site = caller();
            const WithoutLock unlocked;
            return to_string(nn::summarize(trainer, inputs, targets, site));
          },
          py::arg("input"), py::arg("target"), "As of a layer, with what a step takes.")
      .def(
          "to",
          [](const py::object& self, const py::object& device) {
            self.cast<nn::Trainer&>().to(device_of(device.ptr(), "to(): device"), caller());
            return self;
          },
          py::arg("device"),
          "Moves all its variables to a device, where steps run from then on; gives the trainer.")
      .def("variables", &nn::Trainer::variables,
           "The model's, the optimizer's and its own, for checkpoints.")
      .def_property_readonly(
          "device", [](const nn::Trainer& trainer) { return name_of(trainer.device()); },
          "Where it trains.")
      .def_property_readonly("resident_bytes", &nn::Trainer::resident_bytes,
                             "Bytes between steps: parameters, the state of the optimizer.")
      .def_property_readonly("model", &nn::Trainer::model, py::return_value_policy::reference,
                             "What it trains.")
      .def_property_readonly("optimizer", &nn::Trainer::optimizer,
                             py::return_value_policy::reference, "What changes the parameters.");
}

void extend(py::class_<nn::StepPlan>& made) {
  made.def_property_readonly(
          "peak", &nn::StepPlan::peak,
          "The most bytes of a training step, with all that is held between steps.")
      .def_property_readonly("computation", &nn::StepPlan::computation, "Bytes of the step alone.");
}

void add_optimizer_base(Module& module) {
  py::class_<Optimizer, std::shared_ptr<Optimizer>>(module, "Optimizer",
                                                    "Changes parameters by their gradients.")
      .def(
          "apply",
          [](Optimizer& optimizer, const py::object& given) {
            std::vector<Tensor> gradients = gradients_of(given);
            const Site site = caller();
            const WithoutLock unlocked;
            optimizer.apply(std::move(gradients), site);
          },
          py::arg("gradients"),
          "One step, as a whole or not at all; the gradients are those of `variables`. Where one "
          "is None, the parameter and its state stay as they are.")
      .def_property_readonly("parameters", &Optimizer::parameters,
                             "What it changes: NamedVariable objects.")
      .def_property_readonly("variables", &Optimizer::variables, "What it changes: the Variables.")
      .def_property(
          "learning_rate", &Optimizer::learning_rate,
          [](Optimizer& optimizer, double rate) { optimizer.set_learning_rate(rate, caller()); },
          "The rate of the next step; setting it makes no new trace.")
      .def_property_readonly("steps", &Optimizer::steps, "How many steps it has made.")
      .def(
          "keep_averages",
          [](Optimizer& optimizer, double decay) { optimizer.keep_averages(decay, caller()); },
          py::arg("decay"),
          "From now on, a moving average of each parameter: after each step it is decay times "
          "itself plus (1 - decay) times the parameter. Before the first step.")
      .def(
          "swap_averages", [](Optimizer& optimizer) { optimizer.swap_averages(caller()); },
          "Gives each parameter its average, and the average the parameter: before an evaluation, "
          "and again before training goes on.")
      .def_property_readonly("state", &Optimizer::state,
                             "What it remembers between steps: NamedVariable objects.")
      .def(
          "to",
          [](const py::object& self, const py::object& device) {
            self.cast<Optimizer&>().to(device_of(device.ptr(), "to(): device"), caller());
            return self;
          },
          py::arg("device"),
          "Moves its state to a device, where its parameters are by then; gives the optimizer.")
      .def(
          "dispose", [](Optimizer& optimizer) { return optimizer.dispose(caller()); },
          "Frees its state; says how many bytes that were.");
}

void add_training(Module& module) {
  py::class_<nn::Metric>(module, "Metric", "A number to look at; training does not follow it.")
      .def(py::init([](std::string name, const py::object& value) {
             return nn::Metric{.name = std::move(name),
                               .value = Argument<nn::Loss>::of(value, "value")};
           }),
           py::arg("name"), py::arg("value"))
      .def_readonly("name", &nn::Metric::name, "Its name, which reports have.")
      .def("__repr__", [](const nn::Metric& metric) { return "<metric " + metric.name + ">"; });
  py::class_<nn::LossScale>(
      module, "LossScale",
      "For 16-bit floats, whose small gradients would be zero: the loss is multiplied by a number "
      "that the gradients are divided by. A step with gradients that are not finite is skipped and "
      "halves it; growth_interval steps without one double it.")
      .def(py::init([](double initial, int growth_interval) {
             return nn::LossScale{.initial = initial, .growth_interval = growth_interval};
           }),
           py::arg("initial") = nn::LossScale{}.initial,
           py::arg("growth_interval") = nn::LossScale{}.growth_interval)
      .def_readonly("initial", &nn::LossScale::initial, "The scale of the first step.")
      .def_readonly("growth_interval", &nn::LossScale::growth_interval,
                    "After so many good steps in a row it doubles.")
      .def("__repr__", [](const py::object& self) {
        return told(self, {"initial", "growth_interval"});
      });
  py::class_<PythonSchedule>(module, "Schedule", "The learning rate of a step; the first is 0.")
      .def(
          "__call__",
          [](const PythonSchedule& made, std::int64_t step) { return made.function(step); },
          py::arg("step"));
  module.def("_plot", [](const nn::History& history) { return nn::plot(history); });
  add_summary(module);
  add_late_scores(module);
  add_weights(module);
}

}  // namespace tenure::python
