#include "tenure/graph/function.h"

#include <memory>
#include <optional>

#include "python/src/core/bind.h"
#include "python/src/memory/donation.h"

// tenure.function: what does not depend on Python's types is tenure/graph/function.h's core; trees
// of arguments are taken apart in tenure/_function.py.

namespace tenure::python {
namespace {

using graph::FunctionCore;

/// A Python object that C++ holds, on whatever thread that ends.
std::shared_ptr<const void> held(PyObject* object) {
  return {Py_NewRef(object), [](const void* pointer) {
            release_later(const_cast<PyObject*>(static_cast<const PyObject*>(pointer)));
          }};
}

class CompiledFunction {
 public:
  CompiledFunction(FunctionOptions options, Site site)
      : core_(std::make_shared<FunctionCore>(std::move(options), site)) {}

  /// trace(symbols) gives (tensors, frame): the tensors of the result, and what to make it of.
  py::tuple call(const py::list& arguments, std::int64_t layout, const std::vector<double>& numbers,
                 const std::string& other, const py::function& trace) const {
    FunctionCore::Call call = call_of(arguments, layout, numbers, other);
    // What is donated leaves the caller's objects before the call, and comes back if it throws.
    for_each_donated(arguments, [](Tensor& tensor, std::size_t) { tensor = Tensor(); });
    try {
      FunctionCore::Result result;
      {
        const WithoutLock unlocked;
        result = core_->call(call, trace_of(trace));
      }
      PyObject* const frame =
          const_cast<PyObject*>(static_cast<const PyObject*>(result.frame.get()));
      return py::make_tuple(py::reinterpret_steal<py::object>(wrap_all(result.tensors).release()),
                            py::reinterpret_borrow<py::object>(frame));
    } catch (...) {
      for_each_donated(arguments,
                       [&](Tensor& tensor, std::size_t i) { tensor = std::move(call.tensors[i]); });
      throw;
    }
  }
  Plan plan(const py::list& arguments, std::int64_t layout, const std::vector<double>& numbers,
            const std::string& other, const py::function& trace) const {
    const FunctionCore::Call call = call_of(arguments, layout, numbers, other);
    const WithoutLock unlocked;
    return core_->plan(call, trace_of(trace));
  }
  FunctionCore& core() const { return *core_; }

 private:
  static FunctionCore::Call call_of(const py::list& arguments, std::int64_t layout,
                                    const std::vector<double>& numbers, const std::string& other) {
    FunctionCore::Call call;
    call.layout = {layout};
    call.numbers = numbers;
    call.other = other;
    bool has_donations = false;
    for (const py::handle argument : arguments) {
      const bool is_given = is_donation(argument.ptr());
      has_donations = has_donations || is_given;
      call.tensors.push_back(
          tensor_of(is_given ? donated(argument.ptr()) : argument.ptr(), "an argument"));
      call.ownership.push_back(is_given ? graph::Ownership::donated : graph::Ownership::kept);
    }
    if (!has_donations) call.ownership.clear();
    return call;
  }
  template <class F>
  static void for_each_donated(const py::list& arguments, const F& f) {
    std::size_t i = 0;
    for (const py::handle argument : arguments) {
      if (is_donation(argument.ptr())) f(tensor_of(donated(argument.ptr())), i);
      ++i;
    }
  }
  static FunctionCore::Trace trace_of(const py::function& trace) {
    return [function = trace.ptr()](const std::vector<Tensor>& symbols) {
      const WithLock lock;
      const Ref made = checked(PyObject_CallOneArg(function, wrap_all(symbols).get()));
      PyObject *tensors = nullptr, *frame = nullptr;
      if (PyArg_ParseTuple(made.get(), "OO", &tensors, &frame) == 0) throw PythonError();
      FunctionCore::Result result;
      result.tensors = From<std::vector<Tensor>>::of(tensors, "a result");
      result.frame = held(frame);
      return result;
    };
  }

