#include "bench/floors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/floors.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "tenure/kernels/parallel.h"

// Sums are in registers only if every loop over them is unrolled.
#undef TENURE_BENCH_UNROLL
#ifdef __clang__
#define TENURE_BENCH_UNROLL _Pragma("unroll")
#else
#define TENURE_BENCH_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kStepsPerCall = 4096;
constexpr int kChains = 12;  // more than the latency of an addition times the units for it

/// Returns the floating-point operations done.
double multiply_add(std::int64_t calls) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kChains];
  TENURE_BENCH_UNROLL
  for (int c = 0; c < kChains; ++c) sums[c] = hn::Set(d, static_cast<float>(c));
  auto factor = hn::Set(d, 0.999F);
  for (std::int64_t i = 0; i < calls * kStepsPerCall; ++i) {
    TENURE_BENCH_UNROLL
    for (int c = 0; c < kChains; ++c) sums[c] = hn::MulAdd(sums[c], factor, factor);
  }
  TENURE_BENCH_UNROLL
  for (int c = 1; c < kChains; ++c) sums[0] = hn::Add(sums[0], sums[c]);
  use(hn::GetLane(sums[0]));
  return 2.0 * kChains * kStepsPerCall * static_cast<double>(calls * hn::Lanes(d));
}

void copy_past_caches(const float* from, float* to, std::size_t n) {
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::Stream(hn::Load(d, from + i), d, to + i);
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::bench {

HWY_EXPORT(multiply_add);
HWY_EXPORT(copy_past_caches);

namespace {

constexpr std::int64_t kCopied = 16 << 20;  // floats

/// On huge pages, as the pool's large blocks are: a copy of small pages is no limit.
class Buffer {
 public:
  Buffer() : floats_(static_cast<float*>(std::aligned_alloc(kHugePage, kBytes))) {
    if (floats_ == nullptr) throw std::bad_alloc();
    madvise(floats_, kBytes, MADV_HUGEPAGE);
    std::memset(floats_, 1, kBytes);
  }
  ~Buffer() { std::free(floats_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* data() const { return floats_; }

 private:
  static constexpr std::size_t kHugePage = 2 << 20;
  static constexpr std::size_t kBytes = kCopied * sizeof(float);
  float* floats_;
};

struct Buffers {
  Buffer from;
  Buffer to;
};

void plain_copy(const float* from, float* to, std::size_t n) {
  std::memcpy(to, from, n * sizeof(float));
}

Work copy_work(const std::shared_ptr<Buffers>& buffers,
               void (*copy)(const float*, float*, std::size_t)) {
  return repeat([buffers, copy] {
    kernels::parallel_for(kCopied, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      copy(buffers->from.data() + begin, buffers->to.data() + begin,
           static_cast<std::size_t>(end - begin));
    });
  });
}

void copy_streaming(const float* from, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(copy_past_caches)(from, to, n);
}

}  // namespace

Entrant fma_peak(int threads) {
  const double amount = HWY_DYNAMIC_DISPATCH(multiply_add)(1) * threads;
  return {.name = threads == 1 ? "FMA peak, 1 thread" : "FMA peak",
          .work =
              [threads](std::int64_t n) {
                kernels::parallel_for(threads, 1, [n](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i) HWY_DYNAMIC_DISPATCH(multiply_add)(n);
                });
              },
          .amount = amount};
}

Entrant copy_bandwidth() {
  static const auto& fastest = *new Work([] {
    const auto buffers = std::make_shared<Buffers>();
    const std::vector<Work> works{copy_work(buffers, plain_copy),
                                  copy_work(buffers, copy_streaming)};
    const std::vector<double> seconds = median_seconds(works, 7);
    return works[seconds[0] < seconds[1] ? 0 : 1];
  }());
  return {.name = "copy", .work = fastest, .amount = 2.0 * kCopied * sizeof(float)};
}

}  // namespace tenure::bench
#endif
