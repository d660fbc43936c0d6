#include "tenure/kernels/cuda/loops/cuda_loop.h"

#include <algorithm>
#include <cstring>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/print.h"

namespace tenure::kernels::cuda {
namespace {

/// Writes down the dimensions of a loop, with neighbours joined where every input walks over both
/// in one step.
void set_walk(StridedArguments& a, const Shape& shape, std::span<const Strides> strides) {
  a.rank = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const int last = a.rank - 1;
    bool joins = a.rank > 0;
    for (std::size_t i = 0; joins && i < strides.size(); ++i) {
      joins = a.strides[i][last] == strides[i][d] * shape[d];
    }
    const int at = joins ? last : a.rank++;
    a.shape[at] = joins ? a.shape[at] * shape[d] : shape[d];
    for (std::size_t i = 0; i < strides.size(); ++i) a.strides[i][at] = strides[i][d];
  }
}

const char* last_op(const ops::Loop& loop) {
  const auto found = std::find_if(loop.steps.rbegin(), loop.steps.rend(),
                                  [](const ops::LoopStep& step) { return step.op != nullptr; });
  return found == loop.steps.rend() ? "cast" : found->op->name;
}

bool is_multiple(const void* address, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

}  // namespace

CudaLoop::CudaLoop(Gpu& gpu, ops::Loop loop)
    : gpu_(gpu), loop_(std::move(loop)), op_(last_op(loop_)) {
  std::copy(loop_.in_types.begin(), loop_.in_types.end(), in_types_.begin());
}

CudaLoop::~CudaLoop() {
  for (const Variant* at = variants_.load(); at != nullptr;) {
    delete std::exchange(at, at->next);
  }
}

const CudaLoop::Variant& CudaLoop::variant(const InTypes& types) const {
  const auto find = [&]() -> const Variant* {
    const Variant* at = variants_.load(std::memory_order_acquire);
    while (at != nullptr && at->types != types) at = at->next;
    return at;
  };
  if (const Variant* const known = find()) return *known;
  gpu_.enter();
  const std::lock_guard lock(mutex_);
  if (const Variant* const known = find()) return *known;
  const std::span<const DType> given(types.data(), loop_.in_types.size());
  std::size_t widest = size_of(loop_.out_type());
  for (const DType type : given) widest = std::max(widest, size_of(type));
  const std::vector<Function> functions = gpu_.functions(print_loop(loop_, given));
  const auto* const made = new Variant{.types = types,
                                       .pack = 16 / widest,  // as pack_size in loop.cu
                                       .flat = functions[0],
                                       .strided = functions[1],
                                       .next = variants_.load(std::memory_order_relaxed)};
  variants_.store(made, std::memory_order_release);
  return *made;
}

/// False, and nothing done, where packs would not be aligned.
bool CudaLoop::try_flat(const Variant& variant, FlatArguments& a) const {
  bool is_aligned = is_multiple(a.out, variant.pack * size_of(loop_.out_type()));
  for (std::size_t i = 0; i < loop_.in_types.size(); ++i) {
    is_aligned = is_aligned && ((a.numbers >> i & 1) != 0 ||
                                is_multiple(a.in[i], variant.pack * size_of(variant.types[i])));
  }
  if (!is_aligned) return false;
  const auto threads = static_cast<std::int64_t>((a.n + variant.pack - 1) / variant.pack);
  gpu_.launch(op_, variant.flat, grid_over(threads, kLoopThreads), &a, sizeof a);
  return true;
}

/// In pieces of the first dimension where there are more elements than a kernel counts.
void CudaLoop::launch_strided(const Variant& variant, StridedArguments a) const {
  const auto n = static_cast<std::int64_t>(a.flat.n);
  if (n <= kMostStrided) {
    gpu_.launch(op_, variant.strided, grid_over(n, kLoopThreads), &a, sizeof a);
    return;
  }
  const std::int64_t rows = a.shape[0];
  const std::int64_t row = n / rows;
  const std::int64_t step = std::max<std::int64_t>(kMostStrided / row, 1);
  for (std::int64_t first = 0; first < rows; first += step) {
    StridedArguments piece = a;
    piece.shape[0] = std::min(step, rows - first);
    piece.flat.n = static_cast<std::uint64_t>(piece.shape[0] * row);
    piece.flat.out = static_cast<std::byte*>(a.flat.out) +
                     first * row * static_cast<std::int64_t>(size_of(loop_.out_type()));
    for (std::size_t i = 0; i < loop_.in_types.size(); ++i) {
      if ((a.flat.numbers >> i & 1) != 0) continue;
      piece.flat.in[i] =
          static_cast<const std::byte*>(a.flat.in[i]) +
          first * a.strides[i][0] * static_cast<std::int64_t>(size_of(variant.types[i]));
    }
    if (piece.shape[0] == 1) {  // the next dimension is the first
      --piece.rank;
      std::copy(piece.shape + 1, piece.shape + kMaxDims, piece.shape);
      for (auto& strides : piece.strides) std::copy(strides + 1, strides + kMaxDims, strides);
    }
    launch_strided(variant, piece);
  }
}

void CudaLoop::run_flat(const void* const* in, std::uint32_t numbers, void* out,
                        std::size_t n) const {
  if (n == 0) return;
  const std::size_t inputs = loop_.in_types.size();
  StridedArguments a;
  a.flat.n = n;
  a.flat.out = out;
  a.flat.numbers = numbers;
  for (std::size_t i = 0; i < inputs; ++i) {
    a.flat.in[i] = in[i];
    a.flat.values[i] = 0;
    if ((numbers >> i & 1) != 0) std::memcpy(&a.flat.values[i], in[i], size_of(in_types_[i]));
  }
  const Variant& kernels = variant(in_types_);
  if (try_flat(kernels, a.flat)) return;
  a.rank = 1;
  a.shape[0] = static_cast<std::int64_t>(n);
  for (std::size_t i = 0; i < inputs; ++i) a.strides[i][0] = 1;
  launch_strided(kernels, a);
}

void CudaLoop::run(const ops::LoopInputs& in, const ops::View& out) const {
  const std::int64_t n = out.count();
  if (n == 0) return;
  const std::size_t inputs = loop_.in_types.size();
  std::array<Strides, kLoopInputs> strides;
  InTypes types = in_types_;
  StridedArguments a;
  a.flat.n = static_cast<std::uint64_t>(n);
  a.flat.out = out.data;
  a.flat.numbers = in.numbers;
  bool is_flat = true;
  for (std::size_t i = 0; i < inputs; ++i) {
    const ops::View& view = in.views[i];
    a.flat.in[i] = view.data;
    a.flat.values[i] = 0;
    if ((in.numbers >> i & 1) != 0) {
      std::memcpy(&a.flat.values[i], view.data, size_of(in_types_[i]));
      strides[i] = Strides::filled(out.shape.size(), 0);
      continue;
    }
    types[i] = view.dtype;
    strides[i] = broadcast_strides(view.shape, view.strides, out.shape);
    is_flat = is_flat && view.shape == out.shape && view.contiguous();
  }
  const Variant& kernels = variant(types);
  if (is_flat && try_flat(kernels, a.flat)) return;
  set_walk(a, out.shape, {strides.data(), inputs});
  launch_strided(kernels, a);
}

}  // namespace tenure::kernels::cuda
