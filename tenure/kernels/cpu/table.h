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
// and row<Struct>("name of the op") in the list at the end of that file, which is declared below
// and joined in table.cpp. What both the record and the kernel need to know of a call, like the
// axes and sizes that its attributes stand for, is a header in ops/<family>, which knows no device.

namespace tenure::kernels {

/// The device that everything runs on. Lists the kernels below, by the names of their ops. In
/// table.cpp.
ops::Backend& cpu_backend();

/// A kernel and the op that it is for.
struct Row {
  const char* op = nullptr;
  ops::KernelSlot slot{};
};

template <class Slot>
Row row(const char* op) {
  Row made{.op = op};
  made.slot.run = Slot::run;
  if constexpr (requires { Slot::workspace; }) made.slot.workspace = Slot::workspace;
  if constexpr (requires { Slot::measure; }) made.slot.measure = Slot::measure;
  if constexpr (requires { Slot::direct; }) made.slot.direct = &Slot::direct;
  if constexpr (requires { Slot::fusing; }) made.slot.fusing = &Slot::fusing;
  return made;
}

/// All kernels, in the order of table.cpp.
std::vector<Row> cpu_kernels();

std::vector<Row> matmul_kernels();  // gemm/matmul_slots.cpp

}  // namespace tenure::kernels
