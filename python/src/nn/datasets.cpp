#include <pybind11/operators.h>

#include <map>
#include <optional>

#include "python/src/core/library_call.h"
#include "python/src/nn/classes.h"
#include "tenure/data/csv.h"

namespace tenure::python {
namespace {

using data::Batch;
using data::Dataset;

std::vector<Tensor> tensors_of(const Batch& batch) { return {batch.begin(), batch.end()}; }

/// What f gives of an element: a list of tensors, or one.
Batch batch_of(PyObject* object) {
  if (From<Tensor>::fits(object)) return {From<Tensor>::of(object, "an element")};
  return From<std::vector<Tensor>>::of(object, "an element");
}

Ref list_of_tensors(const Batch& batch) {
  Ref list = checked(PyList_New(0));
  for (const Tensor& tensor : batch) check(PyList_Append(list.get(), wrap(tensor).get()));
  return list;
}

Dataset map(const Dataset& dataset, const py::function& function,
            const std::optional<std::uint64_t>& seed) {
  const std::shared_ptr<PyObject> f = held(function);
  if (!seed) {
    return dataset.map(
        [f](const Batch& element) {
          const LibraryCall call;
          const WithLock lock;
          return batch_of(
              checked(PyObject_CallOneArg(f.get(), list_of_tensors(element).get())).get());
        },
        caller());
  }
  return dataset.map(
      [f](const Batch& element, Generator& generator) {
        const LibraryCall call;
        const WithLock lock;
        // A copy: it is good for this element alone, and the function may keep it.
        auto copy = std::make_unique<Generator>();
        copy->set_state(generator.state());
        const py::object own = py::cast(std::move(copy));
        const Ref list = list_of_tensors(element);
        return batch_of(
            checked(PyObject_CallFunctionObjArgs(f.get(), list.get(), own.ptr(), nullptr)).get());
      },
      *seed, caller());
}

/// A pass ends without the interpreter's lock: it may wait for an element that Python makes.
using PassPointer = std::shared_ptr<data::Pass>;
PassPointer pass_of(data::Pass pass) {
  return {new data::Pass(std::move(pass)), [](const data::Pass* ending) {
            const WithoutLock unlocked;
            delete ending;
          }};
}

void add_pass(Module& module) {
  py::class_<data::Pass, PassPointer>(module, "Pass", "One walk through a dataset.")
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__",
           [](data::Pass& pass) {
             std::optional<Batch> batch;
             {
               const WithoutLock unlocked;
               batch = pass.next();
             }
             if (!batch) throw py::stop_iteration();
             return tensors_of(*batch);
           })
      .def_property_readonly("position", &data::Pass::position,
                             "Enough to go on where it stands: Dataset.resume() takes it.");
}

void add_ways(py::class_<Dataset>& dataset) {
  dataset
      .def(
          "shuffle",
          [](const Dataset& all, std::uint64_t seed, bool every_epoch) {
            return all.shuffle(seed, every_epoch, caller());
          },
          py::arg("seed") = 0, py::arg("every_epoch") = true,
          "In an order that depends on the seed and, unless every_epoch is false, on the epoch.")
      .def("map", map, py::arg("f"), py::arg("seed") = py::none(),
           "f(element), a list of tensors, for each element, when it is asked for. With a seed "
           "f(element, generator), whose numbers depend on seed, epoch and place alone.")
      .def(
          "batch",
          [](const Dataset& all, std::int64_t n, bool drop_last) {
            return all.batch(n, drop_last, caller());
          },
          py::arg("n"), py::arg("drop_last") = false, "Every n elements as one.")
      .def(
          "take", [](const Dataset& all, std::int64_t n) { return all.take(n, caller()); },
          py::arg("n"), "The first n elements, or all.")
      .def(
          "skip", [](const Dataset& all, std::int64_t n) { return all.skip(n, caller()); },
          py::arg("n"), "All but the first n elements.")
      .def(
          "repeat", [](const Dataset& all, std::int64_t n) { return all.repeat(n, caller()); },
          py::arg("n"), "All elements n times, each time in an epoch of its own.")
      .def(
          "prefetch", [](const Dataset& all, std::int64_t n) { return all.prefetch(n, caller()); },
          py::arg("n"), "Passes make up to n elements ahead, on a thread of their own.")
      .def_property_readonly("ahead", &Dataset::ahead,
                             "How many elements passes make ahead; see prefetch().");
}

void add_csv(Module& module) {
  module.def(
      "read_csv",
      [](const py::object& path, const std::string& separator, bool header,
         const std::map<std::string, DType>& types, std::int64_t max_columns) {
        if (separator.size() != 1) throw ValueError("separator must be one character");
        data::CsvOptions options{.separator = separator[0], .header = header, .types = types};
        options.max_columns = max_columns;
        const std::string file = Argument<std::string>::of(path, "path");
        const Site site = caller();
        const WithoutLock unlocked;
        return data::read_csv(file, options, site);
      },
      py::arg("path"), py::kw_only(), py::arg("separator") = ",", py::arg("header") = true,
      py::arg("types") = std::map<std::string, DType>{},
      py::arg("max_columns") = data::CsvOptions{}.max_columns,
      "A file of values with separators as a Table: columns of whole numbers are int64, of numbers "
      "float32, others texts; `types` says otherwise, by name.");
}

}  // namespace

