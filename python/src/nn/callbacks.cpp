#include "python/src/nn/callbacks.h"

#include <variant>

#include "python/src/nn/classes.h"
#include "python/src/nn/signals.h"
#include "python/src/nn/stream.h"

namespace tenure::python {
namespace {

/// What tn.nn.Callback is, and what a class of Python's derives from.
class PlainCallback final : public nn::Callback {};

Facts facts_of(const py::object& given) {
  if (given.is_none()) return {};
  if (!py::isinstance<py::dict>(given)) {
    raise(PyExc_TypeError, "state() must give a dict, not " + type_name(given.ptr()));
  }
  Facts facts;
  for (const auto& [key, value] : given.cast<py::dict>()) {
    const std::string name = text_of(key.ptr(), "a name of state()");
    if (PyUnicode_Check(value.ptr()) != 0) {
      facts.emplace(name, text_of(value.ptr(), name.c_str()));
    } else if (is_integer(value.ptr())) {
      facts.emplace(name, integer_of(value.ptr(), name.c_str()));
    } else {
      facts.emplace(name, number_of(value.ptr(), name.c_str()));
    }
  }
  return facts;
}

py::dict dict_of(const Facts& facts) {
  py::dict made;
  for (const auto& [name, fact] : facts) {
    made[py::str(name)] =
        std::visit([](const auto& value) -> py::object { return py::cast(value); }, fact.value());
  }
  return made;
}

/// The object that Python has of it; Fit objects are made for Python alone.
py::object fit_object(nn::Fit& fit) { return py::cast(&fit, py::return_value_policy::reference); }

}  // namespace

PythonCallback::PythonCallback(const py::object& object) : object_(held(object)) {}

template <class... Arguments>
void PythonCallback::call(const char* method, const Arguments&... arguments) const {
  const WithLock lock;
  run_handlers();
  const py::object object = py::reinterpret_borrow<py::object>(object_.get());
  if (object) object.attr(method)(arguments...);
}

void PythonCallback::on_begin(nn::Fit& fit) {
  const WithLock lock;
  call("on_begin", fit_object(fit));
}
void PythonCallback::on_step(nn::Fit& fit, const nn::Scores& scores) {
  const WithLock lock;
  call("on_step", fit_object(fit), scores);
}
void PythonCallback::on_epoch(nn::Fit& fit, const nn::Epoch& epoch) {
  const WithLock lock;
  call("on_epoch", fit_object(fit), epoch);
}
void PythonCallback::after_epoch(nn::Fit& fit, const nn::Epoch& epoch) {
  const WithLock lock;
  call("after_epoch", fit_object(fit), epoch);
}
void PythonCallback::on_end(nn::Fit& fit, const nn::History& history) {
  const WithLock lock;
  call("on_end", fit_object(fit), history);
}
std::string PythonCallback::name() const {
  const WithLock lock;
  if (!object_) return {};
  const Ref name = checked(PyObject_CallMethod(object_.get(), "name", nullptr));
  return text_of(name.get(), "name() of a callback");
}
Facts PythonCallback::state() const {
  const WithLock lock;
  if (!object_) return {};
  return facts_of(py::reinterpret_steal<py::object>(
      checked(PyObject_CallMethod(object_.get(), "state", nullptr)).release()));
}
void PythonCallback::set_state(const Checkpoint& state) {
  const WithLock lock;
  call("set_state", dict_of(state.facts));
}

std::vector<std::shared_ptr<nn::Callback>> Argument<std::vector<std::shared_ptr<nn::Callback>>>::of(
    const py::object& object, const char* what) {
  const Ref items = checked(
      PySequence_Fast(object.ptr(), (std::string(what) + " must be a list of Callback").c_str()));
  std::vector<std::shared_ptr<nn::Callback>> made;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(items.get(), i));
    if (!py::isinstance<nn::Callback>(item)) {
      raise(PyExc_TypeError,
            std::string(what) + " must be a list of Callback, not of " + type_name(item.ptr()));
    }
    auto callback = item.cast<std::shared_ptr<nn::Callback>>();
    if (dynamic_cast<const PlainCallback*>(callback.get()) != nullptr)
      callback = std::make_shared<PythonCallback>(item);
    made.push_back(std::move(callback));
  }
  return made;
}

