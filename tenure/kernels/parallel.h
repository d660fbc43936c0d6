#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tenure {

/// Threads that one operation may use, at least 1. At first the number in the environment's
/// TENURE_NUM_THREADS, or else OMP_NUM_THREADS; or else the CPUs that this process may use, of
/// which a container may have fewer than the machine.
int num_threads();
void set_num_threads(int threads);

}  // namespace tenure

namespace tenure::kernels {

/// A borrowed callable: `f(begin, end)`.
class RangeFunction {
 public:
  template <class F>
  RangeFunction(const F& f)  // NOLINT(google-explicit-constructor): borrowed for one call
      : object_(std::addressof(f)), call_([](const void* object, std::int64_t b, std::int64_t e) {
          (*static_cast<const F*>(object))(b, e);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }
  /// The same for all that are of one type.
  const void* code() const { return reinterpret_cast<const void*>(call_); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

/// Calls `f` on consecutive ranges that cover [0, n), each a multiple of `grain` long but for the
/// last, on several threads when there is more than one grain and that has been faster
/// (threads/thread_choice.h). `f` must not throw, allocate tensors, or wait for another range; a
/// child that is forked within may exec or end, and no more. Results must not depend on the split:
/// it changes with the number of threads, and from call to call. Where loops of one body and size
/// may take more or less time, and are no part of a kernel's call, `cost` tells them apart.
void parallel_for(std::int64_t n, std::int64_t grain, RangeFunction f, double cost = 0);

}  // namespace tenure::kernels
