#include "tenure/kernels/threads/call_threads.h"

#include <algorithm>

#include "tenure/kernels/parallel.h"
#include "tenure/kernels/threads/workers.h"

namespace tenure::kernels {
namespace {

using Clock = std::chrono::steady_clock;

/// The same for calls of one op on inputs of the same types and sizes.
std::uint64_t number_of(const ops::Kernel& kernel, int most) noexcept {
  std::uint64_t number =
      mixed(static_cast<std::uint64_t>(most), reinterpret_cast<std::uintptr_t>(kernel.op));
  for (const ops::View& view : kernel.in) {
    number = mixed(number, static_cast<std::uint64_t>(view.dtype));
    for (const std::int64_t size : view.shape) {
      number = mixed(number, static_cast<std::uint64_t>(size));
    }
  }
  return number;
}

}  // namespace

thread_local constinit CallThreads* CallThreads::now_ = nullptr;

void CallThreads::choose() noexcept {
  most_ = std::min(num_threads(), kMaxShares);
  choice_ = &choice_of(number_of(kernel_, most_));
  turn_ = choice_->next(most_);
  threads_ = ThreadChoice::threads(most_, turn_.halvings);
  if (turn_.is_timed) begin_ = Clock::now();
}

void CallThreads::tell() noexcept {
  const std::chrono::duration<float, std::nano> time = Clock::now() - begin_;
  choice_->took(turn_, most_, time.count());
}

}  // namespace tenure::kernels
