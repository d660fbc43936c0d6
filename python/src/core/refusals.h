#pragma once

#include "python/src/core/bind.h"

namespace tenure::python {

/// Before any class is made.
void refuse_bare_objects();

/// What pybind11 answers to wrong calls of a module's functions and classes, as everything else
/// here says it: a sentence that names the argument. For when the module has all of them.
void refuse_in_sentences(Module& module);

/// `function` is given pybind11's text, the arguments and the keywords, and gives the sentence. See
/// tenure/_refusals.py.
void set_refusal_writer(PyObject* function);

}  // namespace tenure::python
