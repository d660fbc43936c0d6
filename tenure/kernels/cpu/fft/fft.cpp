#include "tenure/kernels/cpu/fft/fft.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/fft/fft.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "tenure/kernels/cpu/fft/stages-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::fft {
namespace HWY_NAMESPACE {
namespace {

/// e^(-2 pi i k / n) for k in [0, n). The angle is at most an eighth of a turn, by whole numbers.
void root(std::int64_t k, std::int64_t n, double& re, double& im) {
  std::int64_t eighths = 8 * k;
  const bool is_below = eighths > 4 * n;
  if (is_below) eighths = 8 * n - eighths;
  const bool is_left = eighths > 2 * n;
  if (is_left) eighths = 4 * n - eighths;
  const bool is_steep = eighths > n;
  if (is_steep) eighths = 2 * n - eighths;
  constexpr double kEighth = 0.78539816339744830962;
  const double angle = kEighth * (static_cast<double>(eighths) / static_cast<double>(n));
  double cosine = std::cos(angle);
  double sine = std::sin(angle);
  if (is_steep) std::swap(cosine, sine);
  re = is_left ? -cosine : cosine;
  im = is_below ? sine : -sine;
}

/// The first `count` roots of n points: products of one of a few with one of a few.
template <class T>
void fill_roots(const Parts<T>& to, std::int64_t count, std::int64_t n) {
  constexpr std::int64_t kMost = 256;
  double low_re[kMost];
  double low_im[kMost];
  const std::int64_t low = std::min<std::int64_t>(count, count < 8192 ? 64 : kMost);
  for (std::int64_t k = 0; k < low; ++k) root(k, n, low_re[k], low_im[k]);
  for (std::int64_t first = 0; first < count; first += low) {
    double re = 1;
    double im = 0;
    root(first, n, re, im);
    const std::int64_t end = std::min(low, count - first);
    for (std::int64_t k = 0; k < end; ++k) {
      to.re[first + k] = static_cast<T>(re * low_re[k] - im * low_im[k]);
      to.im[first + k] = static_cast<T>(re * low_im[k] + im * low_re[k]);
    }
  }
}

template <class T>
void prepare(const Job& job, const Job::Tables<T>& tables) {
  const Plan& plan = job.plan;
  const Parts<T> roots{tables.roots_re, tables.roots_im};
  fill_roots(roots, plan.length, plan.length);
  if (job.halves) {
    fill_roots(Parts<T>{tables.turns_re, tables.turns_im}, plan.points / 2 + 1, job.call.points);
  }
  if (!plan.is_convolution()) return;
  const std::int64_t n = plan.points;
  const std::int64_t m = plan.length;
  T* const scratch = tables.scratch;
  const Parts<T> fine{scratch, scratch + 2 * m};
  fill_roots(fine, 2 * n, 2 * n);
  for (std::int64_t k = 0, square = 0; k < n; ++k) {
    tables.chirp_re[k] = fine.re[square];
    tables.chirp_im[k] = fine.im[square];
    square = (square + 2 * k + 1) % (2 * n);
  }
  const Parts<T> a{scratch, scratch + m};
  const Parts<T> b{scratch + 2 * m, scratch + 3 * m};
  std::fill_n(a.re, m, T{0});
  std::fill_n(a.im, m, T{0});
  for (std::int64_t k = 0; k < n; ++k) {
    a.re[k] = a.re[k == 0 ? 0 : m - k] = tables.chirp_re[k];
    a.im[k] = a.im[k == 0 ? 0 : m - k] = -tables.chirp_im[k];
  }
  const Parts<T> made = run_stages(plan, roots, 1, a, b);
  const T scale = T{1} / static_cast<T>(m);  // a power of two
  for (std::int64_t k = 0; k < m; ++k) {
    tables.filter_re[k] = made.re[k] * scale;
    tables.filter_im[k] = made.im[k] * scale;
  }
}

/// Each of n elements of `lines` lines times its factor, from `from` to `to`.
template <class T>
void multiply(const Parts<T>& factors, std::int64_t n, std::int64_t lines, const Parts<T>& from,
              const Parts<T>& to) {
  const auto run = [&](auto d, std::int64_t at, const auto& factor)
                       HWY_ATTR { store(d, times(d, load(d, from, at), factor), to, at); };
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  if (lines == 1) {
    std::int64_t k = 0;
    for (; k + lanes <= n; k += lanes) run(wide, k, load(wide, factors, k));
    for (; k < n; ++k) run(one, k, load(one, factors, k));
    return;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t i = 0;
    for (; i + lanes <= lines; i += lanes) run(wide, k * lines + i, repeat(wide, factors, k));
    for (; i < lines; ++i) run(one, k * lines + i, repeat(one, factors, k));
  }
}

/// The transform of what lies in a; what is made lies in what is returned.
template <class T>
Parts<T> run_plan(const Plan& plan, const Job::Tables<T>& tables, std::int64_t lines, Parts<T> a,
                  Parts<T> b) {
  const Parts<T> roots{tables.roots_re, tables.roots_im};
  if (!plan.is_convolution()) return run_stages(plan, roots, lines, a, b);
  const Parts<T> chirp{tables.chirp_re, tables.chirp_im};
  const Parts<T> filter{tables.filter_re, tables.filter_im};
  const std::int64_t n = plan.points;
  multiply(chirp, n, lines, a, a);
  std::fill_n(a.re + n * lines, (plan.length - n) * lines, T{0});
  std::fill_n(a.im + n * lines, (plan.length - n) * lines, T{0});
  Parts<T> made = run_stages(plan, roots, lines, a, b);
  if (made.re == b.re) std::swap(a, b);
  multiply(filter, plan.length, lines, a, a);
  made = run_stages(plan, roots, lines, a.exchanged(), b.exchanged()).exchanged();
  multiply(chirp, n, lines, made, made);
  return made;
}

template <class T>
void separate(const T* pairs, std::int64_t n, const Parts<T>& to) {
  std::int64_t k = 0;
  const auto run = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; k + lanes <= n; k += lanes) {
      auto re = hn::Zero(d);
      auto im = hn::Zero(d);
      hn::LoadInterleaved2(d, pairs + 2 * k, re, im);
      hn::StoreU(re, d, to.re + k);
      hn::StoreU(im, d, to.im + k);
    }
  };
  run(hn::ScalableTag<T>());
  for (; k < n; ++k) {
    to.re[k] = pairs[2 * k];
    to.im[k] = pairs[2 * k + 1];
  }
}

