#include "python/src/ops/function.h"

#include <algorithm>
#include <map>

#include "python/src/arrays/from_object.h"
#include "python/src/memory/donation.h"
#include "python/src/modes/variable.h"
#include "tenure/ops/core/record.h"

namespace tenure::python {
namespace {

/// A function of a table. A method descriptor, so that x.relu() calls it with x first and makes no
/// bound method.
struct FunctionObject {
  PyObject_HEAD const Function* function;
  vectorcallfunc call;
};

const Function& function_of(PyObject* self) {
  return *reinterpret_cast<FunctionObject*>(self)->function;
}

int place_of(std::span<const Parameter> parameters, PyObject* keyword);

/// Of overloads that all refuse a call, the one that says why: which lacks the fewest arguments.
const Overload& closest(std::span<const Overload> overloads, Py_ssize_t positional,
                        PyObject* keywords) {
  const Overload* best = &overloads.back();
  std::size_t least = Arguments::kMax + 1;
  for (const Overload& overload : overloads) {
    const std::span<const Parameter> parameters = overload.parameters;
    const auto passed = static_cast<std::size_t>(positional);
    if (passed > parameters.size()) continue;
    if (passed > 0 && parameters[passed - 1].is_keyword_only) continue;
    std::size_t lacks = 0;
    for (const Parameter& p : parameters.subspan(passed)) lacks += p.is_required ? 1 : 0;
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < named; ++k) {
      const int i = place_of(parameters, PyTuple_GET_ITEM(keywords, k));
      if (i >= positional && parameters[static_cast<std::size_t>(i)].is_required) --lacks;
    }
    if (lacks > least) continue;
    best = &overload;
    least = lacks;
  }
  return *best;
}

PyObject* call(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  try {
    using Trial = Arguments::Trial;
    const Function& function = function_of(self);
    const Py_ssize_t positional = PyVectorcall_NARGS(flags);
    const std::span<const Overload> overloads = function.overloads;
    if (overloads.size() > 1) {
      for (const Trial trial : {Trial::types, Trial::names}) {
        for (const Overload& overload : overloads) {
          Arguments bound(function, caller());
          if (bound.bind(overload, arguments, positional, keywords, trial))
            return overload.call(bound);
        }
      }
    }
    Arguments bound(function, caller());
    const Overload& overload =
        overloads.size() > 1 ? closest(overloads, positional, keywords) : overloads.front();
    bound.bind(overload, arguments, positional, keywords, Trial::none);
    return overload.call(bound);
  } catch (...) {
    set_error();
    return nullptr;
  }
}

PyObject* get_method(PyObject* self, PyObject* object, PyObject* /*type*/) {
  return object == nullptr ? Py_NewRef(self) : PyMethod_New(self, object);
}
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<function tenure.%s%s>", function_of(self).name,
                              function_of(self).signature);
}
PyObject* reduce(PyObject* self, PyObject* /*unused*/) {
  return PyUnicode_FromString(function_of(self).name);  // a global of the module
}
PyObject* name(PyObject* self, void* /*unused*/) {
  return PyUnicode_FromString(function_of(self).name);
}
PyObject* module_name(PyObject* /*self*/, void* /*unused*/) {
  return PyUnicode_FromString("tenure");
}
PyObject* signature(PyObject* self, void* /*unused*/) {
  return PyUnicode_FromString(function_of(self).signature);
}
/// What its declaration says, else its record; and what the op does to memory.
PyObject* doc(PyObject* self, void* /*unused*/) {
  return guarded([&] {
    const Function& function = function_of(self);
    const ops::OpRecord* const record = ops::find_op(function.name);
    std::string sentences = function.doc;
    if (sentences.empty() && record != nullptr) sentences = record->doc;
    if (sentences.empty()) sentences = function.group;
    std::string words = std::string(function.name) + function.signature + "\n\n" + sentences;
    if (record != nullptr) words += "\n\nMemory: " + ops::to_string(record->memory) + ".";
    return text(words);
  });
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"__name__", name, nullptr, nullptr, nullptr},
                            {"__qualname__", name, nullptr, nullptr, nullptr},
                            {"__module__", module_name, nullptr, nullptr, nullptr},
                            {"__text_signature__", signature, nullptr, nullptr, nullptr},
                            {"__doc__", doc, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject function_type = [] {
  PyTypeObject type = plain_type<FunctionObject>("tenure.Op");
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  type.tp_vectorcall_offset = offsetof(FunctionObject, call);
  type.tp_call = PyVectorcall_Call;
  type.tp_descr_get = get_method;
  type.tp_repr = repr;
  type.tp_methods = methods;
  type.tp_getset = properties;
  return type;
}();

int place_of(std::span<const Parameter> parameters, PyObject* keyword) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (PyUnicode_CompareWithASCIIString(keyword, parameters[i].name) == 0)
      return static_cast<int>(i);
  }
  // NumPy's users write `axis` for one and for several.
  if (PyUnicode_CompareWithASCIIString(keyword, "axis") == 0) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (std::string_view(parameters[i].name) == "axes") return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

