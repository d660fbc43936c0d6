#include "tests/cuda_emulator/block.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
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
void emulated_begin_copy(void* to, const void* from, unsigned bytes, unsigned room);
void emulated_end_copies();
void emulated_wait_for_copies(unsigned others);
struct EmulatedProducts {
  void (*make)(const EmulatedProducts&);  ///< nullptr: the end of a group
  float* sums;
  bool is_sum;
  unsigned own_left[4];
  std::uint64_t left;
  std::uint64_t right;
};
void emulated_begin_products(const EmulatedProducts& products);
void emulated_end_products();
void emulated_wait_for_products(unsigned others);
[[noreturn]] void emulated_fault(const char* what);
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

/// The order in which blocks, warps and lanes get their turns, which no kernel may rely on: one
/// that lacks a barrier gives other results here. It is the same in each process.
std::mt19937& chance() {
  static auto& one = *new std::mt19937(1);
  return one;
}
std::vector<unsigned> any_order(std::size_t n) {
  std::vector<unsigned> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), chance());
  return order;
}

/// What is nobody's holds no numbers.
constexpr int kNothing = 0xff;

/// A copy that a thread began, or the end of a group of them.
struct LateCopy {
  void* to;  ///< nullptr: the end
  const void* from;
  unsigned bytes;
  unsigned room;
};

/// One stack, and the thread that is on it now.
struct Fiber {
  void* stack = nullptr;
  void* place = nullptr;  ///< where it goes on
  unsigned thread = 0;
  enum class State { ended, ready, at_barrier, in_warp } state = State::ended;
  unsigned mask = 0;            ///< of the lanes that it waits for
  const void* where = nullptr;  ///< it waits
  std::deque<LateCopy> copies{};
  unsigned groups = 0;  ///< of them that have an end
  std::deque<EmulatedProducts> products{};
  unsigned product_groups = 0;
};

struct Warp {
  std::vector<Fiber*> fibers{};  ///< those that have not ended at once
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
    for (const unsigned thread : any_order(threads)) {
      Fiber& fiber = fiber_at(used);
      begin(fiber, thread);
      go_on(fiber);
      if (fiber.state != Fiber::State::ended) ++used;
    }
    for (std::size_t i = 0; i < used; ++i) {
      warps_[fibers_[i]->thread / kLanes].fibers.push_back(fibers_[i].get());
    }
    while (live_ > 0) {
      bool has_moved = false;
      for (const unsigned warp : any_order(warps_.size())) {  // as far as each gets
        while (go_on_with(warp)) has_moved = true;
      }
      if (pass_barrier(used) || has_moved) continue;
      emulated_fault("threads wait for each other for ever");
    }
  }

  void wait(Fiber::State state, unsigned mask, const void* where) {
    current_->state = state;
    current_->mask = mask;
    current_->where = where;
    const Index index = emulated_thread_index;
    emulated_switch(&current_->place, scheduler_);
    emulated_thread_index = index;
  }
  Fiber& current() { return *current_; }
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
    fiber.copies.clear();
    fiber.groups = 0;
    fiber.products.clear();
    fiber.product_groups = 0;
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
  /// Has those lanes of a warp go on that wait for nothing more. False: there are none.
  bool go_on_with(unsigned number) {
    Warp& warp = warps_[number];
    const unsigned rest = threads_ - number * kLanes;  // the last warp is smaller
    const unsigned all = rest >= kLanes ? ~0u : (1u << rest) - 1;
    for (const Fiber* const fiber : warp.fibers) {
      const unsigned mask = fiber->mask & all;
      if (fiber->state != Fiber::State::in_warp || (warp.arrived & mask) != mask) continue;
      warp.exchanged = warp.brought;
      warp.arrived &= ~mask;
      for (Fiber* const other : warp.fibers) {
        if (other->state != Fiber::State::in_warp || (mask >> other->thread % kLanes & 1) == 0) {
          continue;
        }
        if ((other->mask & all) != mask || other->where != fiber->where) {
          emulated_fault("lanes wait for each other in different places, or with other masks");
        }
        other->state = Fiber::State::ready;
      }
    }
    bool has_moved = false;
    for (const unsigned i : any_order(warp.fibers.size())) {
      if (warp.fibers[i]->state != Fiber::State::ready) continue;
      has_moved = true;
      go_on(*warp.fibers[i]);
    }
    return has_moved;
  }
  /// Where all threads that are left have come to.
  bool pass_barrier(std::size_t used) {
    const auto all = std::span(fibers_).first(used);
    const auto waits = [](const auto& fiber) { return fiber->state == Fiber::State::at_barrier; };
    const auto waiting = static_cast<unsigned>(std::count_if(all.begin(), all.end(), waits));
    if (waiting == 0 || waiting != live_) return false;
    const void* where = nullptr;
    for (const auto& fiber : all) {
      if (!waits(fiber)) continue;
      if (where != nullptr && fiber->where != where) {
        emulated_fault("threads of a block wait at different barriers");
      }
      where = fiber->where;
      fiber->state = Fiber::State::ready;
    }
    return true;
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

/// Static shared memory of the kernels of a module: its variables without a value, as those in the
/// GPU's memory have one (device_code.h). It is mapped from a file of bytes that are no numbers, so
/// that what a block wrote is gone at little cost.
class StaticShared {
 public:
  explicit StaticShared(const void* module) {
    const auto base = reinterpret_cast<std::uintptr_t>(module);
    const auto* const header = static_cast<const Elf64_Ehdr*>(module);
    const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(base + header->e_phoff);
    for (int i = 0; i < header->e_phnum; ++i) {
      const Elf64_Phdr& segment = segments[i];
      if (segment.p_type != PT_LOAD || segment.p_memsz <= segment.p_filesz) continue;
      begin_ = base + segment.p_vaddr + segment.p_filesz;
      end_ = base + segment.p_vaddr + segment.p_memsz;
    }
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    first_page_ = std::min((begin_ + page - 1) / page * page, end_);
    if (first_page_ == end_) return;
    pages_ = (end_ - first_page_ + page - 1) / page * page;
    const int file = memfd_create("static shared memory", MFD_CLOEXEC);
    const std::vector<char> nothing(pages_, static_cast<char>(kNothing));
    if (write(file, nothing.data(), pages_) != static_cast<ssize_t>(pages_) ||
        mmap(reinterpret_cast<void*>(first_page_), pages_, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) {
      std::abort();
    }
    close(file);
  }

  void clear() const {
    std::memset(reinterpret_cast<void*>(begin_), kNothing, first_page_ - begin_);
    if (pages_ > 0) madvise(reinterpret_cast<void*>(first_page_), pages_, MADV_DONTNEED);
  }

 private:
  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;
  std::uintptr_t first_page_ = 0;
  std::size_t pages_ = 0;
};

const StaticShared& static_shared_of(EmulatedKernel kernel) {
  static auto& modules = *new std::map<const void*, StaticShared>;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(kernel), &info) == 0) std::abort();
  return modules.try_emplace(info.dli_fbase, info.dli_fbase).first->second;
}

}  // namespace

