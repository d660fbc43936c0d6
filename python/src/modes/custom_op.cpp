#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "python/src/core/bind.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/custom.h"
#include "tenure/tensor/sizes.h"
#include "tenure/tensor/strided.h"

namespace tenure::python {
namespace {

// Note: ops that are written in Python
//
// A record has functions without a context, so what Python computes with is an attribute of the
// call, which graphs and tapes hold as long as they hold the call. The methods of the object, in
// tenure/_op.py, turn bytes into arrays and check what comes back. The arrays have memory of their
// own: a kernel's belongs to whoever runs it, and a function may keep its arguments.

class PythonOp final : public ops::Opaque {
 public:
  explicit PythonOp(const py::object& object)
      : object_(Py_NewRef(object.ptr()), [](PyObject* held) { release_later(held); }) {}

  /// A method of the object; for who has the interpreter's lock.
  template <class... Arguments>
  Ref call(const char* method, const Arguments&... arguments) const {
    const Ref name = text(method);
    return checked(
        PyObject_CallMethodObjArgs(object_.get(), name.get(), arguments.get()..., nullptr));
  }

 private:
  std::shared_ptr<PyObject> object_;
};

const PythonOp& op_of(const ops::Attributes& attributes) {
  if (attributes.size() == 0) throw ValueError("the op is Python's, and is called from there");
  return static_cast<const PythonOp&>(*attributes.opaque(0));
}

/// (shape, dtype); a size that is not known yet is None.
Ref spec_of(DType dtype, const Shape& shape) {
  Ref sizes = checked(PyTuple_New(shape.size()));
  for (int i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(sizes.get(), i,
                     shape[i] == kUnknown ? Py_NewRef(Py_None)
                                          : checked(PyLong_FromLongLong(shape[i])).release());
  }
  return checked(PyTuple_Pack(2, sizes.get(), wrap(dtype).get()));
}

ops::Specs infer(const ops::Kernel& k) {
  const WithLock lock;
  const Ref inputs = checked(PyList_New(0));
  for (const ops::View& in : k.in)
    check(PyList_Append(inputs.get(), spec_of(in.dtype, in.shape).get()));
  const Ref found = op_of(k.attributes).call("_infer_all", inputs);
  std::vector<ops::Spec> specs;
  for (const py::handle item : py::reinterpret_borrow<py::list>(found.get())) {
    const auto pair = py::reinterpret_borrow<py::tuple>(item);
    Shape shape;
    for (const py::handle size : py::reinterpret_borrow<py::tuple>(pair[0]))
      shape.push_back(size.is_none() ? kUnknown : integer_of(size.ptr(), "a size"));
    specs.push_back({.dtype = dtype_of(py::object(pair[1]).ptr(), "dtype"), .shape = shape});
  }
  return ops::Specs(std::move(specs));
}

/// The elements of a view one after the other.
Ref bytes_of(const ops::View& view) {
  const std::size_t item = size_of(view.dtype);
  Ref bytes = checked(PyBytes_FromStringAndSize(
      nullptr, static_cast<Py_ssize_t>(item) * static_cast<Py_ssize_t>(view.count())));
  char* to = PyBytes_AS_STRING(bytes.get());
  const char* const from = view.as<const char>();
  if (view.contiguous()) {
    std::memcpy(to, from, item * static_cast<std::size_t>(view.count()));
    return bytes;
  }
  for_each_offset(view.shape, view.strides, [&](std::int64_t at) {
    std::memcpy(to, from + at * static_cast<std::int64_t>(item), item);
    to += item;
  });
  return bytes;
}

void run(const ops::Kernel& k) {
  const WithLock lock;
  const Ref inputs = checked(PyList_New(0));
  for (const ops::View& in : k.in) {
    const Ref spec = spec_of(in.dtype, in.shape);
    check(PyList_Append(inputs.get(),
                        checked(PyTuple_Pack(2, bytes_of(in).get(), spec.get())).get()));
  }
  const Ref outputs = checked(PyList_New(0));
  for (const ops::View& out : k.out)
    check(PyList_Append(outputs.get(), spec_of(out.dtype, out.shape).get()));
  // All are there, and of the right size, before the first is written.
  const Ref made = op_of(k.attributes).call("_compute_all", inputs, outputs);
  for (std::size_t i = 0; i < k.out.size(); ++i) {
    Py_buffer buffer;
    check(PyObject_GetBuffer(PyList_GET_ITEM(made.get(), static_cast<Py_ssize_t>(i)), &buffer,
                             PyBUF_C_CONTIGUOUS));
    std::memcpy(k.out[i].data, buffer.buf, static_cast<std::size_t>(buffer.len));
    PyBuffer_Release(&buffer);
  }
}

void run_gradient(ops::Backward& b) {
  const WithLock lock;
  const Ref specs = checked(PyList_New(0));
  for (const ops::Spec& spec : b.specs)
    check(PyList_Append(specs.get(), spec_of(spec.dtype, spec.shape).get()));
  const Ref made = op_of(b.attributes)
                       .call("_gradients_of_all", specs, wrap_all(b.inputs), wrap_all(b.outputs),
                             wrap_all(b.gradients));
  for (std::size_t i = 0; i < b.specs.size(); ++i) {
    PyObject* const item = PyList_GET_ITEM(made.get(), static_cast<Py_ssize_t>(i));
    if (b.wants(i) && item != Py_None) b.results[i] = From<Tensor>::of(item, "a gradient");
  }
}

/// What a tape holds, by what the gradient says that it reads.
constexpr ops::GradientRule rule_that_reads(bool inputs, bool outputs) {
  const ops::GradientRule::Needs all{.inputs = inputs ? ~0u : 0u, .outputs = outputs ? ~0u : 0u};
  return {.needs = {{all, all, all, all}}, .run = run_gradient};
}
const ops::GradientRule* rule_of(const std::string& reads) {
  static constexpr ops::GradientRule rules[] = {
      rule_that_reads(false, false), rule_that_reads(true, false), rule_that_reads(false, true),
      rule_that_reads(true, true)};
  constexpr const char* names[] = {"nothing", "inputs", "outputs", "both"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (reads == names[i]) return &rules[i];
  throw ValueError("reads is '" + reads + "'; there are 'nothing', 'inputs', 'outputs' and 'both'");
}

/// An op of a name is defined once in a process, and may be given other functions: a cell of a
/// notebook is run again. What else is changed in the cell makes another op: "cube (2)".
const CustomOp& defined(const std::string& name, const std::string& signature,
                        const std::string& doc, int outputs,
                        const std::optional<std::string>& reads) {
  struct Known {
    const ops::GradientRule* gradient;
    CustomOp op;
  };
  static auto* const known = new std::map<std::string, std::vector<std::unique_ptr<Known>>>;
  const ops::GradientRule* const gradient = reads ? rule_of(*reads) : nullptr;
  std::vector<std::unique_ptr<Known>>& of_name = (*known)[name];
  for (const auto& one : of_name) {
    if (one->op.record().outputs == outputs && one->gradient == gradient) return one->op;
  }
  const std::string own_name =
      of_name.empty() ? name : name + " (" + std::to_string(of_name.size() + 1) + ")";
  ops::OpRecord record;
  record.name = own_name.c_str();
  record.family = "python";
  record.signature = signature.c_str();
  record.doc = doc.c_str();
  record.outputs = outputs;
  record.dtypes = ops::kAllTypes;
  record.infer = infer;
  record.may_fail = true;  // whatever the function raises
  record.folds = false;    // it is called when the program runs, and as often as that says
  record.gradient = gradient;
  record.samples = [] { return std::vector<ops::Sample>{{}}; };
  const CustomOp op = define_op(record, {.run = run}, caller());
  of_name.push_back(std::make_unique<Known>(Known{gradient, op}));
  return of_name.back()->op;
}

}  // namespace

void add_custom_op(Module& module) {
  py::class_<CustomOp>(module, "_CustomOp")
      .def(
          py::init([](const std::string& name, const std::string& signature, const std::string& doc,
                      int outputs, const std::optional<std::string>& reads) {
            return defined(name, signature, doc, outputs, reads);
          }))
      .def("call", [](const CustomOp& op, const std::shared_ptr<PythonOp>& functions,
                      const std::vector<Tensor>& inputs) {
        const Site site = caller();
        std::vector<Operand> operands;
        operands.reserve(inputs.size());
        for (const Tensor& input : inputs) operands.emplace_back(input, site);
        const ops::Attributes attributes{std::shared_ptr<const ops::Opaque>(functions)};
        const WithoutLock unlocked;
        return op.call(operands, attributes, site);
      });
  py::class_<PythonOp, std::shared_ptr<PythonOp>>(module, "_PythonOp")
      .def(py::init([](const py::object& object) { return std::make_shared<PythonOp>(object); }));
}

}  // namespace tenure::python