Py_ssize_t Arguments::gather(PyObject* const* arguments, Py_ssize_t positional, Py_ssize_t& first) {
  const auto is_keyword_only = [](const Parameter& p) { return p.is_keyword_only; };
  const Py_ssize_t most = std::ranges::find_if(parameters_, is_keyword_only) - parameters_.begin();
  Py_ssize_t end = positional;
  if (positional > 1 && most > 1 && parameters_[1].fits == From<DType>::fits &&
      is_integer(arguments[0]) && is_integer(arguments[1])) {
    first = 0;  // a shape, before an element type
    for (end = 2; end < positional && is_integer(arguments[end]);) ++end;
  } else if (positional > most && most > 0) {
    first = most - 1;
  } else if (positional == most && is_tensor(arguments[most - 1])) {
    first = most - 1;  // einsum of one
  } else {
    return 0;
  }
  const std::span<PyObject* const> items(arguments + first, arguments + end);
  if (!std::ranges::all_of(items, is_integer) && !std::ranges::all_of(items, is_tensor)) return 0;
  gathered_ = checked(PyTuple_New(end - first));
  for (Py_ssize_t i = first; i < end; ++i)
    PyTuple_SET_ITEM(gathered_.get(), i - first, Py_NewRef(arguments[i]));
  gathered_place_ = gathered_.get();
  if (!parameters_[static_cast<std::size_t>(first)].fits(gathered_place_)) return 0;
  places_[static_cast<std::size_t>(first)] = &gathered_place_;
  return end - first;
}

bool Arguments::bind(const Overload& overload, PyObject* const* arguments, Py_ssize_t positional,
                     PyObject* keywords, Trial trial) {
  parameters_ = overload.parameters;
  const auto n = static_cast<Py_ssize_t>(parameters_.size());
  const auto refuse = [&](const std::string& problem) {
    if (trial == Trial::none)
      raise(PyExc_TypeError, std::string(function_.name) + "(): " + problem);
    return false;
  };
  const bool is_one_of_several = function_.overloads.size() > 1;
  for (Py_ssize_t i = 0; i < n; ++i) places_[static_cast<std::size_t>(i)] = nullptr;
  // What is given for a list stands alone where there are more than there are places, or a size
  // where an element type belongs.
  const bool may_gather =
      positional > 1 && !is_one_of_several &&
      (positional > n || parameters_[static_cast<std::size_t>(positional - 1)].is_keyword_only ||
       (n > 1 && parameters_[1].fits == From<DType>::fits) ||
       parameters_[static_cast<std::size_t>(positional - 1)].fits ==
           From<std::vector<Tensor>>::fits);
  Py_ssize_t first = 0;
  const Py_ssize_t gathered = may_gather ? gather(arguments, positional, first) : 0;
  for (Py_ssize_t i = 0; i < positional; ++i) {
    Py_ssize_t place = i;
    if (gathered > 0 && i >= first) {
      if (i < first + gathered) continue;
      place -= gathered - 1;
    }
    if (place < n && !parameters_[static_cast<std::size_t>(place)].is_keyword_only) {
      places_[static_cast<std::size_t>(place)] = arguments + i;
    } else if (!is_one_of_several || arguments[i] != Py_None) {  // None: another overload's
      return refuse("too many positional arguments; it is " + std::string(function_.name) +
                    function_.signature);
    }
  }
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    const int i = place_of(parameters_, keyword);
    if (i < 0) {
      if (is_one_of_several && arguments[positional + k] == Py_None) continue;
      return refuse("no argument '" + text_of(keyword, "a keyword") + "'; it is " + function_.name +
                    function_.signature);
    }
    if (places_[static_cast<std::size_t>(i)] != nullptr) {
      return refuse("'" + std::string(parameters_[static_cast<std::size_t>(i)].name) +
                    "' is given twice");
    }
    places_[static_cast<std::size_t>(i)] = arguments + positional + k;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (places_[i] == nullptr) {
      if (parameter.is_required) return refuse("'" + std::string(parameter.name) + "' is missing");
    } else if (trial == Trial::types && !parameter.fits(*places_[i])) {
      return false;
    }
  }
  measure();
  return true;
}

const char* Arguments::name(int i) {
  what_ = std::string(function_.name) + "(): " + parameters_[static_cast<std::size_t>(i)].name;
  return what_.c_str();
}

