#include "tenure/kernels/cpu/loss/pointwise_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/loss/pointwise_loops.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/lanes-inl.h"
#include "tenure/ops/nn/loss.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

struct Squared {
  template <class V>
  static HWY_INLINE V value(V x, V t, V) {
    return (x - t) * (x - t);
  }
  template <class V>
  static HWY_INLINE V derivative(V x, V t, V) {
    return (x - t) + (x - t);
  }
};

struct Absolute {
  template <class V>
  static HWY_INLINE V value(V x, V t, V) {
    return abs(x - t);
  }
  template <class V>
  static HWY_INLINE V derivative(V x, V t, V) {
    const V d = x - t;
    return select(d > V(0), V(1), select(d < V(0), V(-1), d));
  }
};

struct Huber {
  template <class V>
  static HWY_INLINE V value(V x, V t, V p) {
    const V d = abs(x - t);
    const V half(static_cast<typename V::Scalar>(0.5));
    return select(d <= p, half * d * d, p * (d - half * p));
  }
  template <class V>
  static HWY_INLINE V derivative(V x, V t, V p) {
    const V d = x - t;
    return select(d > p, p, select(d < -p, -p, d));
  }
};

struct BinaryCrossEntropy {
  template <class V>
  static HWY_INLINE V value(V x, V t, V) {
    return max(x, V(0)) - x * t + log1p(exp(-abs(x)));
  }
  template <class V>
  static HWY_INLINE V derivative(V x, V t, V) {
    return sigmoid(x) - t;
  }
};

struct ProbabilityCrossEntropy {
  template <class V>
  static HWY_INLINE V bounded(V log) {
    const V least(static_cast<typename V::Scalar>(ops::kLeastLog));
    return select(log < least, least, log);
  }
  template <class V>
  static HWY_INLINE V value(V x, V t, V) {
    return -t * bounded(log(x)) - (V(1) - t) * bounded(log1p(-x));
  }
  template <class V>
  static HWY_INLINE V derivative(V x, V t, V) {
    const V least(static_cast<typename V::Scalar>(ops::kLeastProduct));
    const V product = x * (V(1) - x);
    return (x - t) / select(product > least, product, least);
  }
};

struct Divergence {
  template <class V>
  static HWY_INLINE V value(V x, V t, V) {
    return select(t == V(0), V(0), t * (log(t) - x));
  }
  template <class V>
  static HWY_INLINE V derivative(V, V t, V) {
    return -t;
  }
};

template <class F, class T>
double sum(const T* x, const T* t, std::int64_t n, T p) {
  const hn::ScalableTag<T> d;
  const auto chunk_length = static_cast<std::int64_t>(kTerms * hn::Lanes(d));
  const Vec<T> parameter(p);
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += chunk_length) {
    Vec<T> chunk(0);
    for_each_vector<T>(
        std::min(chunk_length, n - begin),
        [&](std::int64_t i) HWY_ATTR {
          chunk = chunk + F::value(load(x + begin + i), load(t + begin + i), parameter);
        },
        [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
          const Vec<T> value =
              F::value(load_some(x + begin + i, rest), load_some(t + begin + i, rest), parameter);
          const Mask<T> counts{hn::FirstN(d, static_cast<std::size_t>(rest))};
          chunk = chunk + select(counts, value, Vec<T>(0));
        });
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, chunk.raw)));
  }
  return total;
}

template <class F, class T>
void map(const T* x, const T* t, std::int64_t n, T p, T* out) {
  const Vec<T> parameter(p);
  for_each_vector<T>(
      n,
      [&](std::int64_t i)
          HWY_ATTR { store(F::value(load(x + i), load(t + i), parameter), out + i); },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        store_some(F::value(load_some(x + i, rest), load_some(t + i, rest), parameter), out + i,
                   rest);
      });
}

template <class F, class T>
void gradient(const T* x, const T* t, const T* dy, std::int64_t dy_step, T factor, std::int64_t n,
              T p, T* out) {
  const Vec<T> parameter(p);
  const Vec<T> scale(dy_step == 0 ? factor * dy[0] : factor);
  for_each_vector<T>(
      n,
      [&](std::int64_t i) HWY_ATTR {
        const Vec<T> value = scale * F::derivative(load(x + i), load(t + i), parameter);
        store(dy_step == 0 ? value : value * load(dy + i), out + i);
      },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        Vec<T> value =
            scale * F::derivative(load_some(x + i, rest), load_some(t + i, rest), parameter);
        if (dy_step != 0) value = value * load_some(dy + i, rest);
        store_some(value, out + i, rest);
      });
}

template <class F, class T>
constexpr PointwiseLoops<T> kLoops{sum<F, T>, map<F, T>, gradient<F, T>};

template <class T>
const PointwiseLoops<T>* find(PointwiseLoss kind) {
  switch (kind) {
    case PointwiseLoss::squared:
      return &kLoops<Squared, T>;
    case PointwiseLoss::absolute:
      return &kLoops<Absolute, T>;
    case PointwiseLoss::huber:
      return &kLoops<Huber, T>;
    case PointwiseLoss::binary_cross_entropy:
      return &kLoops<BinaryCrossEntropy, T>;
    case PointwiseLoss::probability:
      return &kLoops<ProbabilityCrossEntropy, T>;
    case PointwiseLoss::divergence:
      return &kLoops<Divergence, T>;
  }
  return nullptr;
}

const PointwiseLoops<float>* find_float(PointwiseLoss kind) { return find<float>(kind); }
const PointwiseLoops<double>* find_double(PointwiseLoss kind) { return find<double>(kind); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(find_float);
HWY_EXPORT(find_double);

const PointwiseLoops<float>& find_loops(PointwiseLoss kind, float) {
  return *HWY_DYNAMIC_DISPATCH(find_float)(kind);
}
const PointwiseLoops<double>& find_loops(PointwiseLoss kind, double) {
  return *HWY_DYNAMIC_DISPATCH(find_double)(kind);
}

}  // namespace tenure::kernels
#endif
