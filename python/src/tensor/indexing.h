#pragma once

#include <vector>

#include "python/src/core/object.h"
#include "tenure/ops/index_ops.h"

namespace tenure::python {

/// What stands between the brackets of x[key]: ints, slices, None, ..., masks and integer arrays,
/// alone or in a tuple. Raises TypeError and IndexError.
std::vector<Index> indices_of(PyObject* key, const Tensor& x);

/// tn.index_update(x, key, values) and tn.index_add.
void add_index_functions(PyObject* module);

}  // namespace tenure::python
