#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/memory/threads/thread_context.h"
#include "tenure/tensor/pending.h"
#include "tests/support/sanitized.h"

// Tensors that share, lack or borrow their memory, made without any op; and threads.

namespace tenure::test {

/// A tensor of `bytes` bytes on `device` that nobody wrote to.
inline Tensor room_on(Device device, std::int64_t bytes, Site site = Site::current()) {
  const Shape shape{bytes};
  PendingTensor pending(mem::this_thread(), device, DType::uint8, shape);
  return pending.finish("room", site);
}
inline Tensor room(std::int64_t bytes, Site site = Site::current()) {
  return room_on(cpu, bytes, site);
}

/// A second tensor on the storage of `tensor`.
inline Tensor share(const Tensor& tensor, Site site = Site::current()) {
  TensorBody& body = tensor.body("share()", site);
  const Pin pin(body, "share()", site);
  pin.storage()->retain();
  return make_tensor(mem::this_thread(), pin.storage(), body.dtype, body.shape, body.strides,
                     body.offset, "share", site, HolderKind::view);
}

/// A tensor in memory of the caller's.
inline Tensor borrow(std::vector<float>& memory, std::function<void(void*)> deleter,
                     Site site = Site::current()) {
  mem::ThreadContext& context = mem::this_thread();
  const Shape shape{static_cast<std::int64_t>(memory.size())};
  return make_tensor(context,
                     mem::Storage::adopt(context, memory.data(), memory.size() * sizeof(float),
                                         std::move(deleter)),
                     DType::float32, shape, contiguous_strides(shape), 0, "borrow", site);
}

/// Where the data begins.
inline const void* data_of(const Tensor& tensor) {
  return Pin(tensor.body("data_of()"), "data_of()", Site::current()).data();
}

/// Runs `work(i)` on threads 0 to n - 1 and waits for all.
template <class F>
void on_threads(int n, const F& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

/// Runs `work()` on a thread of its own and waits for it.
template <class F>
void on_thread(const F& work) {
  std::thread(work).join();
}

/// "file.cpp:12" of the caller.
inline std::string here(Site site = Site::current()) { return to_string(site); }

/// Numbers that are the same in every run.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  /// In [0, end).
  std::int64_t below(std::int64_t end) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::int64_t>((state_ >> 11) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t state_;
};

}  // namespace tenure::test
