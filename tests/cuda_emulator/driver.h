#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda_emulator/gpu.h"

// The driver's functions for emulated GPUs, those that Tenure uses, with what the driver checks.
// See protocol.h. TENURE_EMULATED_GPUS says how many GPUs there are (1), TENURE_EMULATED_MEMORY how
// much memory each has, in MiB (2048), TENURE_EMULATED_CUDA which version the driver says it is
// (13000), TENURE_EMULATED_CAPABILITY of which generation the GPUs are (9).
//
// driver.cpp has devices and their contexts, driver_streams.cpp streams, events and graphs,
// driver_code.cpp modules and launches, driver_memory.cpp memory and copies.

struct CUctx_st {
  tenure::test::EmulatedGpu gpu;
};
/// Work of a stream's, written down.
struct CUgraph_st {
  struct Piece {
    tenure::test::Command command;
    std::string attached;
  };
  std::vector<Piece> pieces{};
};
struct CUgraphExec_st {
  CUgraph_st graph;
};
struct CUstream_st {
  tenure::test::EmulatedGpu* gpu;
  CUgraph_st* written = nullptr;  ///< where its work goes while it is captured
};
struct CUevent_st {
  tenure::test::EmulatedGpu* gpu;
  std::uint64_t number;
  std::int64_t* stamp;  ///< pinned: when the GPU came to it; nullptr: it has no times
};
struct CUmod_st {
  tenure::test::EmulatedGpu* gpu;
  std::uint64_t handle;
};
struct CUfunc_st {
  std::uint64_t address;
  unsigned most_shared_bytes = 48 << 10;
};

namespace tenure::test {

/// A GPU that has a context.
EmulatedGpu& gpu_at(int device);

/// That of this thread's context, where state() is CUDA_SUCCESS.
EmulatedGpu& current_gpu();

/// What every call with a context finds first.
CUresult state();

/// The same for calls that take memory, of which there may be none from some call on
/// (emulate_no_memory_after).
CUresult state_with_memory();

/// How a GPU ended.
CUresult fault_of(EmulatedGpu& gpu);

/// Gives a stream something to do, or writes it down while the stream is captured.
CUresult queue(CUstream_st& stream, const Command& command, const void* attached = nullptr);

}  // namespace tenure::test