void run_grid(EmulatedKernel kernel, const void* arguments, const Command& launch) {
  const StaticShared& static_shared = static_shared_of(kernel);
  constexpr std::size_t kMultiple = 1024;
  std::vector<char> shared(launch.shared_bytes + kMultiple);
  auto at = reinterpret_cast<std::uintptr_t>(shared.data());
  emulated_shared_memory = reinterpret_cast<void*>((at + kMultiple - 1) / kMultiple * kMultiple);
  emulated_grid_size = {launch.blocks[0], launch.blocks[1], launch.blocks[2]};
  emulated_block_size = {launch.threads[0], launch.threads[1], launch.threads[2]};
  const unsigned threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
  const std::size_t blocks = std::size_t{launch.blocks[0]} * launch.blocks[1] * launch.blocks[2];
  for (const unsigned number : any_order(blocks)) {
    const unsigned line = number / launch.blocks[0];
    emulated_block_index = {number % launch.blocks[0], line % launch.blocks[1],
                            line / launch.blocks[1]};
    std::memset(shared.data(), kNothing, shared.size());
    static_shared.clear();
    block().run(kernel, arguments, threads);
  }
}

}  // namespace tenure::test

void emulated_block_barrier() {
  tenure::test::block().wait(tenure::test::Fiber::State::at_barrier, 0,
                             __builtin_return_address(0));
}

const std::uint64_t* emulated_warp_exchange(unsigned mask, std::uint64_t value) {
  tenure::test::Block& block = tenure::test::block();
  tenure::test::Warp& warp = block.warp();
  if ((mask >> block.lane() & 1) == 0) emulated_fault("a lane is not in its own mask");
  warp.brought[block.lane()] = value;
  warp.arrived |= 1u << block.lane();
  block.wait(tenure::test::Fiber::State::in_warp, mask, __builtin_return_address(0));
  return warp.exchanged.data();
}

void emulated_begin_copy(void* to, const void* from, unsigned bytes, unsigned room) {
  tenure::test::block().current().copies.push_back({to, from, bytes, room});
  std::memset(to, tenure::test::kNothing, room);
}

void emulated_end_copies() {
  tenure::test::Fiber& fiber = tenure::test::block().current();
  fiber.copies.push_back({});
  ++fiber.groups;
}

void emulated_wait_for_copies(unsigned others) {
  tenure::test::Fiber& fiber = tenure::test::block().current();
  while (fiber.groups > others) {
    const tenure::test::LateCopy copy = fiber.copies.front();
    fiber.copies.pop_front();
    if (copy.to == nullptr) {
      --fiber.groups;
      continue;
    }
    std::memset(copy.to, 0, copy.room);
    if (copy.bytes != 0) std::memcpy(copy.to, copy.from, copy.bytes);
  }
}

void emulated_begin_products(const EmulatedProducts& products) {
  tenure::test::block().current().products.push_back(products);
}

void emulated_end_products() {
  tenure::test::Fiber& fiber = tenure::test::block().current();
  fiber.products.push_back({});
  ++fiber.product_groups;
}

void emulated_wait_for_products(unsigned others) {
  tenure::test::Fiber& fiber = tenure::test::block().current();
  while (fiber.product_groups > others) {
    const EmulatedProducts products = fiber.products.front();
    fiber.products.pop_front();
    if (products.make == nullptr) {
      --fiber.product_groups;
    } else {
      products.make(products);
    }
  }
}

void emulated_fault(const char* what) {
  std::fprintf(stderr, "emulated GPU: %s\n", what);
  std::abort();
}
