#include "tenure/kernels/cuda/loops/cuda_loop.h"

#include <algorithm>
#include <cstring>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
#include "tenure/kernels/cuda/loops/print.h"

namespace tenure::kernels::cuda {
namespace {

/// The dimensions of a loop, with neighbours joined where every input walks over both in one step.
struct Walk {
  int rank = 0;
  std::int64_t shape[kMaxDims] = {};
  std::int64_t strides[kLoopInputs][kMaxDims] = {};
};

Walk walk_over(const Shape& shape, std::span<const Strides> strides) {
  Walk walk;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const int last = walk.rank - 1;
    bool joins = walk.rank > 0;
    for (std::size_t i = 0; joins && i < strides.size(); ++i) {
      joins = walk.strides[i][last] == strides[i][d] * shape[d];
    }
    const int at = joins ? last : walk.rank++;
    walk.shape[at] = joins ? walk.shape[at] * shape[d] : shape[d];
    for (std::size_t i = 0; i < strides.size(); ++i) walk.strides[i][at] = strides[i][d];
  }
  return walk;
}

const char* last_op(const ops::Loop& loop) {
  const auto found = std::find_if(loop.steps.rbegin(), loop.steps.rend(),
                                  [](const ops::LoopStep& step) { return step.op != nullptr; });
  return found == loop.steps.rend() ? "cast" : found->op->name;
}

}  // namespace

CudaLoop::CudaLoop(Gpu& gpu, const ops::Loop& loop)
    : gpu_(gpu), op_(last_op(loop)), in_types_(loop.in_types), out_type_(loop.out_type()) {
  std::size_t widest = size_of(out_type_);
  for (const DType type : in_types_) widest = std::max(widest, size_of(type));
  pack_ = 16 / widest;
  const std::vector<Function> functions = gpu.functions(print_loop(loop));
  flat_ = functions[0];
  strided_ = functions[1];
}

void CudaLoop::run_flat(const void* const* in, std::uint32_t numbers, void* out,
                        std::size_t n) const {
  if (n == 0) return;
  FlatArguments a;
  a.n = n;
  a.out = out;
  a.numbers = numbers;
  bool is_aligned = reinterpret_cast<std::uintptr_t>(out) % (pack_ * size_of(out_type_)) == 0;
  for (std::size_t i = 0; i < in_types_.size(); ++i) {
    a.in[i] = in[i];
    a.values[i] = 0;
    if ((numbers >> i & 1) != 0) {
      std::memcpy(&a.values[i], in[i], size_of(in_types_[i]));
    } else {
      is_aligned &= reinterpret_cast<std::uintptr_t>(in[i]) % (pack_ * size_of(in_types_[i])) == 0;
    }
  }
  if (is_aligned) {
    const auto threads = static_cast<std::int64_t>((n + pack_ - 1) / pack_);
    gpu_.launch(op_, flat_, grid_over(threads, kLoopThreads), &a, sizeof a);
    return;
  }
  StridedArguments s;
  s.flat = a;
  s.rank = 1;
  s.shape[0] = static_cast<std::int64_t>(n);
  for (std::size_t i = 0; i < in_types_.size(); ++i) {
    s.types[i] = static_cast<std::uint8_t>(in_types_[i]);
    s.strides[i][0] = 1;
  }
  gpu_.launch(op_, strided_, grid_over(s.shape[0], kLoopThreads), &s, sizeof s);
}

void CudaLoop::run(const ops::LoopInputs& in, const ops::View& out) const {
  const std::int64_t n = out.count();
  if (n == 0) return;
  const std::size_t inputs = in_types_.size();
  std::array<Strides, kLoopInputs> strides;
  std::array<const void*, kLoopInputs> data;
  bool is_flat = true;
  for (std::size_t i = 0; i < inputs; ++i) {
    const ops::View& view = in.views[i];
    data[i] = view.data;
    if ((in.numbers >> i & 1) != 0) {
      strides[i] = Strides::filled(out.shape.size(), 0);
      continue;
    }
    strides[i] = broadcast_strides(view.shape, view.strides, out.shape);
    is_flat = is_flat && view.dtype == in_types_[i] && view.shape == out.shape && view.contiguous();
  }
  if (is_flat) {
    return run_flat(data.data(), in.numbers, out.data, static_cast<std::size_t>(n));
  }
  StridedArguments s;
  s.flat.n = static_cast<std::uint64_t>(n);
  s.flat.out = out.data;
  s.flat.numbers = in.numbers;
  const Walk walk = walk_over(out.shape, {strides.data(), inputs});
  s.rank = walk.rank;
  std::copy_n(walk.shape, kMaxDims, s.shape);
  for (std::size_t i = 0; i < inputs; ++i) {
    s.flat.in[i] = data[i];
    s.flat.values[i] = 0;
    if ((in.numbers >> i & 1) != 0) {
      std::memcpy(&s.flat.values[i], data[i], size_of(in_types_[i]));
    }
    s.types[i] = static_cast<std::uint8_t>(in.views[i].dtype);
    std::copy_n(walk.strides[i], kMaxDims, s.strides[i]);
  }
  gpu_.launch(op_, strided_, grid_over(n, kLoopThreads), &s, sizeof s);
}

}  // namespace tenure::kernels::cuda
