#include "tenure/kernels/cpu/optimizer/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/optimizer/update.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/parallel.h"

#ifndef TENURE_KERNELS_CPU_OPTIMIZER_UPDATE_ONCE
#define TENURE_KERNELS_CPU_OPTIMIZER_UPDATE_ONCE
namespace tenure::kernels {

inline constexpr std::size_t kMaxUpdated = 3;
/// Elements of a tile: what is converted stays in the first level of the cache.
inline constexpr std::int64_t kUpdateTile = 1024;

/// Contiguous elements of the type that is computed in.
using UpdateIn = std::array<const void*, kMaxUpdated + 1>;
using UpdateOut = std::array<void*, kMaxUpdated>;
using UpdateLoop = void (*)(const UpdateRule&, const UpdateIn&, const UpdateOut&, std::int64_t n);

}  // namespace tenure::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using Kind = UpdateRule::Kind;

/// The numbers of a rule in vectors.
template <class T>
struct Numbers {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  explicit Numbers(const UpdateRule& r)
      : rate(set(r.rate)),
        decay(set(r.decay)),
        keep(set(1 - r.rate * r.decay)),
        first(set(r.first)),
        to_first(set(1 - r.first)),
        second(set(r.second)),
        to_second(set(1 - r.second)),
        fresh(set(1 - r.dampening)),
        epsilon(set(r.epsilon)) {
    if (r.kind == Kind::adam) {  // what corrects the bias of the averages
      rate = set(r.rate / (1 - std::pow(r.first, r.step)));
      unbias = set(1 / std::sqrt(1 - std::pow(r.second, r.step)));
    }
  }
  static V set(double x) { return hn::Set(D(), static_cast<T>(x)); }

  V rate, decay, keep, first, to_first, second, to_second, fresh, epsilon;
  V unbias = set(1);
};

/// What a rule does to the parameter x[0], its state x[1...] and the gradient, which comes last.
template <Kind kind, class T>
struct Step {
  using V = hn::Vec<hn::ScalableTag<T>>;
  static constexpr int kTensors = kind == Kind::sgd ? 1 : kind == Kind::adam ? 3 : 2;

  static HWY_INLINE void apply(const UpdateRule& r, const Numbers<T>& c, V* x) {
    V& p = x[0];
    V g = x[kTensors];
    if constexpr (kind == Kind::lion) {
      const hn::ScalableTag<T> d;
      const V u = hn::MulAdd(c.first, x[1], hn::Mul(c.to_first, g));
      const V sign = hn::IfThenZeroElse(hn::Eq(u, hn::Zero(d)), hn::CopySign(hn::Set(d, T{1}), u));
      p = hn::NegMulAdd(c.rate, sign, hn::Mul(p, c.keep));
      x[1] = hn::MulAdd(c.second, x[1], hn::Mul(c.to_second, g));
      return;
    }
    if (r.decoupled) {
      p = hn::Mul(p, c.keep);
    } else {
      g = hn::MulAdd(c.decay, p, g);
    }
    if constexpr (kind == Kind::sgd) {
      p = hn::NegMulAdd(c.rate, g, p);
    } else if constexpr (kind == Kind::momentum) {
      x[1] = hn::MulAdd(c.first, x[1], hn::Mul(c.fresh, g));
      const V by = r.nesterov ? hn::MulAdd(c.first, x[1], g) : x[1];
      p = hn::NegMulAdd(c.rate, by, p);
    } else if constexpr (kind == Kind::adam) {
      x[1] = hn::MulAdd(c.first, x[1], hn::Mul(c.to_first, g));
      x[2] = hn::MulAdd(c.second, x[2], hn::Mul(c.to_second, hn::Mul(g, g)));
      const V root = hn::MulAdd(hn::Sqrt(x[2]), c.unbias, c.epsilon);
      p = hn::NegMulAdd(c.rate, hn::Div(x[1], root), p);
    } else {
      x[1] = kind == Kind::rmsprop ? hn::MulAdd(c.second, x[1], hn::Mul(c.to_second, hn::Mul(g, g)))
                                   : hn::MulAdd(g, g, x[1]);
      p = hn::NegMulAdd(c.rate, hn::Div(g, hn::Add(hn::Sqrt(x[1]), c.epsilon)), p);
    }
  }
};

