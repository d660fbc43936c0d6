#pragma once

#include <memory>

#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/elementwise/fused.h"
#include "tenure/ops/core/backend.h"

namespace tenure::kernels {

/// A loop as the CPU runs it: what it takes from the bodies of its ops, whole where it is one op,
/// tile by tile where it is several.
class CpuLoop final : public ops::PreparedLoop {
 public:
  /// `fused` went through prepare().
  explicit CpuLoop(Fused fused);

  void run(const ops::LoopInputs& in, const View& out) const override;
  void run_flat(const void* const* in, std::uint32_t numbers, void* out,
                std::size_t n) const override;
  std::size_t bytes() const override;

  const Fused& fused() const { return fused_; }

 private:
  void run_many(const void* const* in, void* out, std::size_t n) const;

  Body::Loop body_ = nullptr;  ///< of a loop that is this and nothing else
  std::size_t few_ = 0;        ///< elements that run_flat computes at once, on one thread
  bool is_single_ = false;     ///< one op, perhaps with a conversion of its result
  Elementwise single_{};
  Fused fused_;
};

/// The bodies of an op by the type that it computes in, those of users' ops among them.
using FindBody = Body (*)(const ops::OpRecord& op, DType compute);

/// nullptr: it has too many inputs or tiles.
std::shared_ptr<const ops::PreparedLoop> prepare_loop(const ops::Loop& loop, FindBody find);

/// What a kernel of the CPU is fused with: the CPU has prepared it.
inline const Fused& fused_of(const ops::PreparedLoop& loop) {
  return static_cast<const CpuLoop&>(loop).fused();
}

}  // namespace tenure::kernels
