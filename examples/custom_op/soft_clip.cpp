#include "soft_clip.h"

#include <cmath>

#include "tenure/tensor/strided.h"

namespace {

using namespace tenure;

template <class T>
void soft_clip_of(const ops::View& in, T* out) {
  for_each_offset(in.shape, in.strides, [&](std::int64_t at) {
    const T x = in.as<const T>()[at];
    *out++ = x / (1 + std::abs(x));
  });
}

void run(const ops::Kernel& k) {
  if (k.in[0].dtype == DType::float32) {
    soft_clip_of(k.in[0], k.out[0].as<float>());
  } else {
    soft_clip_of(k.in[0], k.out[0].as<double>());
  }
}

std::vector<ops::Sample> samples() {
  return {
      {.inputs = {{.shape = {3, 5}}}}, {.inputs = {{.shape = {}}}}, {.inputs = {{.shape = {0}}}}};
}

std::vector<ops::Reference> reference(const std::vector<ops::Reference>& in,
                                      const ops::Attributes&) {
  ops::Reference out = in[0];
  for (long double& x : out.values) x /= 1 + std::fabs(x);
  return {out};
}

/// g / (1 + |x|)^2
void gradient(ops::Backward& b) { b.results[0] = b.gradients[0] / square(abs(b.inputs[0]) + 1); }
constexpr ops::GradientRule kGradient{.needs = {{ops::input_data(0)}}, .run = gradient};

ops::OpRecord record() {
  ops::OpRecord op;
  op.name = "soft_clip";
  op.signature = "soft_clip(x)";
  op.doc = "x / (1 + |x|)";
  op.memory = ops::reuses(1);  // in place if x was moved in
  op.dtypes = 1u << static_cast<int>(DType::float32) | 1u << static_cast<int>(DType::float64);
  op.tolerance_ulp = 2;
  op.infer = [](const ops::Kernel& k) { return ops::Specs{{k.in[0].dtype, k.in[0].shape}}; };
  op.gradient = &kGradient;
  op.samples = samples;
  op.reference = reference;
  return op;
}

}  // namespace

const tenure::CustomOp& soft_clip() {
  static const CustomOp op = define_op(record(), {.run = run});
  return op;
}
