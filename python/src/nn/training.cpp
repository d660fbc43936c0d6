#include <memory>
#include <optional>

#include "python/src/nn/layers.h"
#include "tenure/data/dataset.h"
#include "tenure/nn/checkpoint.h"
#include "tenure/nn/fit.h"
#include "tenure/nn/optimizers.h"
#include "tenure/nn/trainer.h"

// Optimizers, trainers and datasets.

namespace tenure::python {
namespace {

using nn::Optimizer;

/// A callable of Python's in C++'s hands, on whatever thread that ends.
std::shared_ptr<PyObject> held(const py::object& object) {
  return {Py_NewRef(object.ptr()), [](PyObject* held) { release_later(held); }};
}

nn::Loss loss_of(const py::object& function) {
  return [f = held(function)](const Tensor& prediction, const Tensor& target) {
    const WithLock lock;
    const Ref result = checked(
        PyObject_CallFunction(f.get(), "NN", wrap(prediction).release(), wrap(target).release()));
    return From<Tensor>::of(result.get(), "a loss");
  };
}

template <class T, class... Options>
auto optimizer_class(Module& module, const char* name) {
  return py::class_<T, Optimizer, std::shared_ptr<T>>(module, name);
}

void add_optimizers(Module& module) {
  py::class_<Optimizer, std::shared_ptr<Optimizer>>(module, "Optimizer",
                                                    "Changes parameters by their gradients.")
      .def(
          "apply",
          [](Optimizer& optimizer, std::vector<Tensor> gradients) {
            const Site site = caller();
            const WithoutLock unlocked;
            optimizer.apply(std::move(gradients), site);
          },
          py::arg("gradients"),
          "One step, as a whole or not at all; the gradients are those of `variables`.")
      .def_property_readonly("parameters", &Optimizer::parameters)
      .def_property_readonly("variables", &Optimizer::variables)
      .def_property(
          "learning_rate", &Optimizer::learning_rate,
          [](Optimizer& optimizer, double rate) { optimizer.set_learning_rate(rate, caller()); })
      .def_property_readonly("steps", &Optimizer::steps)
      .def_property_readonly("state", &Optimizer::state)
      .def("dispose", [](Optimizer& optimizer) { return optimizer.dispose(caller()); });
  optimizer_class<nn::Sgd>(module, "Sgd")
      .def(py::init([](const py::object& parameters, double rate, double momentum, double dampening,
                       bool nesterov, double weight_decay) {
             return std::make_shared<nn::Sgd>(variables_of(parameters), rate,
                                              SgdOptions{.momentum = momentum,
                                                         .dampening = dampening,
                                                         .nesterov = nesterov,
                                                         .weight_decay = weight_decay},
                                              caller());
           }),
           py::arg("parameters"), py::arg("rate"), py::kw_only(), py::arg("momentum") = 0.0,
           py::arg("dampening") = 0.0, py::arg("nesterov") = false, py::arg("weight_decay") = 0.0);
  optimizer_class<nn::Adam>(module, "Adam")
      .def(py::init([](const py::object& parameters, double rate, double beta1, double beta2,
                       double epsilon, double weight_decay) {
             const AdamOptions options{
                 .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = weight_decay};
             return std::make_shared<nn::Adam>(variables_of(parameters), rate, options, caller());
           }),
           py::arg("parameters"), py::arg("rate") = 1e-3, py::kw_only(), py::arg("beta1") = 0.9,
           py::arg("beta2") = 0.999, py::arg("epsilon") = 1e-8, py::arg("weight_decay") = 0.0);
  py::class_<nn::AdamW, Optimizer, std::shared_ptr<nn::AdamW>>(module, "AdamW")
      .def(py::init([](const py::object& parameters, double rate, double beta1, double beta2,
                       double epsilon, double weight_decay) {
             const AdamOptions options{
                 .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = weight_decay};
             return std::make_shared<nn::AdamW>(variables_of(parameters), rate, options, caller());
           }),
           py::arg("parameters"), py::arg("rate") = 1e-3, py::kw_only(), py::arg("beta1") = 0.9,
           py::arg("beta2") = 0.999, py::arg("epsilon") = 1e-8, py::arg("weight_decay") = 0.01);
  optimizer_class<nn::Rmsprop>(module, "Rmsprop")
      .def(py::init([](const py::object& parameters, double rate, double alpha, double epsilon,
                       double weight_decay) {
             return std::make_shared<nn::Rmsprop>(
                 variables_of(parameters), rate,
                 RmspropOptions{.alpha = alpha, .epsilon = epsilon, .weight_decay = weight_decay},
                 caller());
           }),
           py::arg("parameters"), py::arg("rate") = 1e-2, py::kw_only(), py::arg("alpha") = 0.99,
           py::arg("epsilon") = 1e-8, py::arg("weight_decay") = 0.0);
  optimizer_class<nn::Adagrad>(module, "Adagrad")
      .def(py::init(
               [](const py::object& parameters, double rate, double epsilon, double weight_decay) {
                 return std::make_shared<nn::Adagrad>(
                     variables_of(parameters), rate,
                     AdagradOptions{.epsilon = epsilon, .weight_decay = weight_decay}, caller());
               }),
           py::arg("parameters"), py::arg("rate") = 1e-2, py::kw_only(), py::arg("epsilon") = 1e-10,
           py::arg("weight_decay") = 0.0);
  optimizer_class<nn::Lion>(module, "Lion")
      .def(py::init([](const py::object& parameters, double rate, double beta1, double beta2,
                       double weight_decay) {
             return std::make_shared<nn::Lion>(
                 variables_of(parameters), rate,
                 LionOptions{.beta1 = beta1, .beta2 = beta2, .weight_decay = weight_decay},
                 caller());
           }),
           py::arg("parameters"), py::arg("rate") = 1e-4, py::kw_only(), py::arg("beta1") = 0.9,
           py::arg("beta2") = 0.99, py::arg("weight_decay") = 0.0);
}

void add_dataset(Module& module) {
  using data::Dataset;
  py::class_<data::Pass>(module, "Pass")
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", [](data::Pass& pass) {
        std::optional<data::Batch> batch;
        {
          const WithoutLock unlocked;
          batch = pass.next();
        }
        if (!batch) throw py::stop_iteration();
        return std::vector<Tensor>(batch->begin(), batch->end());
      });
  py::class_<Dataset>(module, "Dataset",
                      "Elements in any order, and ways to make other datasets of them.")
      .def("__len__", &Dataset::size)
      .def("__iter__", [](const Dataset& dataset) { return dataset.epoch(0, 0, caller()); })
      .def(
          "epoch",
          [](const Dataset& dataset, std::int64_t epoch) {
            return dataset.epoch(epoch, 0, caller());
          },
          py::arg("epoch"))
      .def(
          "shuffle",
          [](const Dataset& dataset, std::uint64_t seed, bool every_epoch) {
            return dataset.shuffle(seed, every_epoch, caller());
          },
          py::arg("seed") = 0, py::arg("every_epoch") = true)
      .def(
          "batch",
          [](const Dataset& dataset, std::int64_t n, bool drop_last) {
            return dataset.batch(n, drop_last, caller());
          },
          py::arg("n"), py::arg("drop_last") = false)
      .def(
          "take", [](const Dataset& dataset, std::int64_t n) { return dataset.take(n, caller()); },
          py::arg("n"))
      .def(
          "skip", [](const Dataset& dataset, std::int64_t n) { return dataset.skip(n, caller()); },
          py::arg("n"))
      .def(
          "repeat",
          [](const Dataset& dataset, std::int64_t n) { return dataset.repeat(n, caller()); },
          py::arg("n"))
      .def(
          "prefetch",
          [](const Dataset& dataset, std::int64_t n) { return dataset.prefetch(n, caller()); },
          py::arg("n"));
  module.def(
      "from_tensors",
      [](const std::vector<Tensor>& tensors) { return data::from_tensors(tensors, caller()); },
      py::arg("tensors"),
      "One element for each row of tensors whose first axes have the same size.");
}

