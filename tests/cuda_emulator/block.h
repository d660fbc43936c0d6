#pragma once

#include <cstdint>

#include "tests/cuda_emulator/protocol.h"

namespace tenure::test {

/// A kernel, as TENURE_KERNEL makes it here.
using EmulatedKernel = void (*)(const void* arguments);

/// Runs all clusters of a grid, one after the other in any order. Their threads are fibers:
/// each goes on until it ends or waits for others, and warps go on in any order, each until it
/// comes to a barrier, so that a barrier that is missing shows. Shared memory holds no numbers
/// when a block begins, and none where a copy into it was not waited for. Where all of them wait
/// for something that none can bring, or at different places for each other, the process ends.
void run_grid(EmulatedKernel kernel, const void* arguments, const Command& launch);

}  // namespace tenure::test
