#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/optimizer/update_slots.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "tenure/kernels/cpu/elementwise/body_target-inl.h"
#include "tenure/kernels/cpu/elementwise/value-inl.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/kernels/parallel.h"
#include "tenure/ops/nn/update_rules.h"

#include "tenure/ops/nn/update_bodies-inl.h"

#ifndef TENURE_KERNELS_CPU_OPTIMIZER_UPDATE_ONCE
#define TENURE_KERNELS_CPU_OPTIMIZER_UPDATE_ONCE
namespace tenure::kernels {

inline constexpr std::size_t kMaxUpdated = 3;
/// Elements of a tile: what is converted stays in the first level of the cache.
inline constexpr std::int64_t kUpdateTile = 1024;

/// Contiguous elements of the type that is computed in; the gradient comes last.
using UpdateIn = std::array<const void*, kMaxUpdated + 1>;
using UpdateOut = std::array<void*, kMaxUpdated>;

/// One pass of a rule over n elements, in either type that is computed in.
template <class Rule>
struct UpdateLoops {
  using Loop = void (*)(const Rule&, const UpdateIn&, const UpdateOut&, std::int64_t n);
  Loop in_float = nullptr;
  Loop in_double = nullptr;
};

/// For every rule there is.
using AllUpdateLoops = std::tuple<UpdateLoops<ops::SgdRule>, UpdateLoops<ops::MomentumRule>,
                                  UpdateLoops<ops::AdamRule>, UpdateLoops<ops::RmspropRule>,
                                  UpdateLoops<ops::AdagradRule>, UpdateLoops<ops::LionRule>>;

}  // namespace tenure::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace {

template <class Rule, class T, std::size_t... states>
HWY_INLINE void change_all(const Rule& rule, Vec<T>* x, std::index_sequence<states...>) {
  ops::HWY_NAMESPACE::change(rule, x[states]..., x[sizeof...(states)]);
}

template <class Rule, class T>
void loop(const Rule& given, const UpdateIn& in, const UpdateOut& out, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kOut = Rule::kTensors;
  constexpr std::size_t kIn = kOut + 1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Rule rule = given;  // what is written cannot be its numbers
  std::array<Vec<T>, kIn> x = [&]<std::size_t... k>(std::index_sequence<k...>) {
    return std::array<Vec<T>, kIn>{((void)k, Vec<T>(0))...};
  }
  (std::make_index_sequence<kIn>());
  const auto change = [&] {
    change_all<Rule, T>(rule, x.data(), std::make_index_sequence<kOut>());
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t k = 0; k < kIn; ++k) x[k] = hn::LoadU(d, static_cast<const T*>(in[k]) + i);
    change();
    for (std::size_t k = 0; k < kOut; ++k) hn::StoreU(x[k].raw, d, static_cast<T*>(out[k]) + i);
  }
  if (i == n) return;
  HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(T)] = {};
  for (std::size_t k = 0; k < kIn; ++k) {
    std::copy_n(static_cast<const T*>(in[k]) + i, n - i, rest);
    x[k] = hn::Load(d, rest);
  }
  change();
  for (std::size_t k = 0; k < kOut; ++k) {
    hn::Store(x[k].raw, d, rest);
    std::copy_n(rest, n - i, static_cast<T*>(out[k]) + i);
  }
}

template <class... Rules>
constexpr std::tuple<UpdateLoops<Rules>...> loops_of(std::tuple<UpdateLoops<Rules>...>*) {
  return {UpdateLoops<Rules>{.in_float = loop<Rules, float>, .in_double = loop<Rules, double>}...};
}

const AllUpdateLoops* update_loops() {
  static constexpr AllUpdateLoops loops = loops_of(static_cast<AllUpdateLoops*>(nullptr));
  return &loops;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {
namespace {

HWY_EXPORT(update_loops);

/// One pass over memory: out[i] = in[i] changed, where the last of `in` is the gradient. All are
/// contiguous, of one shape and any floating types; out[i] has the type of in[i] and may be in its
/// memory. Computed in float32, in float64 if the parameter is of that type. What has another type
/// than is computed in is converted, a tile at a time, in buffers on the stack.
template <class Rule>
class Tiles {
 public:
  Tiles(const Rule& rule, std::span<const View> in, std::span<const View> out)
      : rule_(rule), in_(in), out_(out) {
    const auto& loops = std::get<UpdateLoops<Rule>>(*HWY_DYNAMIC_DISPATCH(update_loops)());
    loop_ = compute_ == DType::float64 ? loops.in_double : loops.in_float;
  }

  void run() const {
    parallel_for(in_[0].count(), 16 * kUpdateTile, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; i += kUpdateTile) {
        run_tile(i, std::min(kUpdateTile, end - i));
      }
    });
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

  const Rule& rule_;
  std::span<const View> in_;
  std::span<const View> out_;
  DType compute_ = in_[0].dtype == DType::float64 ? DType::float64 : DType::float32;
  typename UpdateLoops<Rule>::Loop loop_ = nullptr;
};

/// A number from a tensor without dimensions.
double number_of(const View& view) {
  return visit_dtype(view.dtype,
                     [&]<class T>(TypeTag<T>) { return static_cast<double>(*view.as<const T>()); });
}

/// Updates are of contiguous tensors; others are copied, each in its own type.
std::size_t copy_bytes(const View& view) {
  if (view.contiguous()) return 0;
  return round_up(static_cast<std::size_t>(view.count()) * size_of(view.dtype), 64);
}

template <class Rule>
struct UpdateSlot {
  static constexpr std::size_t kGradient = Rule::kTensors;
  static constexpr std::size_t kRate = kGradient + 1;
  static constexpr std::size_t kStep = kGradient + 2;

  static std::size_t workspace(const ops::Kernel& k) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i <= kGradient; ++i) bytes += copy_bytes(k.in[i]);
    return bytes;
  }
  static void run(const ops::Kernel& k) {
    double step = 0;
    if constexpr (Rule::kCountsSteps) step = number_of(k.in[kStep]);
    const Rule rule = Rule::of(k.attributes, number_of(k.in[kRate]), step);
    std::array<View, kGradient + 1> in;
    std::byte* room = k.workspace.data();
    for (std::size_t i = 0; i <= kGradient; ++i) {
      in[i] = k.in[i];
      if (in[i].contiguous()) continue;
      in[i] = copy_dense(k.in[i], k.in[i].dtype, room);
      room += copy_bytes(k.in[i]);
    }
    Tiles<Rule>(rule, in, k.out).run();
  }
};

}  // namespace

std::vector<KernelRow> update_kernels() {
  return {kernel_row<UpdateSlot<ops::SgdRule>>("sgd_update"),
          kernel_row<UpdateSlot<ops::MomentumRule>>("sgd_momentum_update"),
          kernel_row<UpdateSlot<ops::AdamRule>>("adam_update"),
          kernel_row<UpdateSlot<ops::RmspropRule>>("rmsprop_update"),
          kernel_row<UpdateSlot<ops::AdagradRule>>("adagrad_update"),
          kernel_row<UpdateSlot<ops::LionRule>>("lion_update")};
}

}  // namespace tenure::kernels
#endif
