#include "tests/cuda_emulator/block.h"

#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Index {
  unsigned x, y, z;
};

extern "C" {
Index emulated_thread_index;
Index emulated_block_index;
Index emulated_block_size;
Index emulated_grid_size;
void* emulated_shared_memory;
void emulated_block_barrier();
const std::uint64_t* emulated_warp_exchange(unsigned mask, std::uint64_t value);
void emulated_switch(void** save, void* to);
}

// Saves the registers that functions keep, and goes on where `to` was saved.
asm(R"(
.globl emulated_switch
.type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace tenure::test {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr unsigned kLanes = 32;

/// One stack, and the thread that is on it now.
struct Fiber {
  void* stack = nullptr;
  void* place = nullptr;  ///< where it goes on
  unsigned thread = 0;
  enum class State { ended, ready, at_barrier, in_warp } state = State::ended;
  unsigned mask = 0;  ///< of the lanes that it waits for
};

struct Warp {
  unsigned arrived = 0;
  std::array<std::uint64_t, kLanes> brought{};
  std::array<std::uint64_t, kLanes> exchanged{};
};

class Block {
 public:
  void run(EmulatedKernel kernel, const void* arguments, unsigned threads) {
    kernel_ = kernel;
    arguments_ = arguments;
    threads_ = threads;
    warps_.assign((threads + kLanes - 1) / kLanes, Warp());
    live_ = threads;
    // A thread that ends at once leaves its stack to the next one.
    std::size_t used = 0;
    for (unsigned thread = 0; thread < threads; ++thread) {
      Fiber& fiber = fiber_at(used);
      begin(fiber, thread);
      go_on(fiber);
      if (fiber.state != Fiber::State::ended) ++used;
    }
    while (live_ > 0) {
      release(used);
      bool has_moved = false;
      for (std::size_t i = 0; i < used; ++i) {
        if (fibers_[i]->state != Fiber::State::ready) continue;
        has_moved = true;
        go_on(*fibers_[i]);
      }
      if (!has_moved) {
        std::fputs("emulated GPU: threads wait for each other for ever\n", stderr);
        std::abort();
      }
    }
  }

  void wait(Fiber::State state, unsigned mask) {
    current_->state = state;
    current_->mask = mask;
    const Index index = emulated_thread_index;
    emulated_switch(&current_->place, scheduler_);
    emulated_thread_index = index;
  }
  Warp& warp() { return warps_[current_->thread / kLanes]; }
  unsigned lane() const { return current_->thread % kLanes; }

 private:
  Fiber& fiber_at(std::size_t i) {
    if (i == fibers_.size()) {
      fibers_.push_back(std::make_unique<Fiber>());
      fibers_[i]->stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (fibers_[i]->stack == MAP_FAILED) std::abort();
    }
    return *fibers_[i];
  }
  void begin(Fiber& fiber, unsigned thread) {
    fiber.thread = thread;
    fiber.state = Fiber::State::ready;
    // As emulated_switch leaves it: registers, then where to return to.
    auto* top = reinterpret_cast<std::uint64_t*>(static_cast<char*>(fiber.stack) + kStackBytes);
    *--top = 0;  // a function finds its stack 8 bytes off
    *--top = reinterpret_cast<std::uint64_t>(&Block::enter);
    for (int i = 0; i < 6; ++i) *--top = 0;
    fiber.place = top;
  }
  static void enter();
  void go_on(Fiber& fiber) {
    current_ = &fiber;
    emulated_switch(&scheduler_, fiber.place);
  }
  /// Lets those go on that wait for nothing more.
  void release(std::size_t used) {
    unsigned at_barrier = 0;
    for (std::size_t i = 0; i < used; ++i) {
      at_barrier += fibers_[i]->state == Fiber::State::at_barrier ? 1 : 0;
    }
    for (std::size_t i = 0; i < used; ++i) {
      Fiber& fiber = *fibers_[i];
      if (fiber.state == Fiber::State::at_barrier && at_barrier == live_) {
        fiber.state = Fiber::State::ready;
      }
      if (fiber.state != Fiber::State::in_warp) continue;
      Warp& warp = warps_[fiber.thread / kLanes];
      const unsigned rest = threads_ - fiber.thread / kLanes * kLanes;  // the last warp is smaller
      const unsigned mask = rest >= kLanes ? fiber.mask : fiber.mask & ((1u << rest) - 1);
      if ((warp.arrived & mask) != mask) continue;
      warp.exchanged = warp.brought;
      warp.arrived &= ~mask;
      for (std::size_t k = 0; k < used; ++k) {
        Fiber& other = *fibers_[k];
        if (other.state == Fiber::State::in_warp &&
            other.thread / kLanes == fiber.thread / kLanes &&
            (mask >> other.thread % kLanes & 1) != 0) {
          other.state = Fiber::State::ready;
        }
      }
    }
  }

  EmulatedKernel kernel_ = nullptr;
  const void* arguments_ = nullptr;
  unsigned threads_ = 0;
  unsigned live_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  void* scheduler_ = nullptr;
};

Block& block() {
  static auto& one = *new Block;
  return one;
}

void Block::enter() {
  Block& b = block();
  const unsigned thread = b.current_->thread;
  const Index size = emulated_block_size;
  emulated_thread_index = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
  b.kernel_(b.arguments_);
  --b.live_;
  b.current_->state = Fiber::State::ended;
  void* nowhere = nullptr;
  emulated_switch(&nowhere, b.scheduler_);
}

}  // namespace

void run_grid(EmulatedKernel kernel, const void* arguments, const Command& launch) {
  std::vector<char> shared(launch.shared_bytes + 16);
  auto at = reinterpret_cast<std::uintptr_t>(shared.data());
  emulated_shared_memory = reinterpret_cast<void*>((at + 15) / 16 * 16);
  emulated_grid_size = {launch.blocks[0], launch.blocks[1], launch.blocks[2]};
  emulated_block_size = {launch.threads[0], launch.threads[1], launch.threads[2]};
  const unsigned threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
  for (unsigned z = 0; z < launch.blocks[2]; ++z) {
    for (unsigned y = 0; y < launch.blocks[1]; ++y) {
      for (unsigned x = 0; x < launch.blocks[0]; ++x) {
        emulated_block_index = {x, y, z};
        block().run(kernel, arguments, threads);
      }
    }
  }
}

}  // namespace tenure::test

void emulated_block_barrier() {
  tenure::test::block().wait(tenure::test::Fiber::State::at_barrier, 0);
}

const std::uint64_t* emulated_warp_exchange(unsigned mask, std::uint64_t value) {
  tenure::test::Block& block = tenure::test::block();
  tenure::test::Warp& warp = block.warp();
  warp.brought[block.lane()] = value;
  warp.arrived |= 1u << block.lane();
  block.wait(tenure::test::Fiber::State::in_warp, mask);
  return warp.exchanged.data();
}
