#pragma once

#include <vector>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/ops/core/backend.h"

// Note: how a GPU gets a kernel for an op
//
// In a room of this folder, <family>/:
//
//   fill_arguments.h   struct FillArguments: what a launch gives the kernel, plain data. Views are
//                      DeviceView (device_view() makes one). Host and device both include it.
//   fill.cu            template <class T> void fill(const FillArguments& a) { ... } in namespace
//                      tenure::kernels::cuda, after #include ".../device/prelude.cuh". Functions
//                      are the device's; loops over elements go by thread_index(). Atomics,
//                      shuffles,
//                      __shared__, __syncthreads() are CUDA's. Other files that it includes end in
//                      .cuh.
//   fill_slots.cpp     const TypedKernel kFill{file, "fill", "FillArguments", threads, {types}};
//                      a slot as on the CPU (kernels/cpu/table.h), whose run(k) computes grid and
//                      arguments, and launches:
//
//                        Gpu* const gpu = gpu_of(k);          // none: there are no elements
//                        if (gpu == nullptr) return;
//                        gpu->launch(k.op, kFill, k.out[0].dtype, grid_over(n, 256), arguments);
//
//                      and at its end Family fill_family() { return {{rows}, {&kFill}}; }, declared
//                      below and joined in table.cpp.
//
// All kernels of a family are in its list with all types: tests compile each with NVRTC for a real
// architecture, and run the ops on the emulated GPU (tests/cuda_emulator). What the host wants to
// know of elements goes through Gpu::ask (launch/gpu.h). A workspace is memory of the GPU's.
// Elementwise ops have no rows: their loops are printed from their bodies (loops/print.h).

namespace tenure::kernels::cuda {

class Gpu;

/// A kernel and the op that it is for.
struct Row {
  const char* op = nullptr;
  ops::KernelSlot slot{};
};
template <class Slot>
Row row(const char* op) {
  return {.op = op, .slot = ops::make_slot<Slot>()};
}

/// What a room has.
struct Family {
  std::vector<Row> rows{};
  std::vector<const TypedKernel*> kernels{};
};

/// All of them, in the order of table.cpp.
std::vector<Family> families();
/// Whether an op is elementwise, with a body in each type that it takes.
bool has_loops(const ops::OpRecord& op);

/// Makes a GPU known to memory/ and ops/, if it is not. Throws DeviceError. In table.cpp.
void add_gpu(int index);

Family arrange_family();     // arrange/arrange_slots.cpp
Family attention_family();   // attention/attention_slots.cpp
Family batch_norm_family();  // norm/batch_norm_slots.cpp
Family cell_family();        // recurrent/cell_slots.cpp
Family conv_family();        // conv/conv_slots.cpp
Family creation_family();    // create/create_slots.cpp
Family entropy_family();     // loss/entropy_slots.cpp
Family host_family();        // host/host_slots.cpp
Family index_family();       // index/index_slots.cpp
Family loss_family();        // loss/loss_slots.cpp
Family mask_family();        // index/mask_slots.cpp
Family move_family();        // move/move_slots.cpp
Family pool_family();        // pool/pool_slots.cpp
Family product_family();     // products/products_slots.cpp
Family random_family();      // random/random_slots.cpp
Family reduce_family();      // reduce/reduce_slots.cpp
Family row_norm_family();    // norm/row_slots.cpp
Family scan_family();        // scan/scan_slots.cpp
Family softmax_family();     // softmax/softmax_slots.cpp
Family sort_family();        // sort/sort_slots.cpp
Family update_family();      // optimizer/update_slots.cpp

}  // namespace tenure::kernels::cuda
