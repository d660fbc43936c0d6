#pragma once

#include <vector>

#include "tenure/ops/core/backend.h"

// Note: how the CPU gets a kernel for an op
//
// A struct with static members, in <family>/..._slots.cpp:
//
//   run(kernel)          the computation; fills kernel.out
//   workspace(kernel)    optional, like measure, direct and fusing (KernelSlot in backend.h)
//
// and kernel_row<Struct>("name of the op") in the list at the end of that file, which is declared
// below and joined in table.cpp. What both the record and the kernel need to know of a call, like
// the axes and sizes that its attributes stand for, is a header in ops/<family>, which knows no
// device.

namespace tenure::kernels {

/// The device that everything runs on. Lists the kernels below, by the names of their ops. In
/// table.cpp.
ops::Backend& cpu_backend();

/// A kernel and the op that it is for.
struct KernelRow {
  const char* op = nullptr;
  ops::KernelSlot slot{};
};

template <class Slot>
KernelRow kernel_row(const char* op) {
  return {op, ops::make_slot<Slot>()};
}

/// All kernels, in the order of table.cpp.
std::vector<KernelRow> cpu_kernels();

std::vector<KernelRow> arrange_kernels();    // index/arrange_slots.cpp
std::vector<KernelRow> attention_kernels();  // attention/attention_slots.cpp
std::vector<KernelRow> cell_kernels();       // recurrent/cell_slots.cpp
std::vector<KernelRow> conv_kernels();       // conv/conv_slots.cpp
std::vector<KernelRow> copy_kernels();       // move/move_slots.cpp
std::vector<KernelRow> creation_kernels();   // index/create_slots.cpp
std::vector<KernelRow> dropout_kernels();    // random/dropout_slots.cpp
std::vector<KernelRow> index_kernels();      // index/index_slots.cpp
std::vector<KernelRow> loss_kernels();       // loss/loss_slots.cpp
std::vector<KernelRow> matmul_kernels();     // gemm/matmul_slots.cpp
std::vector<KernelRow> norm_kernels();       // norm/norm_slots.cpp
std::vector<KernelRow> pool_kernels();       // pool/pool_slots.cpp
std::vector<KernelRow> random_kernels();     // random/random_slots.cpp
std::vector<KernelRow> reduce_kernels();     // reduce/reduce_slots.cpp
std::vector<KernelRow> sorting_kernels();    // sort/sort_slots.cpp
std::vector<KernelRow> update_kernels();     // optimizer/update_slots.cpp

}  // namespace tenure::kernels
