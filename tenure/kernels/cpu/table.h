#pragma once

#include <vector>

#include "tenure/kernels/cpu/elementwise/body.h"
#include "tenure/kernels/threads/call_threads.h"
#include "tenure/ops/core/backend.h"

// Note: how the CPU gets a kernel for an op
//
// A struct with static members, in <family>/..._slots.cpp:
//
//   run(kernel)          the computation; fills kernel.out
//   workspace(kernel)    optional, like measure, direct, fusing and packing (KernelSlot in
//   backend.h)
//
// and kernel_row<Struct>("name of the op") in the list at the end of that file, which is declared
// below and joined in table.cpp. What both the record and the kernel need to know of a call, like
// the axes and sizes that its attributes stand for, is a header in ops/<family>, which knows no
// device. Elementwise ops have their bodies in ops/elementwise: a list there is a list here.

namespace tenure::kernels {

/// The device that is always there. Finds the kernels below by the names of their ops. In
/// table.cpp.
ops::Backend& cpu_backend();

/// A kernel and the op that it is for.
struct KernelRow {
  const char* op = nullptr;
  ops::KernelSlot slot{};
  const Bodies* bodies = nullptr;  ///< of an elementwise op
};

template <class Slot>
KernelRow kernel_row(const char* op) {
  KernelRow row{.op = op, .slot = ops::make_slot<Slot>()};
  row.slot.run = [](const ops::Kernel& kernel) {
    const CallThreads call(kernel);
    Slot::run(kernel);
  };
  return row;
}

/// All kernels, in the order of table.cpp.
std::vector<KernelRow> cpu_kernels();
/// How an elementwise op is computed in a type; none if it is not. In table.cpp.
Body cpu_body(const ops::OpRecord& op, DType compute);

std::vector<KernelRow> activation_kernels();     // elementwise/activation.cpp
std::vector<KernelRow> arithmetic_kernels();     // elementwise/arithmetic.cpp
std::vector<KernelRow> arrange_kernels();        // index/arrange_slots.cpp
std::vector<KernelRow> attention_kernels();      // attention/attention_slots.cpp
std::vector<KernelRow> cell_kernels();           // recurrent/cell_slots.cpp
std::vector<KernelRow> comparison_kernels();     // elementwise/comparison.cpp
std::vector<KernelRow> conv_kernels();           // conv/conv_slots.cpp
std::vector<KernelRow> copy_kernels();           // move/move_slots.cpp
std::vector<KernelRow> creation_kernels();       // index/create_slots.cpp
std::vector<KernelRow> decomposition_kernels();  // linalg/decompose_slots.cpp
std::vector<KernelRow> derivative_kernels();     // elementwise/derivatives.cpp
std::vector<KernelRow> dropout_kernels();        // random/dropout_slots.cpp
std::vector<KernelRow> exponential_kernels();    // elementwise/exponential.cpp
std::vector<KernelRow> fft_kernels();            // fft/fft_slots.cpp
std::vector<KernelRow> index_kernels();          // index/index_slots.cpp
std::vector<KernelRow> logic_kernels();          // elementwise/logic.cpp
std::vector<KernelRow> loss_kernels();           // loss/loss_slots.cpp
std::vector<KernelRow> matmul_kernels();         // gemm/matmul_slots.cpp
std::vector<KernelRow> norm_kernels();           // norm/norm_slots.cpp
std::vector<KernelRow> pool_kernels();           // pool/pool_slots.cpp
std::vector<KernelRow> random_kernels();         // random/random_slots.cpp
std::vector<KernelRow> reduce_kernels();         // reduce/reduce_slots.cpp
std::vector<KernelRow> selection_kernels();      // elementwise/selection.cpp
std::vector<KernelRow> solving_kernels();        // linalg/solve_slots.cpp
std::vector<KernelRow> sorting_kernels();        // sort/sort_slots.cpp
std::vector<KernelRow> special_kernels();        // elementwise/trigonometric.cpp
std::vector<KernelRow> trigonometric_kernels();  // elementwise/trigonometric.cpp
std::vector<KernelRow> update_kernels();         // optimizer/update_slots.cpp

}  // namespace tenure::kernels
