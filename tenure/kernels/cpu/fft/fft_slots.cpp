#include "tenure/kernels/cpu/fft/fft.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/table.h"

namespace tenure::kernels {
namespace {

using ops::FftKind;
using ops::Kernel;

template <FftKind kKind, bool kInverse>
struct FftSlot {
  static fft::Job job_of(const Kernel& k) {
    return {ops::FftCall(kKind, kInverse, k.in[0].shape, k.attributes, k.op), k.in[0].dtype};
  }
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(k.in[0].dtype, k.in, {}) + fft::workspace_bytes(job_of(k));
  }
  static void run(const Kernel& k) {
    Staging staging(k.in[0].dtype, k.workspace);
    const View x = staging.read(k.in[0]);
    fft::transform(job_of(k), x.data, k.out[0].data, staging.rest());
  }
};

/// Of n elements of a transform; the second half of all of them is negative.
template <bool kHalf>
struct FrequencySlot {
  static void run(const Kernel& k) {
    const std::int64_t n = k.attributes.integer(ops::FrequencyAttributes::points);
    const double unit =
        1 / (static_cast<double>(n) * k.attributes.number(ops::FrequencyAttributes::spacing));
    const auto fill = [&]<class T>(T* to) {
      for (std::int64_t i = 0; i < k.out[0].shape[0]; ++i) {
        to[i] = static_cast<T>(static_cast<double>(kHalf || 2 * i < n ? i : i - n) * unit);
      }
    };
    if (k.out[0].dtype == DType::float32) return fill(k.out[0].as<float>());
    fill(k.out[0].as<double>());
  }
};

}  // namespace

std::vector<KernelRow> fft_kernels() {
  return {kernel_row<FftSlot<FftKind::pairs, false>>("fft"),
          kernel_row<FftSlot<FftKind::pairs, true>>("ifft"),
          kernel_row<FftSlot<FftKind::real_to_half, false>>("rfft"),
          kernel_row<FftSlot<FftKind::half_to_real, true>>("irfft"),
          kernel_row<FrequencySlot<false>>("fftfreq"),
          kernel_row<FrequencySlot<true>>("rfftfreq")};
}

}  // namespace tenure::kernels
