#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/recurrent/cell_arguments.h"
#include "tenure/kernels/cuda/table.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kCellThreads = 256;

TypedKernel cell_kernel(const char* function) {
  return {"tenure/kernels/cuda/recurrent/cell.cu",
          function,
          "CellArguments",
          kCellThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
const TypedKernel kLstm = cell_kernel("lstm_cell");
const TypedKernel kLstmGradient = cell_kernel("lstm_cell_gradient");
const TypedKernel kGru = cell_kernel("gru_cell");
const TypedKernel kGruGradient = cell_kernel("gru_cell_gradient");

CellMatrix cell_matrix(const View& view) {
  return {.data = view.data, .row = view.strides[0], .column = view.strides[1]};
}

/// The state, which has one element for each unit, is the third input of all cells.
template <const TypedKernel& kKernel>
struct CellSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.in[2].count() == 0) return;
    CellArguments a{};
    a.rows = k.in[2].shape[0];
    a.units = k.in[2].shape[1];
    for (std::size_t i = 0; i < k.in.size(); ++i) a.in[i] = cell_matrix(k.in[i]);
    for (std::size_t o = 0; o < k.out.size(); ++o) a.out[o] = cell_matrix(k.out[o]);
    gpu->launch(k.op, kKernel, k.in[0].dtype, grid_over(a.rows * a.units, kCellThreads), a);
  }
};

}  // namespace

Family cell_family() {
  return {{row<CellSlot<kLstm>>("lstm_cell"), row<CellSlot<kLstmGradient>>("lstm_cell_gradient"),
           row<CellSlot<kGru>>("gru_cell"), row<CellSlot<kGruGradient>>("gru_cell_gradient")},
          {&kLstm, &kLstmGradient, &kGru, &kGruGradient}};
}

}  // namespace tenure::kernels::cuda
