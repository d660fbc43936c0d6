#include "python/src/memory/donation.h"

#include "python/src/core/errors.h"
#include "python/src/core/sites.h"
#include "python/src/tensor/object.h"
#include "tenure/tensor/introspect.h"

namespace tenure::python {
namespace {

struct DonationObject {
  PyObject_HEAD PyObject* tensor;
};

void end(PyObject* self) {
  Py_DECREF(donated(self));
  PyObject_Free(self);
}
PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("donate(%R)", donated(self)); }

PyObject* tensor(PyObject* self, void* /*unused*/) { return Py_NewRef(donated(self)); }
PyGetSetDef properties[] = {{"tensor", tensor, nullptr, "What is given.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject donation_type = [] {
  PyTypeObject type = plain_type<DonationObject>("tenure.Donation");
  type.tp_doc = "What tenure.donate() gives.";
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_dealloc = end;
  type.tp_repr = repr;
  type.tp_getset = properties;
  return type;
}();

PyObject* donate(PyObject* /*module*/, PyObject* tensor) {
  return guarded([&] {
    tensor_of(tensor, "what is donated").body("donate()", caller());
    auto* const object = PyObject_New(DonationObject, &donation_type);
    if (object == nullptr) throw PythonError();
    object->tensor = Py_NewRef(tensor);
    return Ref::take(reinterpret_cast<PyObject*>(object));
  });
}

PyMethodDef functions[] = {
    {"donate", donate, METH_O,
     "donate(x)\n\nGives x to the call that this stands in: it computes in the memory of x, and x "
     "is empty "
     "afterwards. Raises DonationError, and leaves x as it is, where it cannot."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_donation(PyObject* object) noexcept { return Py_TYPE(object) == &donation_type; }
PyObject* donated(PyObject* donation) noexcept {
  return reinterpret_cast<DonationObject*>(donation)->tensor;
}

void require_sole_holder(const Tensor& tensor, Site site) {
  if (tensor.is_sole_holder(site)) return;
  if (tensor.is_disposed(site)) throw_disposed(tensor.body("donate()", site), "donate()", site);
  std::string others;
  for (const Holder& holder : holders(tensor, site)) others += "\n  " + to_string(holder);
  throw DonationError("tensor " + std::to_string(tensor.id()) +
                      " cannot be donated: it is not the only holder of " +
                      "its data, or the memory is not Tenure's" + others);
}

void add_donation(PyObject* module) {
  check(PyType_Ready(&donation_type));
  check(PyModule_AddObjectRef(module, "Donation", reinterpret_cast<PyObject*>(&donation_type)));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace tenure::python