void extend(py::class_<data::Table>& made) {
  made.def(
          "column",
          [](const data::Table& table, const std::string& name) {
            return table.column(name, caller());
          },
          py::arg("name"))
      .def("__getitem__", [](const data::Table& table, const std::string& name) {
        return table.column(name, caller()).values;
      });
}

void extend(py::class_<data::Position>& made) {
  made.def(py::init([](std::int64_t epoch, std::int64_t next) {
             return data::Position{.epoch = epoch, .next = next};
           }),
           py::arg("epoch") = 0, py::arg("next") = 0)
      .def(py::self == py::self);
}

void add_datasets(Module& module) {
  add_pass(module);
  py::class_<Dataset> dataset(module, "Dataset",
                              "Elements in any order, and ways to make other datasets of them.");
  dataset.def("__len__", &Dataset::size)
      .def("__iter__", [](const Dataset& all) { return pass_of(all.epoch(0, 0, caller())); })
      .def("__repr__",
           [](const Dataset& all) {
             return "<dataset of " + std::to_string(all.size()) + " elements>";
           })
      .def(
          "at",
          [](const Dataset& all, std::int64_t place, std::int64_t epoch) {
            const Site site = caller();
            const WithoutLock unlocked;
            return tensors_of(all.at(place, epoch, site));
          },
          py::arg("place"), py::arg("epoch") = 0)
      .def("__getitem__",
           [](const Dataset& all, std::int64_t place) {
             const Site site = caller();
             const WithoutLock unlocked;
             return tensors_of(all.at(place < 0 ? place + all.size() : place, 0, site));
           })
      .def(
          "epoch",
          [](const Dataset& all, std::int64_t epoch, std::int64_t first) {
            return pass_of(all.epoch(epoch, first, caller()));
          },
          py::arg("epoch"), py::arg("first") = 0, "One pass; `first` elements are left out.")
      .def(
          "resume",
          [](const Dataset& all, const data::Position& position) {
            return pass_of(all.resume(position, caller()));
          },
          py::arg("position"), "The rest of a pass that stood there.");
  add_ways(dataset);
  module.def(
      "from_function",
      [](std::int64_t n, const py::function& function) {
        return data::from_function(
            n,
            [f = held(function)](std::int64_t place) {
              const LibraryCall call;
              const WithLock lock;
              const Ref number = checked(PyLong_FromLongLong(place));
              return batch_of(checked(PyObject_CallOneArg(f.get(), number.get())).get());
            },
            caller());
      },
      py::arg("n"), py::arg("f"), "n elements, each f(place): a list of tensors, or one.");
  add_csv(module);
}

}  // namespace tenure::python