template <class T>
void join(const Parts<T>& from, std::int64_t n, T scale, T* pairs) {
  std::int64_t k = 0;
  const auto run = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto factor = hn::Set(d, scale);
    for (; k + lanes <= n; k += lanes) {
      hn::StoreInterleaved2(hn::Mul(hn::LoadU(d, from.re + k), factor),
                            hn::Mul(hn::LoadU(d, from.im + k), factor), d, pairs + 2 * k);
    }
  };
  run(hn::ScalableTag<T>());
  for (; k < n; ++k) {
    pairs[2 * k] = from.re[k] * scale;
    pairs[2 * k + 1] = from.im[k] * scale;
  }
}

template <class T>
void clear(const Parts<T>& parts, std::int64_t begin, std::int64_t end) {
  if (end <= begin) return;
  std::fill(parts.re + begin, parts.re + end, T{0});
  std::fill(parts.im + begin, parts.im + end, T{0});
}

/// Lines of pairs, `count` of them from `first` on, that lie side by side.
template <class T>
void run_pairs(const Job& job, const Job::Tables<T>& tables, const T* in, T* out,
               std::int64_t first, std::int64_t count, Parts<T> a, Parts<T> b) {
  const ops::FftCall& call = job.call;
  const std::int64_t read = std::min(call.size, call.points);
  if (call.inner == 1) {
    separate(in, read, a);
  } else {
    for (std::int64_t k = 0; k < read; ++k) {
      separate(in + 2 * (k * call.inner + first), count, a + k * count);
    }
  }
  clear(a, read * count, call.points * count);
  Parts<T> made = call.inverse ? run_plan(job.plan, tables, count, a.exchanged(), b.exchanged())
                               : run_plan(job.plan, tables, count, a, b);
  if (call.inverse) made = made.exchanged();
  const T scale = static_cast<T>(call.scale);
  if (call.inner == 1) return join(made, call.points, scale, out);
  for (std::int64_t k = 0; k < call.points; ++k) {
    join(made + k * count, count, scale, out + 2 * (k * call.inner + first));
  }
}

