#pragma once

namespace tenure::python {

// Note: signals while a model is trained
//
// A handler of Python's runs where its thread next runs Python; fit() may not do so for hours. So
// it asks between two steps, and evaluate() and predict() between two batches. What a handler
// raises where nobody can pass it on (in write() of a stream, whose errors are lost) is kept until
// then.

/// Has nn::Fit ask for signals of this thread.
void ask_for_signals();

// The callers of these have the interpreter's lock.

/// Keeps what is raised now, for the training on this thread to find.
void keep_raised();

/// Has handlers run, and keeps what they raise: they would else run in what is called next.
void run_handlers();

/// Raises what was kept and nobody asked for since, or forgets it.
void raise_kept();
void forget_kept();

}  // namespace tenure::python