template <Kind kind, class T>
void loop(const UpdateRule& rule, const UpdateIn& in, const UpdateOut& out, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr int kOut = Step<kind, T>::kTensors;
  constexpr int kIn = kOut + 1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Numbers<T> numbers(rule);
  hn::Vec<decltype(d)> x[kIn];
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int k = 0; k < kIn; ++k) x[k] = hn::LoadU(d, static_cast<const T*>(in[k]) + i);
    Step<kind, T>::apply(rule, numbers, x);
    for (int k = 0; k < kOut; ++k) hn::StoreU(x[k], d, static_cast<T*>(out[k]) + i);
  }
  if (i == n) return;
  HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(T)] = {};
  for (int k = 0; k < kIn; ++k) {
    std::copy_n(static_cast<const T*>(in[k]) + i, n - i, rest);
    x[k] = hn::Load(d, rest);
  }
  Step<kind, T>::apply(rule, numbers, x);
  for (int k = 0; k < kOut; ++k) {
    hn::Store(x[k], d, rest);
    std::copy_n(rest, n - i, static_cast<T*>(out[k]) + i);
  }
}

template <class T>
UpdateLoop find(Kind kind) {
  switch (kind) {
    case Kind::sgd:
      return loop<Kind::sgd, T>;
    case Kind::momentum:
      return loop<Kind::momentum, T>;
    case Kind::adam:
      return loop<Kind::adam, T>;
    case Kind::rmsprop:
      return loop<Kind::rmsprop, T>;
    case Kind::adagrad:
      return loop<Kind::adagrad, T>;
    case Kind::lion:
      return loop<Kind::lion, T>;
  }
  return nullptr;
}

UpdateLoop find_update(Kind kind, DType dtype) {
  return dtype == DType::float64 ? find<double>(kind) : find<float>(kind);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {
namespace {

HWY_EXPORT(find_update);

/// One tile: what has another type than is computed in is converted in buffers on the stack.
class Tiles {
 public:
  Tiles(const UpdateRule& rule, std::span<const View> in, std::span<const View> out)
      : rule_(rule), in_(in), out_(out) {}

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; i += kUpdateTile) {
      run_tile(i, std::min(kUpdateTile, end - i));
    }
  }

 private:
  void run_tile(std::int64_t at, std::int64_t n) const {
    alignas(64) std::byte rooms[kMaxUpdated + 1][kUpdateTile * sizeof(double)];
    UpdateIn from{};
    UpdateOut to{};
    const auto size = static_cast<std::size_t>(n);
    for (std::size_t k = 0; k < in_.size(); ++k) {
      from[k] = place(in_[k], at);
      if (in_[k].dtype == compute_) continue;
      cast_elements(in_[k].dtype, from[k], compute_, rooms[k], size);
      from[k] = rooms[k];
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      to[k] = out_[k].dtype == compute_ ? place(out_[k], at) : rooms[k];
    }
    loop_(rule_, from, to, n);
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if (out_[k].dtype == compute_) continue;
      cast_elements(compute_, rooms[k], out_[k].dtype, place(out_[k], at), size);
    }
  }
  static void* place(const View& view, std::int64_t at) {
    return view.as<std::byte>() + at * static_cast<std::int64_t>(size_of(view.dtype));
  }

  const UpdateRule& rule_;
  std::span<const View> in_;
  std::span<const View> out_;
  DType compute_ = in_[0].dtype == DType::float64 ? DType::float64 : DType::float32;
  UpdateLoop loop_ = HWY_DYNAMIC_DISPATCH(find_update)(rule_.kind, compute_);
};

}  // namespace

void update(const UpdateRule& rule, std::span<const View> in, std::span<const View> out) {
  const Tiles tiles(rule, in, out);
  parallel_for(in[0].count(), 16 * kUpdateTile,
               [&](std::int64_t begin, std::int64_t end) { tiles.run(begin, end); });
}

}  // namespace tenure::kernels
#endif