/// Calls `f(d, k)` for the places k of vectors in [1, h / 2], whose mirror images, h - k, lie in
/// [h / 2, h).
template <class T, class F>
HWY_INLINE void for_mirrored(std::int64_t h, const F& f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t k = 1;
  for (; k + lanes - 1 <= (h - 1) / 2; k += lanes) f(d, k);
  for (; k <= h / 2; ++k) f(hn::CappedTag<T, 1>(), k);
}

/// The elements h - k, h - k - 1, ...
template <class D, class T>
HWY_INLINE Pair<D> load_mirrored(D d, const Parts<T>& from, std::int64_t h, std::int64_t k) {
  const std::int64_t at = h - k - static_cast<std::int64_t>(hn::Lanes(d)) + 1;
  return {hn::Reverse(d, hn::LoadU(d, from.re + at)), hn::Reverse(d, hn::LoadU(d, from.im + at))};
}

/// A real line to its half spectrum.
template <class T>
void run_real(const Job& job, const Job::Tables<T>& tables, const T* in, T* out, Parts<T> a,
              Parts<T> b) {
  const ops::FftCall& call = job.call;
  const std::int64_t n = call.points;
  const std::int64_t read = std::min(call.size, n);
  const T scale = static_cast<T>(call.scale);
  const T inside = static_cast<T>(call.scale * call.interior);
  if (!job.halves) {
    std::copy_n(in, read, a.re);
    clear(a, read, n);
    std::fill_n(a.im, read, T{0});
    const Parts<T> made = run_plan(job.plan, tables, 1, a, b);
    join(made, 1, scale, out);
    join(made + 1, n / 2, inside, out + 2);
    return;
  }
  // Neighbours as pairs; what their transform is of both is taken apart again.
  const std::int64_t h = n / 2;
  separate(in, read / 2, a);
  clear(a, read / 2, h);
  if (read % 2 != 0) a.re[read / 2] = in[read - 1];
  const Parts<T> z = run_plan(job.plan, tables, 1, a, b);
  const Parts<T> turns{tables.turns_re, tables.turns_im};
  out[0] = (z.re[0] + z.im[0]) * scale;
  out[2 * h] = (z.re[0] - z.im[0]) * scale;
  out[1] = out[2 * h + 1] = 0;
  for_mirrored<T>(h, [&](auto d, std::int64_t k) HWY_ATTR {
    using D = decltype(d);
    const Pair<D> x = load(d, z, k);
    const Pair<D> y = load_mirrored(d, z, h, k);
    const Pair<D> even{hn::Add(x.re, y.re), hn::Sub(x.im, y.im)};
    const Pair<D> odd{hn::Sub(x.re, y.re), hn::Add(x.im, y.im)};
    const Pair<D> turned = times(d, odd, load(d, turns, k));
    const auto factor = hn::Set(d, inside / 2);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::StoreInterleaved2(hn::Mul(hn::Add(even.re, turned.im), factor),
                          hn::Mul(hn::Sub(even.im, turned.re), factor), d, out + 2 * k);
    const auto re = hn::Mul(hn::Sub(even.re, turned.im), factor);
    const auto im = hn::Neg(hn::Mul(hn::Add(even.im, turned.re), factor));
    hn::StoreInterleaved2(hn::Reverse(d, re), hn::Reverse(d, im), d, out + 2 * (h - k - lanes + 1));
  });
}

