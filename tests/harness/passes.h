#pragma once

#include <gtest/gtest.h>

#include "tenure/check/findings.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"

namespace tenure::check {

/// What a check finds, as failures of the running test; skipped where a GPU has no kernel.
inline void expect(void (*check)(const ops::OpRecord&), const ops::OpRecord& op) {
  const bool may_lack = default_device().kind == Device::Kind::cuda;  // others have all kernels
  if (may_lack && ops::needs_kernel(op) && ops::find_kernel(op, default_device()) == nullptr) {
    GTEST_SKIP() << name_of(default_device()) << " has no kernel for " << op.name;
  }
  const Findings findings;
  try {
    check(op);
  } catch (const DeviceError& error) {
    // One that is written in other ops, of which the device lacks a kernel.
    const ops::OpRecord* const part = ops::find_op(error.op());
    if (!may_lack || part == nullptr || part == &op ||
        ops::find_kernel(*part, default_device()) != nullptr) {
      throw;
    }
    GTEST_SKIP() << error.what();
  }
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
}

/// Whether a check finds nothing.
inline bool passes(void (*check)(const ops::OpRecord&), const ops::OpRecord& op) {
  const Findings findings;
  check(op);
  return findings.empty();
}

}  // namespace tenure::check
