#pragma once

#include <gtest/gtest.h>

#include "tenure/check/findings.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"

namespace tenure::check {

/// What a check finds, as failures of the running test; skipped where the device has no kernel.
inline void expect(void (*check)(const ops::OpRecord&), const ops::OpRecord& op) {
  if (ops::needs_kernel(op) && ops::find_kernel(op, default_device()) == nullptr) {
    GTEST_SKIP() << name_of(default_device()) << " has no kernel for " << op.name;
  }
  const Findings findings;
  check(op);
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
}

/// Whether a check finds nothing.
inline bool passes(void (*check)(const ops::OpRecord&), const ops::OpRecord& op) {
  const Findings findings;
  check(op);
  return findings.empty();
}

}  // namespace tenure::check
