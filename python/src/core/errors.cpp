#include "python/src/core/errors.h"

#include <array>
#include <map>
#include <new>
#include <string_view>
#include <vector>

#include "tenure/autograd/error.h"
#include "tenure/base/error.h"
#include "tenure/base/handle.h"
#include "tenure/base/object_mutex.h"
#include "tenure/graph/number_error.h"
#include "tenure/memory/kinds.h"
#include "tenure/nn/checkpoint.h"
#include "tenure/nn/fit.h"
#include "tenure/ops/linalg_error.h"
#include "tenure/planner/remat.h"
#include "tenure/profile/profile.h"
#include "tenure/tensor/device_error.h"

namespace tenure::python {
namespace {

Ref number(std::uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }
Ref signed_number(std::int64_t value) { return checked(PyLong_FromLongLong(value)); }
Ref site_text(Site site) { return text(to_string(site)); }

void set(PyObject* error, const char* name, const Ref& value) {
  check(PyObject_SetAttrString(error, name, value.get()));
}

Ref holder_groups(const std::vector<HolderGroup>& groups) {
  Ref list = checked(PyList_New(0));
  for (const HolderGroup& group : groups) {
    const Ref entry = checked(
        Py_BuildValue("(sNLL)", group.op.c_str(), site_text(group.site).release(),
                      static_cast<long long>(group.tensors), static_cast<long long>(group.bytes)));
    check(PyList_Append(list.get(), entry.get()));
  }
  return list;
}

// What the fields of an error say to a program.
void describe(PyObject* error, const ShapeError& e) {
  set(error, "op", text(e.op()));
  Ref shapes = checked(PyList_New(0));
  for (const std::vector<std::int64_t>& shape : e.shapes()) {
    const Ref sizes = checked(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    for (std::size_t i = 0; i < shape.size(); ++i) {
      PyTuple_SET_ITEM(sizes.get(), static_cast<Py_ssize_t>(i), signed_number(shape[i]).release());
    }
    check(PyList_Append(shapes.get(), sizes.get()));
  }
  set(error, "shapes", shapes);
}
void describe(PyObject* error, const DTypeError& e) { set(error, "op", text(e.op())); }
void describe(PyObject* error, const IndexError& e) {
  set(error, "op", text(e.op()));
  set(error, "index", signed_number(e.index()));
  set(error, "size", signed_number(e.size()));
}
void describe(PyObject* error, const DisposedError& e) {
  set(error, "id", number(e.id()));
  set(error, "created", site_text(e.created()));
  set(error, "disposed", site_text(e.disposed()));
  set(error, "used", site_text(e.used()));
}
void describe(PyObject* error, const OutOfMemory& e) {
  constexpr std::string_view causes[] = {"budget", "system", "injected"};
  set(error, "cause", text(std::string(causes[static_cast<int>(e.cause())])));
  set(error, "device", text(e.device()));
  set(error, "requested", number(e.requested()));
  set(error, "budget", text(e.budget()));
  set(error, "limit", number(e.facts().limit));
  set(error, "used", number(e.facts().used));
  set(error, "cached", number(e.facts().cached));
  set(error, "largest", holder_groups(e.facts().largest));
}
void describe(PyObject* error, const LeakError& e) {
  std::vector<HolderGroup> groups;
  for (const LeakError::Growth& growth : e.growing()) groups.push_back(growth.group);
  set(error, "growing", holder_groups(groups));
}
void describe(PyObject* error, const FileError& e) {
  set(error, "path", text(e.path()));
  set(error, "errno", signed_number(e.code()));
}
void describe(PyObject* error, const FormatError& e) {
  set(error, "path", text(e.path()));
  set(error, "offset", number(e.offset()));
}
void describe(PyObject* error, const DeviceError& e) {
  set(error, "op", text(e.op()));
  set(error, "device", text(name_of(e.device())));
}
void describe(PyObject* error, const NumberError& e) {
  set(error, "site", site_text(e.site()));
  set(error, "element", signed_number(e.element()));
}
void describe(PyObject* error, const MatrixError& e) {
  set(error, "op", text(e.op()));
  set(error, "matrix", signed_number(e.matrix()));
  set(error, "pivot", signed_number(e.pivot()));
}
void describe(PyObject* error, const planner::BudgetError& e) {
  set(error, "least", signed_number(e.least()));
  set(error, "bound", signed_number(e.bound()));
}
void describe(PyObject* error, const nn::CheckpointError& e) {
  set(error, "path", text(e.path()));
  Ref problems = checked(PyList_New(0));
  for (const std::string& problem : e.problems())
    check(PyList_Append(problems.get(), text(problem).get()));
  set(error, "problems", problems);
}
void describe(PyObject* error, const nn::DivergedError& e) {
  set(error, "step", signed_number(e.step()));
  set(error, "loss", checked(PyFloat_FromDouble(e.loss())));
}
void describe(PyObject* /*error*/, const Error& /*e*/) {}

struct ErrorClass {
  const char* name;
  const char* doc;
  PyObject* base;  // of Python's own; nullptr: the parent's
  const char* parent;
  bool (*matches)(const Error&);
  void (*fill)(PyObject*, const Error&);
  Ref made{};
};

template <class E>
bool is(const Error& error) {
  if constexpr (std::is_same_v<E, Error>) {
    return true;
  } else {
    return dynamic_cast<const E*>(&error) != nullptr;
  }
}
template <class E>
void fill(PyObject* object, const Error& error) {
  describe(object, dynamic_cast<const E&>(error));
}
template <class E>
ErrorClass row(const char* name, PyObject* base, const char* doc,
               const char* parent = "TenureError") {
  return {
      .name = name, .doc = doc, .base = base, .parent = parent, .matches = is<E>, .fill = fill<E>};
}

/// What others derive from stands after them: the first that matches is taken.
std::vector<ErrorClass>& classes() {
  static auto* const all = new std::vector<ErrorClass>{
      row<planner::BudgetError>("BudgetError", nullptr,
                                "A program or a training step fits in no way into the budget it "
                                "was given: .least is what suffices.",
                                "ValueError"),
      row<MatrixError>("MatrixError", nullptr,
                       "A matrix is singular, or not what a decomposition takes: .matrix tells "
                       "which of the batch, .pivot where.",
                       "ValueError"),
      row<ShapeError>("ShapeError", PyExc_ValueError, "Shapes do not fit: .op, .shapes."),
      row<DTypeError>("DTypeError", PyExc_TypeError, "An op does not take an element type: .op."),
      row<IndexError>("IndexError", PyExc_IndexError,
                      "An index or an axis is outside: .op, .index, .size."),
      row<EmptyTensorError>("EmptyTensorError", PyExc_ValueError,
                            "A tensor was used after donate() had given its data away."),
      row<DisposedError>(
          "DisposedError", PyExc_RuntimeError,
          "The data of a disposed tensor was asked for: .created, .disposed and .used are lines."),
      row<SymbolError>("SymbolError", PyExc_RuntimeError,
                       "A symbol of a graph or a trace was used as if it had data."),
      row<ClosedError>("ClosedError", PyExc_RuntimeError,
                       "A graph, a session or a container was used after it was closed."),
      row<NumberError>("NumberError", PyExc_ArithmeticError,
                       "A result is not finite, and check_numbers was asked for: .site, .element."),
      row<GraphError>("GraphError", PyExc_RuntimeError,
                      "A graph, a function or a variable scope was used as it cannot be."),
      row<GradientError>("GradientError", PyExc_RuntimeError,
                         "A gradient cannot be computed: the tape is over, the target has none, or "
                         "what it saved was written to."),
      row<DonationError>(
          "DonationError", PyExc_ValueError,
          "What donate() gave cannot be computed in: the text lists who else holds it."),
      row<OutOfMemory>("OutOfMemory", PyExc_MemoryError,
                       "An allocation is above a budget, or the system has no more: .requested, "
                       ".budget, .limit, .used, .largest. All tensors stay as they are."),
      row<LeakError>(
          "LeakError", PyExc_RuntimeError,
          "A loop holds more with each iteration: .growing lists (op, line, tensors, bytes)."),
      row<FileError>("FileError", PyExc_OSError,
                     "A file cannot be read or written: .path, .errno."),
      row<FormatError>("FormatError", PyExc_ValueError,
                       "A file is not what its format says: .path, .offset."),
      row<DeviceError>(
          "DeviceError", PyExc_RuntimeError,
          "Tensors are on several devices, or a device or what it needs is absent: .op, .device."),
      row<ForkError>("ForkError", PyExc_RuntimeError,
                     "Something of the parent's was used in a process that fork() made, where it "
                     "cannot work."),
      row<EmptyHandleError>("EmptyHandleError", PyExc_ValueError,
                            "A handle without an object was used."),
      row<ProfileError>("ProfileError", PyExc_RuntimeError, "A recording cannot begin or go on."),
      row<nn::CheckpointError>(
          "CheckpointError", PyExc_ValueError,
          "A checkpoint does not fit the model: .path, .problems. Nothing was changed."),
      row<nn::DivergedError>("DivergedError", PyExc_ArithmeticError,
                             "The loss of a training is not finite: .step, .loss."),
      row<InternalError>("InternalError", PyExc_RuntimeError,
                         "A fault of Tenure's own. Please report it."),
      row<ValueError>("ValueError", PyExc_ValueError,
                      "An argument has a value that a call does not take."),
      row<Error>("TenureError", PyExc_Exception, "What all errors of Tenure's are.", nullptr),
  };
  return *all;
}
void make(PyObject* module, ErrorClass& error) {
  Ref bases = Ref::to(error.base);
  if (error.parent != nullptr && error.base != nullptr) {
    bases = checked(PyTuple_Pack(2, error_class(error.parent), error.base));
  } else if (error.parent != nullptr) {
    bases = Ref::to(error_class(error.parent));
  }
  const std::string name = std::string("tenure.") + error.name;
  error.made = checked(PyErr_NewExceptionWithDoc(name.c_str(), error.doc, bases.get(), nullptr));
  check(PyObject_SetAttrString(module, error.name, error.made.get()));
}

/// What an error says, in the words of Python, where a tensor is empty for one reason alone.
std::string words_of(const Error& error) {
  std::string words = error.what();
  const auto* const empty = dynamic_cast<const EmptyTensorError*>(&error);
  if (empty == nullptr) return words;
  const std::string used = to_string(empty->used());
  return words.substr(0, words.find(" at " + used)) +
         ": the tensor is empty: donate() gave its data to another call\n  used at " + used +
         "\n  clone() it before, or go on with the result of that call";
}

void set_from(const Error& error) {
  const std::vector<ErrorClass>& all = classes();
  std::size_t i = 0;
  while (!all[i].matches(error)) ++i;  // the last one matches all
  PyObject* const type = all[i].made.get();
  const Ref object = checked(PyObject_CallOneArg(type, text(words_of(error)).get()));
  all[i].fill(object.get(), error);
  PyErr_SetObject(type, object.get());
}

}  // namespace

PyObject* error_class(const char* name) {
  for (const ErrorClass& error : classes()) {
    if (std::string_view(error.name) == name) return error.made.get();
  }
  return PyExc_RuntimeError;
}

void add_errors(PyObject* module) {
  // From the last one up: each is made after what it derives from.
  for (auto error = classes().rbegin(); error != classes().rend(); ++error) make(module, *error);
}

void set_error() noexcept {
  try {
    try {
      throw;
    } catch (const PythonError& error) {
      error.restore();
    } catch (const Error& error) {
      set_from(error);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  } catch (const PythonError& error) {
    error.restore();
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception that nobody knows");
  }
}

}  // namespace tenure::python
