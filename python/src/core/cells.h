#pragma once

#include <string>

#include "python/src/core/object.h"

namespace tenure::python {

/// The name of a file as people call it: of a cell of a notebook, "In[3]".
std::string file_name(const char* file);

/// `function` is given the name of a file that is a cell's ("<ipython-input-3-...>", or one of a
/// notebook's kernel), and gives what people call it.
void set_file_namer(PyObject* function);

}  // namespace tenure::python
