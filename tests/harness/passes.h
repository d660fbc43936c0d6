#pragma once

#include <gtest/gtest.h>

#include "tenure/check/findings.h"
#include "tenure/ops/core/record.h"

namespace tenure::check {

/// What a check finds, as failures of the running test.
inline void expect(void (*check)(const ops::OpRecord&), const ops::OpRecord& op) {
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