void add_trainer(Module& module) {
  py::class_<nn::Scores>(module, "Scores", "Means over what was seen.")
      .def_readonly("loss", &nn::Scores::loss)
      .def_readonly("metrics", &nn::Scores::metrics)
      .def("__repr__",
           [](const nn::Scores& scores) { return "<loss " + std::to_string(scores.loss) + ">"; });
  py::class_<nn::StepPlan>(module, "StepPlan",
                           "What a training step takes, known before the first one.")
      .def_readonly("plan", &nn::StepPlan::plan)
      .def_readonly("parameters", &nn::StepPlan::parameters)
      .def_readonly("optimizer", &nn::StepPlan::optimizer)
      .def_readonly("batch", &nn::StepPlan::batch)
      .def_property_readonly("peak", &nn::StepPlan::peak);
  py::class_<nn::Metric>(module, "Metric", "A number to look at; training does not follow it.")
      .def(py::init([](std::string name, const py::object& value) {
             return nn::Metric{.name = std::move(name), .value = loss_of(value)};
           }),
           py::arg("name"), py::arg("value"))
      .def_readonly("name", &nn::Metric::name);
  module.def(
      "accuracy", [] { return nn::accuracy(caller()); },
      "The share of rows whose largest entry is that of the target.");
  module.def("binary_accuracy", [] { return nn::binary_accuracy(caller()); });
  module.def("mean_absolute_error", [] { return nn::mean_absolute_error(caller()); });

  py::class_<nn::Trainer>(module, "Trainer",
                          R"(Trains a model: forward, backward and update are one compiled
function with one plan, in which gradients are applied and freed as soon as they are ready.)")
      .def(py::init([](const nn::Layer& model, const py::object& loss, Optimizer& optimizer,
                       std::vector<nn::Metric> metrics, const py::object& budget, double recompute,
                       int effort, int accumulate, std::optional<double> clip_norm,
                       bool check_numbers) {
             nn::TrainerOptions options;
             options.metrics = std::move(metrics);
             if (!budget.is_none())
               options.budget = static_cast<std::int64_t>(bytes_of(budget.ptr(), "the budget"));
             options.recompute = recompute;
             options.effort = effort;
             options.accumulate = accumulate;
             options.clip_norm = clip_norm;
             options.check_numbers = check_numbers;
             return std::make_unique<nn::Trainer>(model, loss_of(loss), optimizer,
                                                  std::move(options), caller());
           }),
           py::arg("model"), py::arg("loss"), py::arg("optimizer"), py::kw_only(),
           py::arg("metrics") = std::vector<nn::Metric>{}, py::arg("budget") = py::none(),
           py::arg("recompute") = 0.0, py::arg("effort") = 1, py::arg("accumulate") = 1,
           py::arg("clip_norm") = py::none(), py::arg("check_numbers") = false,
           py::keep_alive<1, 2>(), py::keep_alive<1, 4>())
      .def(
          "step",
          [](nn::Trainer& trainer, const Tensor& x, const Tensor& target) {
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.step(x, target, site);
          },
          py::arg("x"), py::arg("target"), "One batch; if it raises, parameters are as before.")
      .def(
          "score",
          [](const nn::Trainer& trainer, const Tensor& x, const Tensor& target) {
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.score(x, target, site);
          },
          py::arg("x"), py::arg("target"), "The same without training.")
      .def(
          "predict",
          [](const nn::Trainer& trainer, const Tensor& x) {
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.predict(x, site);
          },
          py::arg("x"))
      .def(
          "plan",
          [](const nn::Trainer& trainer, const Tensor& x, const Tensor& target) {
            const Site site = caller();
            const WithoutLock unlocked;
            return trainer.plan(x, target, site);
          },
          py::arg("x"), py::arg("target"), "What a step on such a batch takes; specs will do.")
      .def_property_readonly("resident_bytes", &nn::Trainer::resident_bytes);
}

