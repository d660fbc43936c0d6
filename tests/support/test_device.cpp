#include "tests/support/test_device.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/thread_limit.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/ops/shape/transfer.h"
#include "tests/support/mark_clock.h"

namespace tenure::test {
namespace {

ops::Backend& host_backend() { return ops::backend(cpu); }

}  // namespace

/// A call that the device has taken over: nothing of it is the host's any more.
class TestDevice::Work {
 public:
  Work(const TestDevice& device, const Entry& entry, const ops::Kernel& kernel)
      : entry_(entry),
        op_(kernel.op),
        attributes_(kernel.attributes),
        workspace_(kernel.workspace.empty()
                       ? std::span<std::byte>()
                       : std::span(device.memory_.shadow_of(kernel.workspace.data()),
                                   kernel.workspace.size())),
        adds_(kernel.adds),
        threads_(num_threads()) {
    for (const ops::View& view : kernel.in) in_.push_back(device.memory_.shadow_of(view));
    for (const ops::View& view : kernel.out) out_.push_back(device.memory_.shadow_of(view));
  }
  ops::Kernel kernel() const {
    return {.op = op_,
            .in = in_,
            .out = out_,
            .attributes = attributes_,
            .workspace = workspace_,
            .adds = adds_};
  }
  void run() const {
    const ThreadLimit limit(threads_);
    entry_.host->run(kernel());
  }
  ops::Specs measure() const {
    const ThreadLimit limit(threads_);
    return entry_.host->measure(kernel());
  }

 private:
  const Entry entry_;
  const char* op_;
  const ops::Attributes attributes_;
  std::vector<ops::View> in_;
  std::vector<ops::View> out_;
  std::span<std::byte> workspace_;
  bool adds_;
  int threads_;
};

/// What a loop reads and writes, taken over from the host: numbers are copied.
class TestDevice::LoopWork {
 public:
  LoopWork(const TestDevice& device, const ops::LoopInputs& in) : numbers_(in.numbers) {
    for (std::size_t i = 0; i < in.views.size(); ++i) {
      const ops::View& view = in.views[i];
      if ((numbers_ >> i & 1) == 0) {
        views_.push_back(device.memory_.shadow_of(view));
        continue;
      }
      const auto* const first = static_cast<const std::byte*>(view.data);
      const std::size_t bytes = static_cast<std::size_t>(view.count()) * size_of(view.dtype);
      copies_.emplace_back(first, first + bytes);
      views_.push_back(view);
      views_.back().data = copies_.back().data();
    }
  }
  ops::LoopInputs inputs() const { return {views_, numbers_}; }

 private:
  std::vector<ops::View> views_;
  std::deque<std::vector<std::byte>> copies_;
  std::uint32_t numbers_;
};

/// The CPU's loop, in the queue.
class TestDevice::TestLoop final : public ops::PreparedLoop {
 public:
  TestLoop(std::size_t device, std::shared_ptr<const ops::PreparedLoop> host, ops::Loop loop)
      : device_(device), host_(std::move(host)), loop_(std::move(loop)) {}

  void run(const ops::LoopInputs& in, const ops::View& out) const override {
    TestDevice& device = test_device(device_);
    // The loop itself may end before its work does.
    device.queue_.enqueue([host = host_, work = std::make_shared<LoopWork>(device, in),
                           out = device.memory_.shadow_of(out), threads = num_threads()] {
      const ThreadLimit limit(threads);
      host->run(work->inputs(), out);
    });
  }
  void run_flat(const void* const* in, std::uint32_t numbers, void* out,
                std::size_t n) const override {
    const Shape shape{static_cast<std::int64_t>(n)};
    const auto view = [&](DType dtype, const void* data) {
      return ops::View{
          .dtype = dtype, .shape = shape, .strides = {1}, .data = const_cast<void*>(data)};
    };
    std::vector<ops::View> views;
    for (std::size_t i = 0; i < loop_.in_types.size(); ++i) {
      views.push_back(view(loop_.in_types[i], in[i]));
    }
    run({views, numbers}, view(loop_.out_type(), out));
  }
  std::size_t bytes() const override { return host_->bytes(); }
  const std::shared_ptr<const ops::PreparedLoop>& host() const { return host_; }

