#include "python/src/nn/signals.h"

#include <chrono>
#include <optional>

#include "python/src/core/object.h"
#include "tenure/nn/interrupt.h"

namespace tenure::python {
namespace {

thread_local std::optional<PythonError> kept;

/// To ask takes the lock, which others may have: once in so long at most.
bool is_time() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kEvery{20};
  thread_local Clock::time_point last;
  const Clock::time_point now = Clock::now();
  if (now - last < kEvery) return false;
  last = now;
  return true;
}

/// Ctrl-C is a wish, as it is in C++, unless all is thrown; what other handlers raise is thrown.
bool was_interrupted(bool is_thrown) {
  if (!kept && !is_time()) return false;
  const WithLock lock;
  if (!kept && PyErr_CheckSignals() < 0) kept.emplace();
  if (!kept) return false;
  const PythonError error = *kept;
  kept.reset();
  error.restore();
  if (is_thrown || PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) throw PythonError();
  PyErr_Clear();
  return true;
}

}  // namespace

void ask_for_signals() { nn::Interrupt::ask(was_interrupted); }

void keep_raised() { kept.emplace(); }

void run_handlers() {
  if (PyErr_CheckSignals() < 0) kept.emplace();
}

void forget_kept() { kept.reset(); }

void raise_kept() {
  if (!kept) return;
  const PythonError error = *kept;
  kept.reset();
  throw error;
}

}  // namespace tenure::python
