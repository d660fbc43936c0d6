#pragma once

#include "tenure/ops/core/record.h"

namespace tenure::ops {

const OpRecord& max_pool_record();
const OpRecord& average_pool_record();

}  // namespace tenure::ops
