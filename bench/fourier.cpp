#include "bench/contest.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

// Fourier transforms. libtorch has them of MKL or pocketfft, whichever it was built with.

namespace tenure::bench {
namespace {

void add(std::vector<Case>& cases, const std::string& name, const char* torch_name,
         const std::vector<std::int64_t>& shape, Tensor (*transform)(const Tensor&)) {
  cases.push_back({"fourier", name, [=](const Options& options) {
                     return run(
                         {.name = name,
                          .unit = kMicroseconds,
                          .ours = repeat([x = normal(shape), transform] { use(transform(x)); }),
                          .peers = {{"libtorch", torch_call(torch_name, {shape})}}},
                         options);
                   }});
}

}  // namespace

void add_fourier_cases(std::vector<Case>& cases) {
  const auto of_pairs = [](const Tensor& x) { return fft(x); };
  add(cases, "fft of 4096 pairs", "fft", {4096, 2}, of_pairs);
  add(cases, "fft of 1009 pairs, a prime", "fft", {1009, 2}, of_pairs);
  add(cases, "fft of 1M pairs", "fft", {1 << 20, 2}, of_pairs);
  add(cases, "fft of [256,512] pairs", "fft", {256, 512, 2}, of_pairs);
  add(cases, "rfft of [256,512]", "rfft", {256, 512}, [](const Tensor& x) { return rfft(x); });
  add(cases, "fft2 of [4,256,256] pairs", "fft2", {4, 256, 256, 2},
      [](const Tensor& x) { return fft2(x); });
}

}  // namespace tenure::bench