/// Whether there is enough to compute. What is not contiguous may repeat few elements.
void Arguments::measure() {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (places_[i] == nullptr || !is_tensor(*places_[i])) continue;
    const TensorBody* const body = tensor_of(*places_[i]).body_or_null();
    if (body == nullptr || !body->contiguous) continue;
    bytes += static_cast<std::size_t>(count(static_cast<const Shape&>(body->shape))) *
             size_of(body->dtype);
  }
  is_large_ = bytes >= kBytesWithoutLock;
}

Arguments::~Arguments() {
  for (const Lent& lent : donations_) {
    if (lent.tensor->defined()) tensor_of(lent.owner) = std::move(*lent.tensor);
  }
}

Operand Arguments::own(Tensor tensor) {
  if (!made_) made_.emplace();
  return {std::as_const(made_->emplace_back(std::move(tensor))), site_};
}

Operand Arguments::donation(PyObject* object) {
  PyObject* const owner = donated(object);
  require_sole_holder(tensor_of(owner), site_);
  if (!made_) made_.emplace();
  Tensor& tensor = made_->emplace_back();
  donations_.push_back({owner, &tensor});
  tensor = std::move(tensor_of(owner));
  return {std::move(tensor), site_};
}

Operand Arguments::operand(int i) {
  PyObject* const* const place = places_[static_cast<std::size_t>(i)];
  PyObject* const object = *place;
  if (is_tensor(object)) {
    Tensor& tensor = tensor_of(object);
    if (Py_REFCNT(object) == 1 && !has_weak_references(object) && is_dying_argument(place)) {
      return {std::move(tensor), site_};
    }
    if (is_large_) return own(tensor);
    borrows_ = true;
    return {std::as_const(tensor), site_};
  }
  if (is_donation(object)) return donation(object);
  if (const std::optional<Scalar> scalar = scalar_of(object)) return Operand(*scalar, site_);
  return own(From<Tensor>::of(object, name(i)));
}

OperandList Arguments::operands(int i) {
  if (!lists_) lists_.emplace();
  PyObject* const object = *places_[static_cast<std::size_t>(i)];
  const std::vector<Tensor>& list =
      lists_->emplace_back(From<std::vector<Tensor>>::of(object, name(i)));
  std::size_t bytes = 0;
  for (const Tensor& tensor : list) {
    if (tensor.is_contiguous() && tensor.shape().is_known()) bytes += tensor.nbytes();
  }
  is_large_ = is_large_ || bytes >= kBytesWithoutLock;
  return {list, site_};
}

PyObject* give(std::span<Tensor> tensors) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     wrap(std::move(tensors[i])).release());
  }
  return tuple.release();
}

PyObject* give_named(const char* type, std::initializer_list<const char*> names,
                     std::initializer_list<PyObject*> parts) {
  static auto* const types = new std::map<std::string, PyTypeObject*>;
  PyTypeObject*& made = (*types)[type];
  if (made == nullptr) {
    auto* const fields = new std::vector<PyStructSequence_Field>;  // the type keeps them
    for (const char* name : names) fields->push_back({name, nullptr});
    fields->push_back({nullptr, nullptr});
    auto* const full_name = new std::string(std::string("tenure.") + type);
    PyStructSequence_Desc description{full_name->c_str(), nullptr, fields->data(),
                                      static_cast<int>(names.size())};
    made = PyStructSequence_NewType(&description);
  }
  Ref result = made == nullptr ? Ref() : Ref::take(PyStructSequence_New(made));
  Py_ssize_t i = 0;
  for (PyObject* const part : parts) {
    if (result && part != nullptr) {
      PyStructSequence_SetItem(result.get(), i++, part);
    } else {
      Py_XDECREF(part);
    }
  }
  if (!result) throw PythonError();
  return result.release();
}

void add_functions(PyObject* module) {
  check(PyType_Ready(&function_type));
  check(PyModule_AddObjectRef(module, "Op", reinterpret_cast<PyObject*>(&function_type)));
  for (const std::span<const Function> table : all_functions()) {
    for (const Function& function : table) {
      auto* const object = PyObject_New(FunctionObject, &function_type);
      if (object == nullptr) throw PythonError();
      object->function = &function;
      object->call = call;
      const Ref ref = Ref::take(reinterpret_cast<PyObject*>(object));
      check(PyObject_SetAttrString(module, function.name, ref.get()));
      if (function.is_method &&
          PyDict_GetItemString(tensor_type.tp_dict, function.name) == nullptr) {
        check(PyDict_SetItemString(tensor_type.tp_dict, function.name, ref.get()));
      }
    }
  }
  PyType_Modified(&tensor_type);
}

}  // namespace tenure::python
