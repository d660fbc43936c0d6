#include "tenure/kernels/cuda/loops/cuda_loop.h"

#include <algorithm>
#include <cstring>

#include "tenure/base/error.h"
#include "tenure/kernels/cuda/device/vector_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/print.h"
#include "tenure/kernels/cuda/places/small_nest.h"

namespace tenure::kernels::cuda {
namespace {

const char* last_op(const ops::Loop& loop) {
  const auto found = std::find_if(loop.steps.rbegin(), loop.steps.rend(),
                                  [](const ops::LoopStep& step) { return step.op != nullptr; });
  return found == loop.steps.rend() ? "cast" : found->op->name;
}

bool is_multiple(const void* address, std::int64_t elements, DType type) {
  return reinterpret_cast<std::uintptr_t>(address) %
             (static_cast<std::size_t>(elements) * size_of(type)) ==
         0;
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
  std::size_t all = 0;
  for (const DType type : given) {
    widest = std::max(widest, size_of(type));
    all += size_of(type);
  }
  const std::size_t size = kVectorBytes / widest;
  const std::vector<Function> functions = gpu_.functions(print_loop(loop_, given));
  const auto* const made = new Variant{.types = types,
                                       .size = static_cast<std::int64_t>(size),
                                       .vectors_at_once = steps_at_once(size * all),
                                       .elements_at_once = steps_at_once(all),
                                       .vectors = functions[0],
                                       .elements = functions[1],
                                       .next = variants_.load(std::memory_order_relaxed)};
  variants_.store(made, std::memory_order_release);
  return *made;
}

std::int64_t CudaLoop::Walk::count() const {
  std::int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= shape[d];
  return n;
}

/// With neighbours joined where every input walks over both in one step.
CudaLoop::Walk CudaLoop::walk_over(const Shape& shape, const Strides* strides) const {
  Walk walk;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const int last = walk.rank - 1;
    bool joins = walk.rank > 0;
    for (int i = 0; joins && i < inputs(); ++i) {
      joins = walk.strides[last][static_cast<std::size_t>(i)] == strides[i][d] * shape[d];
    }
    const int at = joins ? last : walk.rank++;
    walk.shape[at] = joins ? walk.shape[at] * shape[d] : shape[d];
    for (int i = 0; i < inputs(); ++i)
      walk.strides[at][static_cast<std::size_t>(i)] = strides[i][d];
  }
  if (walk.rank == 0) {
    walk.rank = 1;
    walk.shape[0] = 1;
    walk.strides[0].fill(1);
  }
  return walk;
}

/// Which inputs have one element for all of a vector, numbers too; nullopt: some input is not read
/// by vectors.
std::optional<std::uint32_t> CudaLoop::repeated_in(const LoopReads& reads, const InTypes& types,
                                                   const Walk& walk, std::int64_t vector) const {
  const int last = walk.rank - 1;
  if (last > 0 && walk.shape[last] % vector != 0) return std::nullopt;
  std::uint32_t repeated = reads.numbers;
  for (int i = 0; i < inputs(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if ((reads.numbers >> i & 1) != 0) continue;
    if (walk.strides[last][at] == 0) {
      repeated |= 1u << i;
      continue;
    }
    if (walk.strides[last][at] != 1 || !is_multiple(reads.in[i], vector, types[at])) {
      return std::nullopt;
    }
    for (int d = 0; d < last; ++d) {
      if (walk.strides[d][at] % vector != 0) return std::nullopt;
    }
  }
  return repeated;
}

/// A step is `vector` elements.
void CudaLoop::set_nest(LoopReads& reads, const Walk& walk, std::int64_t vector) const {
  const int last = walk.rank - 1;
  std::int64_t steps[kLoopInputs];
  for (int i = 0; i < inputs(); ++i) {
    steps[i] = walk.strides[last][static_cast<std::size_t>(i)] * vector;
  }
  begin_nest(reads.nest, walk.shape[last] / vector, steps, inputs());
  for (int d = last - 1; d >= 0; --d) {
    add_outer_loop(reads.nest, walk.shape[d], walk.strides[d].data(), inputs());
  }
}

/// Of as many elements as a kernel counts.
void CudaLoop::launch(const Variant& variant, LoopArguments& a, const Walk& walk) const {
  const std::optional<std::uint32_t> repeated =
      is_multiple(a.out, variant.size, loop_.out_type())
          ? repeated_in(a, variant.types, walk, variant.size)
          : std::nullopt;
  const std::int64_t size = repeated ? variant.size : 1;
  a.repeated = repeated.value_or(a.numbers);
  a.rest = static_cast<std::uint32_t>(walk.shape[walk.rank - 1] % size);
  set_nest(a, walk, size);
  gpu_.launch(op_, repeated ? variant.vectors : variant.elements,
              grid_of_steps(a.nest.count, kLoopThreads,
                            repeated ? variant.vectors_at_once : variant.elements_at_once),
              &a, sizeof a);
}

/// Along the first dimension.
void CudaLoop::launch_pieces(const Variant& variant, const LoopArguments& a,
                             const Walk& walk) const {
  const std::int64_t row = walk.count() / walk.shape[0];
  // Pieces begin where vectors do.
  const std::int64_t step = std::max<std::int64_t>(kMostSmallSteps / row / 64 * 64, 1);
  for (std::int64_t first = 0; first < walk.shape[0]; first += step) {
    LoopArguments piece = a;
    Walk part = walk;
    part.shape[0] = std::min(step, walk.shape[0] - first);
    piece.out = static_cast<std::byte*>(a.out) +
                first * row * static_cast<std::int64_t>(size_of(loop_.out_type()));
    for (int i = 0; i < inputs(); ++i) {
      if ((a.numbers >> i & 1) != 0) continue;
      piece.in[i] =
          static_cast<const std::byte*>(a.in[i]) +
          first * walk.strides[0][static_cast<std::size_t>(i)] *
              static_cast<std::int64_t>(size_of(variant.types[static_cast<std::size_t>(i)]));
    }
    if (part.shape[0] == 1 && part.rank > 1) {  // the next dimension is the first
      --part.rank;
      std::copy(walk.shape + 1, walk.shape + walk.rank, part.shape);
      std::copy(walk.strides + 1, walk.strides + walk.rank, part.strides);
    }
    run_walk(variant, piece, part);
  }
}

void CudaLoop::run_walk(const Variant& variant, LoopArguments& a, const Walk& walk) const {
  if (walk.count() > kMostSmallSteps) return launch_pieces(variant, a, walk);
  launch(variant, a, walk);
}

void CudaLoop::run_flat(const void* const* in, std::uint32_t numbers, void* out,
                        std::size_t n) const {
  if (n == 0) return;
  LoopArguments a;
  a.out = out;
  a.numbers = numbers;
  Walk walk;
  walk.rank = 1;
  walk.shape[0] = static_cast<std::int64_t>(n);
  for (int i = 0; i < inputs(); ++i) {
    walk.strides[0][static_cast<std::size_t>(i)] = (numbers >> i & 1) != 0 ? 0 : 1;
    set_input(a, i, in[i]);
  }
  run_walk(variant(in_types_), a, walk);
}

/// Where the inputs are, of which types, and how a loop goes over them.
CudaLoop::Walk CudaLoop::begin_reads(LoopReads& reads, InTypes& types, const ops::LoopInputs& in,
                                     const Shape& shape) const {
  std::array<Strides, kLoopInputs> strides;
  reads.numbers = in.numbers;
  types = in_types_;
  for (int i = 0; i < inputs(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const ops::View& view = in.views[at];
    set_input(reads, i, view.data);
    if ((in.numbers >> i & 1) != 0) {
      strides[at] = Strides::filled(shape.size(), 0);
    } else {
      types[at] = view.dtype;
      strides[at] = broadcast_strides(view.shape, view.strides, shape);
    }
  }
  return walk_over(shape, strides.data());
}

void CudaLoop::run(const ops::LoopInputs& in, const ops::View& out) const {
  if (out.count() == 0) return;
  InTypes types;
  LoopArguments a;
  a.out = out.data;
  const Walk walk = begin_reads(a, types, in, out.shape);
  run_walk(variant(types), a, walk);
}

Neighbour CudaLoop::beside(const ops::LoopInputs& in, const Shape& shape, int vector) const {
  InTypes types;
  Neighbour neighbour;
  NeighbourReads& reads = neighbour.reads;
  const Walk walk = begin_reads(reads, types, in, shape);
  internal_check(walk.count() <= kMostSmallSteps, "a loop beside a kernel has small numbers");
  const std::optional<std::uint32_t> repeated = repeated_in(reads, types, walk, vector);
  reads.is_by_vectors = repeated.has_value();
  reads.repeated = repeated.value_or(reads.numbers);
  set_nest(reads, walk, 1);
  neighbour.loop = &printed(types);
  return neighbour;
}

const PrintedStruct& CudaLoop::printed(const InTypes& types) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, one] : printed_) {
    if (known == types) return *one;
  }
  const std::span<const DType> given(types.data(), loop_.in_types.size());
  return *printed_.emplace_back(types, &print_struct(loop_, given)).second;
}

/// An input, or a number's bytes.
void CudaLoop::set_input(LoopReads& reads, int i, const void* data) const {
  reads.in[i] = data;
  reads.values[i] = 0;
  if ((reads.numbers >> i & 1) != 0) {
    std::memcpy(&reads.values[i], data, size_of(in_types_[static_cast<std::size_t>(i)]));
  }
}

Neighbour neighbour_of(const ops::PreparedLoop& loop, const ops::LoopInputs& in, const Shape& shape,
                       int vector) {
  return static_cast<const CudaLoop&>(loop).beside(in, shape, vector);
}

}  // namespace tenure::kernels::cuda
