#include "tenure/kernels/cpu/linalg/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/linalg/vectors.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::linalg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<double>;

double dot(const double* x, const double* y, std::int64_t n) {
  const Lanes d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d);  // four, so that additions need not wait for each other
  auto b = hn::Zero(d);
  auto c = hn::Zero(d);
  auto e = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), a);
    b = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), b);
    c = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, y + i + 2 * lanes), c);
    e = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), hn::LoadU(d, y + i + 3 * lanes), e);
  }
  for (; i + lanes <= n; i += lanes) a = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), a);
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

void add_scaled(double factor, const double* x, double* y, std::int64_t n) {
  const Lanes d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] += factor * x[i];
}

void rotate(double cosine, double sine, double* x, double* y, std::int64_t n) {
  const Lanes d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto c = hn::Set(d, cosine);
  const auto s = hn::Set(d, sine);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, y + i);
    hn::StoreU(hn::MulAdd(c, a, hn::Mul(s, b)), d, x + i);
    hn::StoreU(hn::NegMulAdd(s, a, hn::Mul(c, b)), d, y + i);
  }
  for (; i < n; ++i) {
    const double a = x[i];
    const double b = y[i];
    x[i] = cosine * a + sine * b;
    y[i] = cosine * b - sine * a;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::linalg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::linalg {

HWY_EXPORT(dot);
HWY_EXPORT(add_scaled);
HWY_EXPORT(rotate);

double dot(const double* x, const double* y, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dot)(x, y, n);
}
void add_scaled(double factor, const double* x, double* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(factor, x, y, n);
}
void rotate(double cosine, double sine, double* x, double* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(rotate)(cosine, sine, x, y, n);
}

}  // namespace tenure::kernels::linalg
#endif
