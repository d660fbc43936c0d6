#pragma once

#include "python/src/core/object.h"
#include "tenure/ops/random_ops.h"

namespace tenure::python {

bool is_generator(PyObject* object) noexcept;
Generator& generator_of(PyObject* object) noexcept;

}  // namespace tenure::python
