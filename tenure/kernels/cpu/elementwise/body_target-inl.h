#pragma once

#include <hwy/highway.h>

// How the bodies of ops are compiled here: for the instruction set that is being made. Included
// before them; see ops/elementwise/value_kinds.h.

#define TENURE_BODIES_BEGIN \
  HWY_BEFORE_NAMESPACE();   \
  namespace tenure::ops {   \
  namespace HWY_NAMESPACE {
#define TENURE_BODIES_END \
  }                       \
  }                       \
  HWY_AFTER_NAMESPACE();
#define TENURE_BODY HWY_INLINE
