#pragma once

#include <string>

#include "tenure/profile/history.h"

namespace tenure::profile {

/// JSON for chrome://tracing and ui.perfetto.dev: ops, kernels, runs and scopes by thread, live
/// bytes by category, steps. The history must have spans.
std::string to_chrome_trace(const History& history);

/// For `go tool pprof` and others: gzip of a protobuf with allocations and what was live at the
/// peak, by scopes, op and line. In pprof.cpp.
std::string to_pprof(const History& history);

/// For speedscope.app: what was live at the peak, and what was allocated, by scopes, op and line.
std::string to_speedscope(const History& history);

/// One line per storage, with a heading; in the place of an arena one for each part of it: see
/// rows.h.
std::string to_csv(const History& history);

}  // namespace tenure::profile
