#pragma once

#include "python/src/core/object.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

/// What tenure.donate(x) gives: x, for one call that may use it up.
bool is_donation(PyObject* object) noexcept;
/// The Python object of the tensor; borrowed.
PyObject* donated(PyObject* donation) noexcept;

/// Throws DonationError unless an op may compute in the memory of the tensor.
void require_sole_holder(const Tensor& tensor, Site site);

void add_donation(PyObject* module);

}  // namespace tenure::python