/// A half spectrum to its real line.
template <class T>
void run_half(const Job& job, const Job::Tables<T>& tables, const T* in, T* out, Parts<T> a,
              Parts<T> b) {
  const ops::FftCall& call = job.call;
  const std::int64_t n = call.points;
  const std::int64_t h = n / 2;
  const std::int64_t read = std::min(call.size, h + 1);
  const T scale = static_cast<T>(call.scale);
  const T inside = static_cast<T>(call.interior);
  separate(in, read, b);
  clear(b, read, h + 1);
  if (!job.halves) {
    a.re[0] = b.re[0];
    a.im[0] = 0;
    for (std::int64_t k = 1; k <= h; ++k) {
      a.re[k] = a.re[n - k] = b.re[k] * inside;
      a.im[k] = b.im[k] * inside;
      a.im[n - k] = -a.im[k];
    }
    const Parts<T> made = run_plan(job.plan, tables, 1, a.exchanged(), b.exchanged());
    for (std::int64_t k = 0; k < n; ++k) out[k] = made.im[k] * scale;
    return;
  }
  const Parts<T> turns{tables.turns_re, tables.turns_im};
  a.re[0] = b.re[0] + b.re[h];
  a.im[0] = b.re[0] - b.re[h];
  for_mirrored<T>(h, [&](auto d, std::int64_t k) HWY_ATTR {
    using D = decltype(d);
    const auto factor = hn::Set(d, inside);
    const Pair<D> x = load(d, b, k);
    const Pair<D> y = load_mirrored(d, b, h, k);
    const Pair<D> even{hn::Mul(hn::Add(x.re, y.re), factor), hn::Mul(hn::Sub(x.im, y.im), factor)};
    const Pair<D> odd{hn::Mul(hn::Sub(x.re, y.re), factor), hn::Mul(hn::Add(x.im, y.im), factor)};
    Pair<D> back = load(d, turns, k);
    back.im = hn::Neg(back.im);
    const Pair<D> turned = times(d, odd, back);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    store(d, plus_turned(d, even, turned), a, k);
    const auto re = hn::Add(even.re, turned.im);
    const auto im = hn::Sub(turned.re, even.im);
    store(d, Pair<D>{hn::Reverse(d, re), hn::Reverse(d, im)}, a, h - k - lanes + 1);
  });
  const Parts<T> made = run_plan(job.plan, tables, 1, a.exchanged(), b.exchanged()).exchanged();
  join(made, h, scale, out);
}

/// One group of lines.
template <class T>
void run_group(const Job& job, const Job::Tables<T>& tables, const T* in, T* out,
               std::int64_t group, std::span<std::byte> room) {
  Rooms rooms(room);
  const Job::Buffers<T> buffers(job, rooms);
  const Parts<T> a{buffers.a_re, buffers.a_im};
  const Parts<T> b{buffers.b_re, buffers.b_im};
  const ops::FftCall& call = job.call;
  const std::int64_t outer = group / job.blocks;
  const std::int64_t first = group % job.blocks * job.together;
  const std::int64_t in_width = call.kind == ops::FftKind::real_to_half ? 1 : 2;
  const std::int64_t out_width = call.kind == ops::FftKind::half_to_real ? 1 : 2;
  in += outer * call.size * call.inner * in_width;
  out += outer * call.result * call.inner * out_width;
  if (call.kind == ops::FftKind::pairs) {
    return run_pairs(job, tables, in, out, first, std::min(job.together, call.inner - first), a, b);
  }
  const auto run = call.kind == ops::FftKind::real_to_half ? run_real<T> : run_half<T>;
  if (call.inner == 1) return run(job, tables, in, out, a, b);
  const std::int64_t used =
      call.kind == ops::FftKind::real_to_half ? call.points : call.points / 2 + 1;
  for (std::int64_t k = 0; k < std::min(call.size, used); ++k) {
    std::copy_n(in + (k * call.inner + first) * in_width, in_width, buffers.line + k * in_width);
  }
  run(job, tables, buffers.line, buffers.made, a, b);
  for (std::int64_t k = 0; k < call.result; ++k) {
    std::copy_n(buffers.made + k * out_width, out_width,
                out + (k * call.inner + first) * out_width);
  }
}

template <class T>
void run_all(const Job& job, const void* in, void* out, std::span<std::byte> workspace) {
  Rooms rooms(workspace);
  Rooms own(
      {rooms.take<std::byte>(static_cast<std::int64_t>(job.table_bytes())), job.table_bytes()});
  const Job::Tables<T> tables(job, own);
  const linalg::MatrixRooms each(rooms, job.groups, job.group_bytes());
  prepare(job, tables);
  each.for_each(job.work(), [&](std::int64_t group, std::span<std::byte> room) {
    run_group(job, tables, static_cast<const T*>(in), static_cast<T*>(out), group, room);
  });
}

void run_job(const Job& job, const void* in, void* out, std::span<std::byte> workspace) {
  if (job.dtype == DType::float32) return run_all<float>(job, in, out, workspace);
  run_all<double>(job, in, out, workspace);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::fft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::fft {
namespace {
HWY_EXPORT(run_job);
}  // namespace

void transform(const Job& job, const void* in, void* out, std::span<std::byte> workspace) {
  if (job.groups == 0) return;
  HWY_DYNAMIC_DISPATCH(run_job)(job, in, out, workspace);
}

}  // namespace tenure::kernels::fft
#endif
