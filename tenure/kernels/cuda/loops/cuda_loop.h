#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::cuda {

class Gpu;

/// A loop as a GPU runs it: two kernels for each choice of its inputs' types, compiled when they
/// come first. One goes by vectors, where all inputs allow it; the other takes any layout.
class CudaLoop final : public ops::PreparedLoop {
 public:
  CudaLoop(Gpu& gpu, ops::Loop loop);
  ~CudaLoop() override;

  /// Throws DeviceError where a kernel cannot be compiled.
  void run(const ops::LoopInputs& in, const ops::View& out) const override;
  void run_flat(const void* const* in, std::uint32_t numbers, void* out,
                std::size_t n) const override;
  std::size_t bytes() const override { return sizeof *this + loop_.bytes(); }
  /// It beside a kernel (neighbours.h).
  Neighbour beside(const ops::LoopInputs& in, const Shape& shape, int vector) const;

 private:
  using InTypes = std::array<DType, kLoopInputs>;
  /// Of one choice of types; in a list, to which others are added in front.
  struct Variant {
    InTypes types{};
    std::int64_t size = 1;  ///< of a vector, in elements
    int vectors_at_once = 1;
    int elements_at_once = 1;
    Function vectors = nullptr;
    Function elements = nullptr;
    const Variant* next = nullptr;
  };
  /// The dimensions of a loop, the last of which is the innermost, and inputs' strides in elements.
  struct Walk {
    int rank = 0;
    std::int64_t shape[kMaxDims];
    std::array<std::int64_t, kLoopInputs> strides[kMaxDims];

    std::int64_t count() const;
  };
  const Variant& variant(const InTypes& types) const;
  const PrintedStruct& printed(const InTypes& types) const;
  Walk walk_over(const Shape& shape, const Strides* strides) const;
  Walk begin_reads(LoopReads& reads, InTypes& types, const ops::LoopInputs& in,
                   const Shape& shape) const;
  void set_input(LoopReads& reads, int i, const void* data) const;
  std::optional<std::uint32_t> repeated_in(const LoopReads& reads, const InTypes& types,
                                           const Walk& walk, std::int64_t vector) const;
  void set_nest(LoopReads& reads, const Walk& walk, std::int64_t vector) const;
  void run_walk(const Variant& variant, LoopArguments& arguments, const Walk& walk) const;
  void launch(const Variant& variant, LoopArguments& arguments, const Walk& walk) const;
  void launch_pieces(const Variant& variant, const LoopArguments& arguments,
                     const Walk& walk) const;
  int inputs() const { return static_cast<int>(loop_.in_types.size()); }

  Gpu& gpu_;
  const ops::Loop loop_;
  const char* op_;  ///< the last one, for messages
  InTypes in_types_{};
  mutable std::mutex mutex_;
  mutable std::atomic<const Variant*> variants_ = nullptr;
  mutable std::vector<std::pair<InTypes, const PrintedStruct*>> printed_;  ///< beside kernels
};

}  // namespace tenure::kernels::cuda
