#pragma once

#include "python/src/core/object.h"
#include "tenure/base/site.h"

namespace tenure::python {

/// The line of Python that is running: the innermost one outside this package, and outside Python's
/// own library if there is one (copy.copy(x) is the line that says so). Found in the frame
/// and kept for each instruction of a code object, so that it takes a few nanoseconds.
Site caller() noexcept;

/// Whether the reference at `place` is that of a temporary: the running frame's own stack has it,
/// nobody else has one, and it goes when the call returns. `place` is an argument as the
/// interpreter passes it to a vectorcall. False on versions of Python whose frames are not known
/// here.
bool is_dying_argument(PyObject* const* place) noexcept;

/// The same of an operand of the operator that the running frame has come to, whose operands are
/// `a` and `b` (null: it has one).
bool is_dying_operand(PyObject* operand, PyObject* a, PyObject* b) noexcept;

/// Lines in files below this folder are the package's own.
void set_package_folder(const char* folder);
/// Lines in files below this folder, but for packages that are installed there, are Python's own.
void set_library_folder(const char* folder);
/// `function` is given a code object, and gives a number for each of its instructions: for an
/// operator 2 i, or 2 i + 1 if it has two operands, where i is the place of its first operand on
/// the stack; for any other -1. See tenure/_operators.py.
void set_operand_finder(PyObject* function);

}  // namespace tenure::python
