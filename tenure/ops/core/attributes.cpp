#include "tenure/ops/core/attributes.h"

namespace tenure::ops {

constinit const LastingAttributes kLastingNoAttributes;

}  // namespace tenure::ops
