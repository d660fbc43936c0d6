#include "tenure/ops/operators.h"
#include "python/src/arrays/from_object.h"
#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "python/src/core/sites.h"
#include "python/src/modes/variable.h"
#include "python/src/ops/convert.h"
#include "python/src/tensor/object.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg_ops.h"

// x + y and its like. A temporary is computed in, a variable never: see is_dying_operand().

namespace tenure::python {
namespace {

/// From this size on the interpreter's lock is let go; as in ops/function.h.
constexpr std::int64_t kElementsWithoutLock = 16 * 1024;

bool is_large_tensor(PyObject* object) noexcept {
  if (!is_tensor(object)) return false;
  const TensorBody* const body = tensor_of(object).body_or_null();
  return body != nullptr && body->contiguous &&
         count(static_cast<const Shape&>(body->shape)) >= kElementsWithoutLock;
}

/// One operand as the library takes it. Empty if it is nothing that tensors are computed with.
class Side {
 public:
  Side(PyObject* object, PyObject* a, PyObject* b) : object_(object) {
    if (is_tensor(object)) {
      is_dying_ = !has_weak_references(object) && is_dying_operand(object, a, b);
    } else if (is_variable(object)) {
      made_ = value_of_variable(object);
    } else if (!(number_ = scalar_of(object)) && is_array(object)) {
      made_ = tensor_from_object(object, "an operand");
    }
  }
  bool is_known() const { return is_tensor(object_) || number_ || made_.defined(); }

  /// `is_large`: the call lets the lock go, and has a handle of its own; see ops/function.h.
  Operand operand(Site site, bool is_large = false) {
    if (is_tensor(object_)) {
      Tensor& tensor = tensor_of(object_);
      if (is_dying_) return {std::move(tensor), site};
      if (!is_large) return {std::as_const(tensor), site};
      made_ = tensor;
      return {std::as_const(made_), site};
    }
    if (!number_) return {std::as_const(made_), site};
    return Operand(*number_, site);
  }

 private:
  PyObject* object_;
  std::optional<Scalar> number_;
  Tensor made_;
  bool is_dying_ = false;
};

using Binary = Tensor (*)(const Operand&, const Operand&);
using Unary = Tensor (*)(const Operand&);

template <Binary op>
PyObject* binary(PyObject* a, PyObject* b) {
  try {
    Side left(a, a, b);
    Side right(b, a, b);
    if (!left.is_known() || !right.is_known()) Py_RETURN_NOTIMPLEMENTED;
    const Site site = caller();
    const bool is_large = is_large_tensor(a) || is_large_tensor(b);
    const Operand x = left.operand(site, is_large);
    const Operand y = right.operand(site, is_large);
    if (!is_large) return wrap(op(x, y)).release();
    const auto unlocked = [&] {
      const WithoutLock without;
      return op(x, y);
    };
    return wrap(unlocked()).release();
  } catch (...) {
    set_error();
    return nullptr;
  }
}

template <Unary op>
PyObject* unary(PyObject* x) {
  return guarded([&] {
    Side side(x, x, nullptr);
    const Operand operand = side.operand(caller());
    return wrap(op(operand));
  });
}

/// x += y: the object has the new value, also under its other names; views of the old one keep
/// that.
using Assign = Tensor& (*)(Tensor&, const Operand&);
template <Assign op>
PyObject* assign(PyObject* a, PyObject* b) {
  try {
    Side right(b, a, b);
    if (!is_tensor(a) || !right.is_known()) Py_RETURN_NOTIMPLEMENTED;
    op(tensor_of(a), right.operand(caller()));
    return Py_NewRef(a);
  } catch (...) {
    set_error();
    return nullptr;
  }
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<tenure::pow>(a, b);
}
PyObject* positive(PyObject* x) { return Py_NewRef(x); }

/// The only element as a number of Python's.
Ref number_of_tensor(const Tensor& tensor, Site site) {
  const DType dtype = tensor.dtype(site);
  if (dtype == DType::boolean) return Ref::to(tensor.item<bool>(site) ? Py_True : Py_False);
  if (is_floating(dtype)) return checked(PyFloat_FromDouble(tensor.item<double>(site)));
  return checked(PyLong_FromLongLong(tensor.item<std::int64_t>(site)));
}

int truth(PyObject* x) {
  try {
    const Tensor& tensor = tensor_of(x);
    const Site site = caller();
    if (!tensor.is_symbolic(site) && tensor.size(site) != 1) {
      raise(error_class("ShapeError"), "the truth of " + std::to_string(tensor.size(site)) +
                                           " elements is not one: ask for any() or all()");
    }
    return tensor.item<bool>(site) ? 1 : 0;
  } catch (const SymbolError& error) {
    PyErr_SetString(
        error_class("SymbolError"),
        (std::string(error.what()) +
         "\n  an `if` on it is cond() here, a `while` while_loop(), a choice of elements where()")
            .c_str());
    return -1;
  } catch (...) {
    set_error();
    return -1;
  }
}
PyObject* to_int(PyObject* x) {
  return guarded(
      [&] { return checked(PyNumber_Long(number_of_tensor(tensor_of(x), caller()).get())); });
}
PyObject* to_float(PyObject* x) {
  return guarded(
      [&] { return checked(PyNumber_Float(number_of_tensor(tensor_of(x), caller()).get())); });
}
PyObject* to_index(PyObject* x) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(x);
    if (tensor.rank() != 0 || !is_integral(tensor.dtype())) {
      raise(PyExc_TypeError, "only a tensor of one integer without axes is an index");
    }
    return number_of_tensor(tensor, caller());
  });
}

}  // namespace