nn::Progress Argument<nn::Progress>::of(const py::object& object, const char* what) {
  const std::string name = text_of(object.ptr(), what);
  if (name == "auto" || name == "automatic") return nn::Progress::automatic;
  if (name == "bar") return nn::Progress::bar;
  if (name == "lines") return nn::Progress::lines;
  if (name == "none") return nn::Progress::none;
  throw ValueError(std::string(what) + " is '" + name +
                   "'; there are 'auto', 'bar', 'lines', 'none'");
}

void extend(py::class_<nn::Fit, std::shared_ptr<nn::Fit>>& made) {
  using nn::Fit;
  made.def(
          "run",
          [](Fit& fit) {
            const auto train = [&] {
              const WithoutLock unlocked;
              return fit.run();
            };
            forget_kept();
            nn::History history = train();
            raise_kept();
            return history;
          },
          "Trains; see fit().")
      .def("stop", &Fit::stop, py::arg("reason"), "Ends it after the step that runs.")
      .def(
          "save",
          [](const Fit& fit, const py::object& path) {
            fit.save(Argument<std::string>::of(path, "path"), caller());
          },
          py::arg("path"),
          "All that is needed to go on: model, optimizer, where the epoch stands, the state of "
          "callbacks, and the default generator. As a whole or not at all.")
      .def(
          "load",
          [](Fit& fit, const py::object& path) {
            fit.load(Argument<std::string>::of(path, "path"), caller());
          },
          py::arg("path"),
          "Goes on as if it had never stopped: run() begins with the step after the last one "
          "before save().")
      .def_property_readonly("trainer", &Fit::trainer, py::return_value_policy::reference,
                             "What trains the model.")
      .def(
          "_write_to", [](Fit& fit, PythonStream& out) { fit.write_to(out.out()); },
          py::keep_alive<1, 2>())
      .def("_let_go", [](const Fit& fit) {
        for (const auto& callback : fit.options().callbacks)
          if (auto* const mine = dynamic_cast<PythonCallback*>(callback.get())) mine->let_go();
      });
}

void add_callback_base(Module& module) {
  ask_for_signals();
  using nn::Callback;
  py::class_<Callback, std::shared_ptr<Callback>>(
      module, "Callback",
      R"(Looks on while a model is trained. A class that derives from it has what it needs of
on_begin(fit), on_step(fit, scores), on_epoch(fit, epoch), after_epoch(fit, epoch) and
on_end(fit, history); each may call fit.stop(reason). name(), state() and set_state(state) are what
checkpoints hold of it: a dict of numbers and texts.)")
      .def(py::init([] { return std::make_shared<PlainCallback>(); }))
      .def("on_begin", [](const Callback&, const py::object& /*fit*/) {})
      .def("on_step", [](const Callback&, const py::object&, const py::object& /*scores*/) {})
      .def("on_epoch", [](const Callback&, const py::object&, const py::object& /*epoch*/) {})
      .def("after_epoch", [](const Callback&, const py::object&, const py::object& /*epoch*/) {})
      .def("on_end", [](const Callback&, const py::object&, const py::object& /*history*/) {})
      .def("name", [](const Callback& callback) { return callback.name(); })
      .def("state", [](const Callback& callback) { return dict_of(callback.state()); })
      .def("set_state", [](Callback& callback, const py::dict& state) {
        callback.set_state({.facts = facts_of(state)});
      });
  module.def(
      "score_of",
      [](const nn::Fit& fit, const nn::Epoch& epoch, const std::string& name) {
        return nn::score_of(fit, epoch, name, caller());
      },
      py::arg("fit"), py::arg("epoch"), py::arg("name"),
      "A number of an epoch: \"loss\", \"val loss\", or a metric with or without \"val \".");
}

}  // namespace tenure::python
