#include "tenure/kernels/cpu/recurrent/cells.h"

#include <array>

#include "tenure/kernels/cpu/move/matrices.h"
#include "tenure/kernels/cpu/recurrent/cell_rows.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 12;  // hidden units
constexpr std::size_t kMaxIn = 5;
constexpr std::size_t kMaxOut = 3;

template <class T>
std::size_t bytes_of(std::span<const View> in, std::span<const View> out) {
  Room room;
  for (const View& view : in) Matrices<T>(view, 1).take(room);
  for (const View& view : out) Matrices<T>(view, 1).take(room);
  return room.used();
}

/// The state, which has one element for each unit, is the third input of all cells.
template <class T>
void run(typename CellRows<T>::Row row, std::span<const View> in, std::span<const View> out,
         std::span<std::byte> workspace) {
  const std::int64_t units = in[2].shape.back();
  if (in[2].count() == 0) return;
  Room room(workspace.data());
  std::array<Matrix<const T>, kMaxIn> sources;
  std::array<Matrix<T>, kMaxOut> targets;
  std::array<T*, kMaxOut> copies{};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Matrices<T> matrix(in[i], 1);
    sources[i] = matrix.read(0, matrix.take(room));
  }
  for (std::size_t o = 0; o < out.size(); ++o) {
    const Matrices<T> matrix(out[o], 1);
    copies[o] = matrix.take(room);
    targets[o] = matrix.target(0, copies[o]);
  }
  parallel_for(in[2].shape[0], (kGrain - 1) / units + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::array<const T*, kMaxIn> from{};
      std::array<T*, kMaxOut> to{};
      for (std::size_t i = 0; i < in.size(); ++i) from[i] = sources[i].at(r);
      for (std::size_t o = 0; o < out.size(); ++o) to[o] = targets[o].at(r);
      row(from.data(), to.data(), units);
    }
  });
  for (std::size_t o = 0; o < out.size(); ++o) Matrices<T>(out[o], 1).write(0, copies[o]);
}

/// Runs the row function that `member` names.
template <auto member, auto double_member>
void dispatch(std::span<const View> in, std::span<const View> out, std::span<std::byte> workspace) {
  if (in[0].dtype == DType::float64) {
    return run<double>(find_cell_rows(double{}).*double_member, in, out, workspace);
  }
  run<float>(find_cell_rows(float{}).*member, in, out, workspace);
}

}  // namespace

std::size_t cell_workspace(std::span<const View> in, std::span<const View> out) {
  return in[0].dtype == DType::float64 ? bytes_of<double>(in, out) : bytes_of<float>(in, out);
}

void lstm_cell(std::span<const View> in, std::span<const View> out,
               std::span<std::byte> workspace) {
  dispatch<&CellRows<float>::lstm, &CellRows<double>::lstm>(in, out, workspace);
}
void lstm_cell_gradient(std::span<const View> in, std::span<const View> out,
                        std::span<std::byte> workspace) {
  dispatch<&CellRows<float>::lstm_gradient, &CellRows<double>::lstm_gradient>(in, out, workspace);
}
void gru_cell(std::span<const View> in, std::span<const View> out, std::span<std::byte> workspace) {
  dispatch<&CellRows<float>::gru, &CellRows<double>::gru>(in, out, workspace);
}
void gru_cell_gradient(std::span<const View> in, std::span<const View> out,
                       std::span<std::byte> workspace) {
  dispatch<&CellRows<float>::gru_gradient, &CellRows<double>::gru_gradient>(in, out, workspace);
}

}  // namespace tenure::kernels