 private:
  std::size_t device_;
  std::shared_ptr<const ops::PreparedLoop> host_;
  ops::Loop loop_;
};

TestDevice::TestDevice(Device device) : device_(device) {
  static_assert(kTestDevices == 2);
  device.index == 0 ? write_table<0>(std::make_index_sequence<kEntries>())
                    : write_table<1>(std::make_index_sequence<kEntries>());
}

// A slot has plain functions, which know nothing of the op and the device that they are for: there
// is one of each for each place in each table, and all they do is to name the place.

template <std::size_t device, std::size_t i>
struct TestDevice::Place {
  static void run(const ops::Kernel& kernel) { test_device(device).run_kernel(i, kernel); }
  static ops::Specs measure(const ops::Kernel& kernel) {
    return test_device(device).measure(i, kernel);
  }
  static void check(const char* op, DType compute, const ops::LoopInputs& in) {
    test_device(device).check(i, op, compute, in);
  }
  static void run_fused(const ops::Kernel& kernel, const ops::FusedNeighbours& neighbours) {
    test_device(device).run_fused(i, kernel, neighbours);
  }
};

template <std::size_t device, std::size_t... i>
void TestDevice::write_table(std::index_sequence<i...>) {
  struct Functions {
    void (*run)(const ops::Kernel&);
    ops::Specs (*measure)(const ops::Kernel&);
    void (*check)(const char*, DType, const ops::LoopInputs&);
    void (*run_fused)(const ops::Kernel&, const ops::FusedNeighbours&);
  };
  static constexpr Functions kTable[] = {{Place<device, i>::run, Place<device, i>::measure,
                                          Place<device, i>::check, Place<device, i>::run_fused}...};
  for (std::size_t n = 0; n < kEntries; ++n) {
    entries_[n].slot = {
        .run = kTable[n].run, .measure = kTable[n].measure, .check = kTable[n].check};
    entries_[n].fusing = {.run = kTable[n].run_fused};
  }
}

ops::Specs TestDevice::measure(std::size_t place, const ops::Kernel& kernel) {
  const Work work(*this, entries_[place], kernel);
  ops::Specs specs{};
  queue_.run_and_wait([&] { specs = work.measure(); });
  return specs;
}

template <class Run>
void TestDevice::enqueue_with_loops(const Entry& entry, const ops::Kernel& kernel,
                                    const ops::FusedNeighbours& neighbours, const Run& run) {
  const auto host_of = [](const ops::PreparedLoop* loop) {
    return loop == nullptr ? nullptr : static_cast<const TestLoop*>(loop)->host();
  };
  queue_.enqueue([run, work = std::make_shared<Work>(*this, entry, kernel),
                  before = host_of(neighbours.before), after = host_of(neighbours.after),
                  before_in = std::make_shared<LoopWork>(*this, neighbours.before_inputs),
                  after_in = std::make_shared<LoopWork>(*this, neighbours.after_inputs),
                  shape = neighbours.after_shape, threads = num_threads()] {
    const ThreadLimit limit(threads);
    run(work->kernel(), ops::FusedNeighbours{.before = before.get(),
                                             .before_inputs = before_in->inputs(),
                                             .after = after.get(),
                                             .after_inputs = after_in->inputs(),
                                             .after_shape = shape});
  });
}

void TestDevice::run_fused(std::size_t place, const ops::Kernel& kernel,
                           const ops::FusedNeighbours& neighbours) {
  enqueue_with_loops(
      entries_[place], kernel, neighbours,
      [host = entries_[place].host](const ops::Kernel& work, const ops::FusedNeighbours& loops) {
        host->fusing->run(work, loops);
      });
}

const TestDevice::Entry& TestDevice::entry_of(const ops::KernelSlot& slot) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return &entry.slot == &slot; });
  if (found == entries_.end()) give_up("a slot is not the device's");
  return *found;
}

void TestDevice::pack(const ops::KernelSlot& slot, const ops::View& input, std::byte* to) {
  queue_.enqueue([host = entry_of(slot).host, from = memory_.shadow_of(input),
                  to = memory_.shadow_of(to)] { host->packing->pack(from, to); });
}

void TestDevice::run_packed(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                            const std::byte* packed, const ops::FusedNeighbours& neighbours,
                            int threads) {
  const ThreadLimit limit(threads);  // which work in the queue keeps to
  const Entry& entry = entry_of(slot);
  enqueue_with_loops(entry, kernel, neighbours,
                     [host = entry.host, packed = memory_.shadow_of(packed)](
                         const ops::Kernel& work, const ops::FusedNeighbours& loops) {
                       host->packing->run(work, packed, loops);
                     });
}

void TestDevice::check(std::size_t place, const char* op, DType compute,
                       const ops::LoopInputs& in) {
  const LoopWork work(*this, in);
  queue_.run_and_wait([&] { entries_[place].host->check(op, compute, work.inputs()); });
}

const ops::KernelSlot* TestDevice::find(const ops::OpRecord& op) const {
  const ops::KernelSlot* const host = ops::find_kernel(op, cpu);
  if (host == nullptr) return nullptr;
  const std::lock_guard lock(entries_mutex_);
  const std::size_t number = numbers_.emplace(&op, numbers_.size()).first->second;
  if (number >= kEntries) give_up("too many ops");
  Entry& entry = entries_[number];
  entry.host = host;
  // It throws what its kernel throws; one that came with its op, and is in no table, may anything.
  entry.waits = op.may_fail || host_backend().find(op) == nullptr;
  entry.is_transfer = std::string_view(op.name) == "copy_to";
  entry.slot.adds = host->adds;
  entry.slot.packing = host->packing;
  entry.slot.workspace = entry.is_transfer ? nullptr : host->workspace;
  if (host->measure == nullptr) entry.slot.measure = nullptr;
  if (host->check == nullptr) entry.slot.check = nullptr;
  if (host->fusing != nullptr) {
    entry.fusing.takes_loop = host->fusing->takes_loop;
    entry.fusing.leads_loop = host->fusing->leads_loop;
    entry.slot.fusing = &entry.fusing;
  }
  return &entry.slot;
}

