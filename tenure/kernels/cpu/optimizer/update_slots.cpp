#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/optimizer/update_slots.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <new>
#include <type_traits>
#include <utility>

#include "tenure/kernels/cpu/elementwise/body_target-inl.h"
#include "tenure/kernels/cpu/elementwise/value-inl.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/kernels/parallel.h"
#include "tenure/ops/nn/updates-inl.h"

#ifndef TENURE_KERNELS_CPU_OPTIMIZER_UPDATE_ONCE
#define TENURE_KERNELS_CPU_OPTIMIZER_UPDATE_ONCE
namespace tenure::kernels {

inline constexpr std::size_t kMaxUpdated = 3;
/// Elements of a tile: what is converted stays in the first level of the cache.
inline constexpr std::int64_t kUpdateTile = 1024;

/// Contiguous elements of the type that is computed in; the gradient comes last.
using UpdateIn = std::array<const void*, kMaxUpdated + 1>;
using UpdateOut = std::array<void*, kMaxUpdated>;

/// An update as this instruction set has it. Its struct is made once for a call, in memory of the
/// caller's.
struct UpdateLoops {
  using Make = void (*)(void* room, const ops::Attributes& options, double rate, double step);
  /// One pass over n elements.
  using Loop = void (*)(const void* update, const UpdateIn&, const UpdateOut&, std::int64_t n);
  Make make = nullptr;
  Loop in_float = nullptr;
  Loop in_double = nullptr;
};
inline constexpr std::size_t kUpdateBytes = 128;

}  // namespace tenure::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace {

/// One vector of all tensors, read and written by number. Numbers that compilers know: only then
/// are the vectors in registers.
template <class T, std::size_t... states, class Op, class Read, class Write>
HWY_INLINE void change_vectors(std::index_sequence<states...>, const Op& update, const Read& read,
                               const Write& write) {
  constexpr std::size_t kGradient = sizeof...(states);
  Vec<T> x[] = {read(states)..., read(kGradient)};
  update.change(x[states]..., x[kGradient]);
  (write(states, x[states]), ...);
}

template <class Op, class T>
void loop(const void* given, const UpdateIn& in, const UpdateOut& out, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr std::make_index_sequence<Op::tensors> kStates;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Op update = *static_cast<const Op*>(given);  // what is written cannot be its numbers
  const auto from = [&](std::size_t k) { return static_cast<const T*>(in[k]); };
  const auto to = [&](std::size_t k) { return static_cast<T*>(out[k]); };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    change_vectors<T>(
        kStates, update, [&](std::size_t k) HWY_ATTR { return Vec<T>(hn::LoadU(d, from(k) + i)); },
        [&](std::size_t k, Vec<T> x) HWY_ATTR { hn::StoreU(x.raw, d, to(k) + i); });
  }
  if (i == n) return;
  HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(T)] = {};
  change_vectors<T>(
      kStates, update,
      [&](std::size_t k) HWY_ATTR {
        std::copy_n(from(k) + i, n - i, rest);
        return Vec<T>(hn::Load(d, rest));
      },
      [&](std::size_t k, Vec<T> x) HWY_ATTR {
        hn::Store(x.raw, d, rest);
        std::copy_n(rest, n - i, to(k) + i);
      });
}

template <class Op>
void make(void* room, const ops::Attributes& options, double rate, double step) {
  static_assert(sizeof(Op) <= kUpdateBytes && std::is_trivially_copyable_v<Op>);
  new (room) Op(ops::options_of<Op>(options), rate, step);
}

template <class... Ops>
const UpdateLoops* loops_of(ops::List<Ops...>) {
  static constexpr UpdateLoops loops[] = {
      {.make = make<Ops>, .in_float = loop<Ops, float>, .in_double = loop<Ops, double>}...};
  return loops;
}

/// By their places in the list.
const UpdateLoops* update_loops() { return loops_of(ops::HWY_NAMESPACE::Updates()); }

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
class Tiles {
 public:
  Tiles(const UpdateLoops& loops, const void* update, std::span<const View> in,
        std::span<const View> out)
      : update_(update), in_(in), out_(out) {
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
    loop_(update_, from, to, n);
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if (out_[k].dtype == compute_) continue;
      cast_elements(compute_, rooms[k], out_[k].dtype, place(out_[k], at), size);
    }
  }
  static void* place(const View& view, std::int64_t at) {
    return view.as<std::byte>() + at * static_cast<std::int64_t>(size_of(view.dtype));
  }

  const void* update_;
  std::span<const View> in_;
  std::span<const View> out_;
  DType compute_ = in_[0].dtype == DType::float64 ? DType::float64 : DType::float32;
  UpdateLoops::Loop loop_ = nullptr;
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

using Updates = ops::HWY_NAMESPACE::Updates;

template <class Op>
struct UpdateSlot {
  static constexpr std::size_t kGradient = Op::tensors;
  static constexpr std::size_t kRate = kGradient + 1;
  static constexpr std::size_t kStep = kGradient + 2;

  static std::size_t workspace(const ops::Kernel& k) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i <= kGradient; ++i) bytes += copy_bytes(k.in[i]);
    return bytes;
  }
  static void run(const ops::Kernel& k) {
    double step = 0;
    if constexpr (Op::counts_steps) step = number_of(k.in[kStep]);
    const UpdateLoops& loops = HWY_DYNAMIC_DISPATCH(update_loops)()[ops::index_of<Op>(Updates())];
    alignas(16) std::byte update[kUpdateBytes];
    loops.make(update, k.attributes, number_of(k.in[kRate]), step);
    std::array<View, kGradient + 1> in;
    std::byte* room = k.workspace.data();
    for (std::size_t i = 0; i <= kGradient; ++i) {
      in[i] = k.in[i];
      if (in[i].contiguous()) continue;
      in[i] = copy_dense(k.in[i], k.in[i].dtype, room);
      room += copy_bytes(k.in[i]);
    }
    Tiles(loops, update, in, k.out).run();
  }
};

template <class... Ops>
std::vector<KernelRow> rows_of(ops::List<Ops...>) {
  return {kernel_row<UpdateSlot<Ops>>(Ops::name)...};
}

}  // namespace

std::vector<KernelRow> update_kernels() { return rows_of(Updates()); }

}  // namespace tenure::kernels
#endif
