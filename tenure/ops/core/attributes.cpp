#include "tenure/ops/core/attributes.h"

namespace tenure::ops {

constinit const Attributes kNoAttributes;

}  // namespace tenure::ops