PyObject* compare_tensors(PyObject* a, PyObject* b, int comparison) {
  switch (comparison) {
    case Py_EQ:
      return binary<equal>(a, b);
    case Py_NE:
      return binary<not_equal>(a, b);
    case Py_LT:
      return binary<less>(a, b);
    case Py_LE:
      return binary<less_equal>(a, b);
    case Py_GT:
      return binary<greater>(a, b);
    default:
      return binary<greater_equal>(a, b);
  }
}

PyNumberMethods tensor_operators = [] {
  PyNumberMethods n{};
  n.nb_add = binary<add>;
  n.nb_subtract = binary<sub>;
  n.nb_multiply = binary<mul>;
  n.nb_true_divide = binary<tenure::div>;
  n.nb_floor_divide = binary<floor_divide>;
  n.nb_remainder = binary<tenure::remainder>;
  n.nb_power = power;
  n.nb_matrix_multiply = binary<matmul>;
  n.nb_and = binary<bitwise_and>;
  n.nb_or = binary<bitwise_or>;
  n.nb_xor = binary<bitwise_xor>;
  n.nb_lshift = binary<left_shift>;
  n.nb_rshift = binary<right_shift>;
  n.nb_negative = unary<neg>;
  n.nb_positive = positive;
  n.nb_absolute = unary<tenure::abs>;
  n.nb_invert = unary<bitwise_not>;
  n.nb_inplace_add = assign < operator+=>;
  n.nb_inplace_subtract = assign < operator-=>;
  n.nb_inplace_multiply = assign < operator*=>;
  n.nb_inplace_true_divide = assign < operator/=>;
  n.nb_inplace_remainder = assign < operator%=>;
  n.nb_inplace_and = assign < operator&=>;
  n.nb_inplace_or = assign < operator|=>;
  n.nb_inplace_xor = assign < operator^=>;
  n.nb_inplace_lshift = assign < operator<<=>;
  n.nb_inplace_rshift = assign < operator>>=>;
  n.nb_bool = truth;
  n.nb_int = to_int;
  n.nb_float = to_float;
  n.nb_index = to_index;
  return n;
}();

}  // namespace tenure::python
