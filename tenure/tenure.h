#pragma once

// Everything a user of Tenure needs.

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/kernels/parallel.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool.h"
#include "tenure/memory/recording.h"
#include "tenure/memory/region.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/introspect.h"
#include "tenure/tensor/tensor.h"
#include "tenure/tensor/tree.h"