  std::shared_ptr<FunctionCore> core_;
};

FunctionOptions options_of(std::string name, const std::optional<std::int64_t>& budget,
                           double recompute, int effort, bool check_numbers,
                           std::vector<int> batched, int warn_after, const py::object& warn) {
  FunctionOptions options;
  options.name = std::move(name);
  options.batched = std::move(batched);
  options.warn_after = warn_after;
  options.warn = [warn](const std::string& report) {
    const WithLock lock;
    warn(report);
  };
  options.budget = budget;
  options.recompute = recompute;
  options.effort = effort;
  options.check_numbers = check_numbers;
  return options;
}

}  // namespace

void add_function(Module& module) {
  py::class_<Plan::Step>(module, "PlanStep", "One kernel call of a plan.")
      .def_readonly("op", &Plan::Step::op, "The op, or the ops that are computed at once.")
      .def_property_readonly(
          "site", [](const Plan::Step& step) { return to_string(step.site); }, "The line of it.")
      .def_readonly("bytes", &Plan::Step::bytes, "Bytes of its results.")
      .def_readonly("workspace", &Plan::Step::workspace, "Bytes that it takes while it runs.")
      .def_readonly("in_place", &Plan::Step::in_place,
                    "Whether it computes in the memory of an input.")
      .def_readonly("live", &Plan::Step::live, "Bytes that the run has in use at this step.");
  py::class_<Plan>(module, "Plan", "What running a program will take, known before it runs.")
      .def_readonly("peak", &Plan::peak,
                    "The most bytes that a run adds to what is live, its results among them.")
      .def_readonly("arena", &Plan::arena, "Bytes of the one block in which it computes.")
      .def_readonly(
          "constants", &Plan::constants,
          "Bytes of constants, which are there before a run and after it; no part of the peak.")
      .def_readonly(
          "packed", &Plan::packed,
          "The most bytes of weights that it keeps packed between runs; no part of the peak.")
      .def_readonly(
          "recomputed", &Plan::recomputed,
          "The time that computing parts twice adds, as a share of the rest; an estimate.")
      .def_readonly("flops", &Plan::flops, "Floating-point operations of a run.")
      .def_readonly("steps", &Plan::steps, "Its kernel calls, in order.")
      .def("__repr__", [](const Plan& plan) { return to_string(plan); });
  py::class_<TraceInfo>(module, "TraceInfo", "One trace of a function.")
      .def_readonly("signature", &TraceInfo::signature,
                    "The types and shapes it is of, and numbers among the arguments.")
      .def_readonly("reason", &TraceInfo::reason, "Why it was made.")
      .def_readonly("calls", &TraceInfo::calls, "How many calls it has served.")
      .def_readonly("nodes", &TraceInfo::nodes, "The nodes of its graph.")
      .def_readonly("bytes", &TraceInfo::bytes,
                    "Bytes that the trace and its compiled program hold.")
      .def("__repr__", [](const TraceInfo& trace) {
        return "<trace of " + trace.signature + ", " + std::to_string(trace.calls) +
               " calls: " + trace.reason + ">";
      });
  py::class_<CompiledFunction>(module, "_CompiledFunction")
      .def(py::init([](std::string name, const py::object& budget, double recompute, int effort,
                       bool check_numbers, std::vector<int> batched, int warn_after,
                       const py::object& warn) {
        std::optional<std::int64_t> limit;
        if (!budget.is_none())
          limit = static_cast<std::int64_t>(bytes_of(budget.ptr(), "the budget"));
        return CompiledFunction(options_of(std::move(name), limit, recompute, effort, check_numbers,
                                           std::move(batched), warn_after, warn),
                                caller());
      }))
      .def("call", &CompiledFunction::call)
      .def("plan", &CompiledFunction::plan)
      .def("traces", [](const CompiledFunction& f) { return f.core().traces(); })
      .def("explain", [](const CompiledFunction& f) { return f.core().explain(); })
      .def("forget",
           [](const CompiledFunction& f, std::int64_t layout) { f.core().forget({layout}); })
      .def("clear", [](const CompiledFunction& f) { f.core().clear(); });
  module.def("_line", [] { return to_string(caller()); });
  module.def(
      "spec",
      [](const Shape& shape, DType dtype) { return graph::spec_tensor(dtype, shape, caller()); },
      py::arg("shape"), py::arg("dtype") = DType::float32,
      "A stand-in for a tensor of this type and shape, for plan(): it has no data.");
}

}  // namespace tenure::python
