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
unsigned emulated_cluster_size;
unsigned emulated_cluster_rank;
void emulated_block_barrier();
void emulated_cluster_barrier();
void* emulated_shared_of_block(unsigned rank);
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
  unsigned thread = 0;    ///< of its block
  unsigned block = 0;     ///< of its cluster
  enum class State { ended, ready, at_barrier, at_cluster, in_warp } state = State::ended;
  unsigned mask = 0;            ///< of the lanes that it waits for
  const void* where = nullptr;  ///< it waits
  std::deque<LateCopy> copies{};
  unsigned groups = 0;  ///< of them that have an end
  std::deque<EmulatedProducts> products{};
  unsigned product_groups = 0;
};

struct Warp {
  unsigned threads = 0;
  std::vector<Fiber*> fibers{};  ///< those that have not ended at once
  unsigned arrived = 0;
  std::array<std::uint64_t, kLanes> brought{};
  std::array<std::uint64_t, kLanes> exchanged{};
};

/// The blocks of a cluster, most often one, from `first` on.
class Cluster {
 public:
  void run(EmulatedKernel kernel, const void* arguments, const Command& launch, Index first,
           std::span<void* const> shared) {
    kernel_ = kernel;
    arguments_ = arguments;
    first_ = first;
    shared_ = shared;
    const unsigned threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
    warps_of_block_ = (threads + kLanes - 1) / kLanes;
    warps_.assign(warps_of_block_ * shared.size(), Warp());
    live_.assign(shared.size(), threads);
    // A thread that ends at once leaves its stack to the next one.
    std::size_t used = 0;
    for (const unsigned thread : any_order(threads * shared.size())) {
      Fiber& fiber = fiber_at(used);
      begin(fiber, thread % threads, thread / threads);
      go_on(fiber);
      if (fiber.state != Fiber::State::ended) ++used;
    }
    for (unsigned i = 0; i < warps_.size(); ++i) {
      warps_[i].threads = std::min(threads - i % warps_of_block_ * kLanes, kLanes);
    }
    for (std::size_t i = 0; i < used; ++i) warp_of(*fibers_[i]).fibers.push_back(fibers_[i].get());
    while (std::any_of(live_.begin(), live_.end(), [](unsigned left) { return left > 0; })) {
      bool has_moved = false;
      for (const unsigned warp : any_order(warps_.size())) {  // as far as each gets
        while (go_on_with(warp)) has_moved = true;
      }
      for (unsigned block = 0; block < live_.size(); ++block) {
        if (pass_barrier(used, Fiber::State::at_barrier, block)) has_moved = true;
      }
      if (pass_barrier(used, Fiber::State::at_cluster, kAll) || has_moved) continue;
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
    enter_block(current_->block);
  }
  Fiber& current() { return *current_; }
  Warp& warp() { return warp_of(*current_); }
  unsigned lane() const { return current_->thread % kLanes; }
  void* shared_of(unsigned block) const { return shared_[block]; }

 private:
  static constexpr unsigned kAll = ~0u;

  Warp& warp_of(const Fiber& fiber) {
    return warps_[fiber.block * warps_of_block_ + fiber.thread / kLanes];
  }
  void enter_block(unsigned block) const {
    emulated_block_index = {first_.x + block, first_.y, first_.z};
    emulated_shared_memory = shared_[block];
    emulated_cluster_rank = block;
  }
  Fiber& fiber_at(std::size_t i) {
    if (i == fibers_.size()) {
      fibers_.push_back(std::make_unique<Fiber>());
      fibers_[i]->stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (fibers_[i]->stack == MAP_FAILED) std::abort();
    }
    return *fibers_[i];
  }
  void begin(Fiber& fiber, unsigned thread, unsigned block) {
    fiber.thread = thread;
    fiber.block = block;
    fiber.state = Fiber::State::ready;
    fiber.copies.clear();
    fiber.groups = 0;
    fiber.products.clear();
    fiber.product_groups = 0;
    // As emulated_switch leaves it: registers, then where to return to.
    auto* top = reinterpret_cast<std::uint64_t*>(static_cast<char*>(fiber.stack) + kStackBytes);
    *--top = 0;  // a function finds its stack 8 bytes off
    *--top = reinterpret_cast<std::uint64_t>(&Cluster::enter);
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
    const unsigned all = warp.threads == kLanes ? ~0u : (1u << warp.threads) - 1;
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
  /// Where all threads of a block, or of all blocks, that are left have come to.
  bool pass_barrier(std::size_t used, Fiber::State barrier, unsigned block) {
    const auto all = std::span(fibers_).first(used);
    const auto waits = [&](const auto& fiber) {
      return fiber->state == barrier && (block == kAll || fiber->block == block);
    };
    const auto waiting = static_cast<unsigned>(std::count_if(all.begin(), all.end(), waits));
    const unsigned left =
        block == kAll ? std::accumulate(live_.begin(), live_.end(), 0u) : live_[block];
    if (waiting == 0 || waiting != left) return false;
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
  Index first_{};
  std::span<void* const> shared_;
  unsigned warps_of_block_ = 0;
  std::vector<unsigned> live_;  ///< threads of each block that have not ended
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  void* scheduler_ = nullptr;
};

Cluster& cluster() {
  static auto& one = *new Cluster;
  return one;
}

void Cluster::enter() {
  Cluster& b = cluster();
  const unsigned thread = b.current_->thread;
  b.enter_block(b.current_->block);
  const Index size = emulated_block_size;
  emulated_thread_index = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
  b.kernel_(b.arguments_);
  --b.live_[b.current_->block];
  b.current_->state = Fiber::State::ended;
  void* nowhere = nullptr;
  emulated_switch(&nowhere, b.scheduler_);
}

/// Static shared memory of the kernels of a module, which those of clusters do not have: its
/// variables without a value, as those in the GPU's memory have one (device_code.h). It is mapped
/// from a file of bytes that are no numbers, so that what a block wrote is gone at little cost.
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
  // Of a block, with something behind it that is nobody's.
  const std::size_t room = (launch.shared_bytes + kMultiple) / kMultiple * kMultiple;
  std::vector<char> shared(room * launch.cluster + kMultiple);
  const auto at = reinterpret_cast<std::uintptr_t>(shared.data());
  std::vector<void*> shared_of_blocks;
  for (unsigned i = 0; i < launch.cluster; ++i) {
    shared_of_blocks.push_back(
        reinterpret_cast<void*>((at + kMultiple - 1) / kMultiple * kMultiple + i * room));
  }
  emulated_cluster_size = launch.cluster;
  emulated_grid_size = {launch.blocks[0], launch.blocks[1], launch.blocks[2]};
  emulated_block_size = {launch.threads[0], launch.threads[1], launch.threads[2]};
  const unsigned across = launch.blocks[0] / launch.cluster;
  const std::size_t clusters = std::size_t{across} * launch.blocks[1] * launch.blocks[2];
  for (const unsigned number : any_order(clusters)) {
    const unsigned line = number / across;
    const Index first{number % across * launch.cluster, line % launch.blocks[1],
                      line / launch.blocks[1]};
    std::memset(shared.data(), kNothing, shared.size());
    static_shared.clear();
    cluster().run(kernel, arguments, launch, first, shared_of_blocks);
  }
}

}  // namespace tenure::test

void emulated_block_barrier() {
  tenure::test::cluster().wait(tenure::test::Fiber::State::at_barrier, 0,
                               __builtin_return_address(0));
}

void emulated_cluster_barrier() {
  tenure::test::cluster().wait(tenure::test::Fiber::State::at_cluster, 0,
                               __builtin_return_address(0));
}

void* emulated_shared_of_block(unsigned rank) { return tenure::test::cluster().shared_of(rank); }

const std::uint64_t* emulated_warp_exchange(unsigned mask, std::uint64_t value) {
  tenure::test::Cluster& block = tenure::test::cluster();
  tenure::test::Warp& warp = block.warp();
  if ((mask >> block.lane() & 1) == 0) emulated_fault("a lane is not in its own mask");
  warp.brought[block.lane()] = value;
  warp.arrived |= 1u << block.lane();
  block.wait(tenure::test::Fiber::State::in_warp, mask, __builtin_return_address(0));
  return warp.exchanged.data();
}

void emulated_begin_copy(void* to, const void* from, unsigned bytes, unsigned room) {
  tenure::test::cluster().current().copies.push_back({to, from, bytes, room});
  std::memset(to, tenure::test::kNothing, room);
}

void emulated_end_copies() {
  tenure::test::Fiber& fiber = tenure::test::cluster().current();
  fiber.copies.push_back({});
  ++fiber.groups;
}

void emulated_wait_for_copies(unsigned others) {
  tenure::test::Fiber& fiber = tenure::test::cluster().current();
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
  tenure::test::cluster().current().products.push_back(products);
}

void emulated_end_products() {
  tenure::test::Fiber& fiber = tenure::test::cluster().current();
  fiber.products.push_back({});
  ++fiber.product_groups;
}

void emulated_wait_for_products(unsigned others) {
  tenure::test::Fiber& fiber = tenure::test::cluster().current();
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