nn::Progress progress_of(const std::string& name) {
  if (name == "auto") return nn::Progress::automatic;
  if (name == "bar") return nn::Progress::bar;
  if (name == "lines") return nn::Progress::lines;
  if (name == "none") return nn::Progress::none;
  throw ValueError("progress is '" + name + "'; there are 'auto', 'bar', 'lines', 'none'");
}

/// on_epoch(number, scores, validation or None); what it gives that is true ends the training.
class PythonCallback : public nn::Callback {
 public:
  explicit PythonCallback(const py::object& on_epoch) : on_epoch_(held(on_epoch)) {}
  void on_epoch(nn::Fit& fit, const nn::Epoch& epoch) override {
    const WithLock lock;
    const py::object validation =
        epoch.validation ? py::cast(*epoch.validation) : py::object(py::none());
    const py::object training = py::cast(epoch.training);
    const Ref result = checked(PyObject_CallFunction(on_epoch_.get(), "iOO", epoch.number,
                                                     training.ptr(), validation.ptr()));
    const int stop = PyObject_IsTrue(result.get());
    check(stop);
    if (stop == 1) fit.stop("a callback asked for it");
  }

 private:
  std::shared_ptr<PyObject> on_epoch_;
};

void add_fit(Module& module) {
  py::class_<nn::Epoch>(module, "Epoch", "What an epoch came to.")
      .def_readonly("number", &nn::Epoch::number)
      .def_readonly("training", &nn::Epoch::training)
      .def_readonly("validation", &nn::Epoch::validation)
      .def_readonly("seconds", &nn::Epoch::seconds)
      .def_readonly("peak", &nn::Epoch::peak);
  py::class_<nn::History>(module, "History")
      .def_readonly("epochs", &nn::History::epochs)
      .def_readonly("was_interrupted", &nn::History::was_interrupted)
      .def_readonly("reason", &nn::History::reason);
  module.def(
      "fit",
      [](nn::Trainer& trainer, const data::Dataset& training, int epochs,
         std::optional<data::Dataset> validation, const py::object& on_epoch, bool leak_guard,
         const std::string& progress) {
        nn::FitOptions options;
        options.epochs = epochs;
        options.validation = std::move(validation);
        if (!on_epoch.is_none())
          options.callbacks.push_back(std::make_shared<PythonCallback>(on_epoch));
        options.leak_guard = leak_guard;
        options.progress = progress_of(progress);
        const Site site = caller();
        const WithoutLock unlocked;
        return nn::fit(trainer, training, options, site);
      },
      py::arg("trainer"), py::arg("training"), py::kw_only(), py::arg("epochs") = 1,
      py::arg("validation") = py::none(), py::arg("on_epoch") = py::none(),
      py::arg("leak_guard") = true, py::arg("progress") = "auto",
      "Trains on a dataset of batches [x, target] for some epochs.");
  module.def(
      "evaluate",
      [](const nn::Trainer& trainer, const data::Dataset& batches) {
        const Site site = caller();
        const WithoutLock unlocked;
        return nn::evaluate(trainer, batches, site);
      },
      py::arg("trainer"), py::arg("batches"));
  module.def(
      "save_weights",
      [](const nn::Layer& model, const std::string& path) {
        nn::save_weights(model, path, caller());
      },
      py::arg("model"), py::arg("path"), "Parameters and buffers as a safetensors file.");
  module.def(
      "load_weights",
      [](const nn::Layer& model, const std::string& path) {
        nn::load_weights(model, path, caller());
      },
      py::arg("model"), py::arg("path"));
}

}  // namespace

void add_training(Module& module) {
  add_optimizers(module);
  add_dataset(module);
  add_trainer(module);
  add_fit(module);
}

}  // namespace tenure::python
