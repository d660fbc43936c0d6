#include "tenure/kernels/cpu/recurrent/cells.h"
#include "tenure/kernels/cpu/table.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

template <auto compute>
struct CellSlot {
  static std::size_t workspace(const Kernel& k) { return cell_workspace(k.in, k.out); }
  static void run(const Kernel& k) { compute(k.in, k.out, k.workspace); }
};

}  // namespace

std::vector<KernelRow> cell_kernels() {
  return {kernel_row<CellSlot<lstm_cell>>("lstm_cell"),
          kernel_row<CellSlot<lstm_cell_gradient>>("lstm_cell_gradient"),
          kernel_row<CellSlot<gru_cell>>("gru_cell"),
          kernel_row<CellSlot<gru_cell_gradient>>("gru_cell_gradient")};
}

}  // namespace tenure::kernels
