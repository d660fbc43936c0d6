// The stages of a Fourier transform; fft.h tells how they follow each other.
#if defined(TENURE_KERNELS_CPU_FFT_STAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_FFT_STAGES_INL_H_
#undef TENURE_KERNELS_CPU_FFT_STAGES_INL_H_
#else
#define TENURE_KERNELS_CPU_FFT_STAGES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <utility>

#include "tenure/kernels/cpu/fft/fft.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::fft {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Complex numbers in arrays.
template <class T>
struct Parts {
  T* re;
  T* im;
  Parts operator+(std::int64_t places) const { return {re + places, im + places}; }
  Parts exchanged() const { return {im, re}; }
};

template <class D>
struct Pair {
  hn::Vec<D> re, im;
};
template <class D, class T>
HWY_INLINE Pair<D> load(D d, const Parts<T>& from, std::int64_t at) {
  return {hn::LoadU(d, from.re + at), hn::LoadU(d, from.im + at)};
}
template <class D, class T>
HWY_INLINE void store(D d, const Pair<D>& v, const Parts<T>& to, std::int64_t at) {
  hn::StoreU(v.re, d, to.re + at);
  hn::StoreU(v.im, d, to.im + at);
}
template <class D, class T>
HWY_INLINE Pair<D> repeat(D d, const Parts<T>& from, std::int64_t at) {
  return {hn::Set(d, from.re[at]), hn::Set(d, from.im[at])};
}
template <class D>
HWY_INLINE Pair<D> times(D, const Pair<D>& a, const Pair<D>& b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
template <class D>
HWY_INLINE Pair<D> plus(D, const Pair<D>& a, const Pair<D>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Pair<D> minus(D, const Pair<D>& a, const Pair<D>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// a - i b and a + i b.
template <class D>
HWY_INLINE Pair<D> minus_turned(D, const Pair<D>& a, const Pair<D>& b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class D>
HWY_INLINE Pair<D> plus_turned(D, const Pair<D>& a, const Pair<D>& b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

/// A transform of `radix` points; kRadix is that, or 0 where it is known at run time alone. Roots
/// of so many points are every `step`-th of `roots`.
template <int kRadix, class D, class T>
HWY_INLINE void butterfly(D d, int radix, const Parts<T>& roots, std::int64_t step, Pair<D>* v) {
  if constexpr (kRadix == 2) {
    const Pair<D> first = v[0];
    v[0] = plus(d, first, v[1]);
    v[1] = minus(d, first, v[1]);
  } else if constexpr (kRadix == 4) {
    const Pair<D> even = plus(d, v[0], v[2]);
    const Pair<D> even_rest = minus(d, v[0], v[2]);
    const Pair<D> odd = plus(d, v[1], v[3]);
    const Pair<D> odd_rest = minus(d, v[1], v[3]);
    v[0] = plus(d, even, odd);
    v[2] = minus(d, even, odd);
    v[1] = minus_turned(d, even_rest, odd_rest);
    v[3] = plus_turned(d, even_rest, odd_rest);
  } else {
    // Of an odd radix: elements j and radix - j have the same cosines and opposite sines.
    constexpr int kMost = kRadix == 0 ? static_cast<int>(kLargestRadix) : kRadix;
    const int r = kRadix == 0 ? radix : kRadix;
    const int half = r / 2;
    Pair<D> sums[kMost / 2 + 1];
    Pair<D> rests[kMost / 2 + 1];
    const Pair<D> first = v[0];
    Pair<D> all = first;
    for (int j = 1; j <= half; ++j) {
      sums[j] = plus(d, v[j], v[r - j]);
      rests[j] = minus(d, v[j], v[r - j]);
      all = plus(d, all, sums[j]);
    }
    v[0] = all;
    for (int k = 1; k <= half; ++k) {
      Pair<D> along = first;
      Pair<D> across{hn::Zero(d), hn::Zero(d)};
      for (int j = 1, turn = k; j <= half; ++j) {
        const auto cosine = hn::Set(d, roots.re[turn * step]);
        const auto sine = hn::Set(d, -roots.im[turn * step]);
        along.re = hn::MulAdd(sums[j].re, cosine, along.re);
        along.im = hn::MulAdd(sums[j].im, cosine, along.im);
        across.re = hn::MulAdd(rests[j].re, sine, across.re);
        across.im = hn::MulAdd(rests[j].im, sine, across.im);
        turn += k;
        if (turn >= r) turn -= r;
      }
      v[k] = minus_turned(d, along, across);
      v[r - k] = plus_turned(d, along, across);
    }
  }
}

/// A stage of m pieces of s neighbours; the roots of its points, r m, are every `step`-th.
template <class T>
struct Stage {
  Parts<T> roots;
  std::int64_t step;
  int radix;
  std::int64_t m, s;
  Parts<T> from, to;
};

/// Neighbours [begin, end) of each piece, in vectors of d.
template <int kRadix, class T, class D>
HWY_INLINE void run_pieces(D d, const Stage<T>& stage, std::int64_t begin, std::int64_t end) {
  constexpr int kMost = kRadix == 0 ? static_cast<int>(kLargestRadix) : kRadix;
  const int r = kRadix == 0 ? stage.radix : kRadix;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t unit = stage.step * stage.m;  // of the roots of r points
  Pair<D> factors[kMost];
  for (std::int64_t p = 0; p < stage.m; ++p) {
    for (int k = 1; k < r && p > 0; ++k) factors[k] = repeat(d, stage.roots, p * k * stage.step);
    const Parts<T> from = stage.from + p * stage.s;
    const Parts<T> to = stage.to + p * r * stage.s;
    for (std::int64_t q = begin; q < end; q += lanes) {
      Pair<D> v[kMost];
      v[0] = load(d, from, q);
      for (int k = 1; k < r; ++k) v[k] = load(d, from, q + k * stage.m * stage.s);
      butterfly<kRadix>(d, r, stage.roots, unit, v);
      store(d, v[0], to, q);
      for (int k = 1; k < r; ++k) {
        store(d, p > 0 ? times(d, v[k], factors[k]) : v[k], to, q + k * stage.s);
      }
    }
  }
}

template <int kRadix, class T>
HWY_NOINLINE void run_stage(const Stage<T>& stage) {
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, 4> narrow;
  const hn::CappedTag<T, 1> one;
  std::int64_t q = 0;
  const auto run = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t end = q + (stage.s - q) / lanes * lanes;
    if (end > q) run_pieces<kRadix>(d, stage, q, end);
    q = end;
  };
  run(wide);
  if (q < stage.s) run(narrow);
  if (q < stage.s) run(one);
}

/// The first stage of one line, of radix 4: pieces are neighbours.
template <class T>
HWY_NOINLINE void run_first_of_line(const Stage<T>& stage) {
  std::int64_t p = 0;
  const auto run = [&](auto d) HWY_ATTR {
    using D = decltype(d);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; p + lanes <= stage.m; p += lanes) {
      Pair<D> v[4];
      for (int k = 0; k < 4; ++k) v[k] = load(d, stage.from, p + k * stage.m);
      butterfly<4>(d, 4, stage.roots, stage.m, v);
      // The squares and the cubes of roots that lie side by side do not.
      const Pair<D> once = load(d, stage.roots, p);
      const Pair<D> twice = times(d, once, once);
      v[1] = times(d, v[1], once);
      v[2] = times(d, v[2], twice);
      v[3] = times(d, v[3], times(d, once, twice));
      hn::StoreInterleaved4(v[0].re, v[1].re, v[2].re, v[3].re, d, stage.to.re + 4 * p);
      hn::StoreInterleaved4(v[0].im, v[1].im, v[2].im, v[3].im, d, stage.to.im + 4 * p);
    }
  };
  run(hn::ScalableTag<T>());
  run(hn::CappedTag<T, 4>());
  run(hn::CappedTag<T, 1>());
}

/// Transforms `lines` lines, which lie side by side in a; b is as large. What is made lies in what
/// is returned, a or b.
template <class T>
Parts<T> run_stages(const Plan& plan, const Parts<T>& roots, std::int64_t lines, Parts<T> a,
                    Parts<T> b) {
  std::int64_t rest = plan.length;
  for (int i = 0; i < plan.stages; ++i) {
    const int radix = plan.radices[static_cast<std::size_t>(i)];
    const Stage<T> stage{.roots = roots,
                         .step = plan.length / rest,
                         .radix = radix,
                         .m = rest / radix,
                         .s = plan.length / rest * lines,
                         .from = a,
                         .to = b};
    if (stage.s == 1 && radix == 4) {
      run_first_of_line(stage);
    } else if (radix == 4) {
      run_stage<4>(stage);
    } else if (radix == 2) {
      run_stage<2>(stage);
    } else if (radix == 3) {
      run_stage<3>(stage);
    } else if (radix == 5) {
      run_stage<5>(stage);
    } else {
      run_stage<0>(stage);
    }
    rest /= radix;
    std::swap(a, b);
  }
  return a;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::fft
HWY_AFTER_NAMESPACE();

#endif