ops::LoopLimits TestDevice::loop_limits() const { return host_backend().loop_limits(); }
ops::WorkRates TestDevice::work_rates() const { return host_backend().work_rates(); }
std::int64_t TestDevice::alignment() const { return host_backend().alignment(); }

std::shared_ptr<const ops::PreparedLoop> TestDevice::prepare(const ops::Loop& loop) const {
  auto host = host_backend().prepare(loop);
  if (host == nullptr) return nullptr;
  ++prepared_;
  return std::make_shared<const TestLoop>(device_.index, std::move(host), loop);
}

int TestDevice::threads() const { return host_backend().threads(); }

std::size_t TestDevice::workspace(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                                  int threads) const {
  return host_backend().workspace(slot, kernel, threads);
}

void TestDevice::run(const ops::KernelSlot& slot, const ops::Kernel& kernel, int threads) {
  host_backend().run(slot, kernel, threads);  // which work in the queue keeps to
}

void TestDevice::run_fused(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                           const ops::FusedNeighbours& neighbours, int threads) {
  host_backend().run_fused(slot, kernel, neighbours, threads);
}

std::int64_t TestDevice::find_not_finite(const ops::View& view) {
  std::int64_t found = -1;
  queue_.run_and_wait([&] { found = host_backend().find_not_finite(memory_.shadow_of(view)); });
  return found;
}

void TestDevice::run_kernel(std::size_t place, const ops::Kernel& kernel) {
  const Entry& entry = entries_[place];
  if (entry.is_transfer) return run_transfer(kernel);
  auto work = std::make_shared<Work>(*this, entry, kernel);
  if (entry.waits) return queue_.run_and_wait([&] { work->run(); });
  queue_.enqueue([work = std::move(work)] { work->run(); });
}

void TestDevice::run_transfer(const ops::Kernel& kernel) {
  const Device target = ops::transfer_target(kernel.attributes);
  if (target == device_) return copy(kernel.out[0], kernel.in[0]);
  const ops::View from = memory_.shadow_of(kernel.in[0]);
  if (target == cpu) return queue_.run_and_wait([&] { kernels::copy(from, kernel.out[0]); });
  // By way of the host, as devices do that cannot reach each other's memory.
  const std::size_t bytes = static_cast<std::size_t>(from.count()) * size_of(from.dtype);
  std::vector<std::byte> room(bytes);
  queue_.run_and_wait([&] {
    kernels::copy(from, {.dtype = from.dtype,
                         .shape = from.shape,
                         .strides = contiguous_strides(from.shape),
                         .data = room.data()});
  });
  ops::backend(target).write(kernel.out[0].data, room.data(), bytes);
}

void TestDevice::copy(const ops::View& to, const ops::View& from) {
  queue_.enqueue(
      [to = memory_.shadow_of(to), from = memory_.shadow_of(from)] { kernels::copy(from, to); });
}

void TestDevice::read(void* host, const void* from, std::size_t bytes) {
  if (bytes == 0) return wait();
  const std::byte* const shadow = memory_.shadow_of(from);
  queue_.run_and_wait([&] { std::memcpy(host, shadow, bytes); });
}

void TestDevice::write(void* to, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  const auto* const first = static_cast<const std::byte*>(host);
  queue_.enqueue(
      [shadow = memory_.shadow_of(to), copy = std::vector<std::byte>(first, first + bytes)] {
        std::memcpy(shadow, copy.data(), copy.size());
      });
}

void TestDevice::wait() { queue_.wait(); }

void* TestDevice::map(std::size_t bytes) noexcept { return memory_.take(bytes); }

void TestDevice::unmap(void* begin, std::size_t bytes) noexcept {
  purge(begin, bytes);
  memory_.give_back(begin, bytes);
}

// In the queue's order, like everything else. Whoever calls it has the lock of the heap, which work
// that ends may wait for: so this does not wait.
bool TestDevice::purge(void* begin, std::size_t bytes) noexcept {
  queue_.enqueue([this, begin, bytes] { memory_.empty(begin, bytes); }, false);
  return true;
}

TestDevice::Room TestDevice::room() noexcept {
  return {.taken = memory_.taken() + outside_, .total = ShadowMemory::kCapacity};
}

std::unique_ptr<ops::QueueClock> TestDevice::make_clock() {
  return std::make_unique<MarkClock>(queue_);
}

TestDevice& test_device(std::size_t index) {
  // Those of one index are made apart from the other's: whoever asks for one has one.
  static const auto make = [](Device device) -> TestDevice& {
    auto& made = *new TestDevice(device);
    mem::add_device(device, made);
    ops::add_backend(device, made);
    return made;
  };
  if (index == 0) {
    static TestDevice& first = make(kTestDevice);
    return first;
  }
  static TestDevice& second = make(kOtherTestDevice);
  return second;
}

}  // namespace tenure::test
