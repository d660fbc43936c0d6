// Tiles: blocks of results whose sums are in registers, per instruction set.
#if defined(TENURE_KERNELS_CPU_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_GEMM_TILE_INL_H_
#undef TENURE_KERNELS_CPU_GEMM_TILE_INL_H_
#else
#define TENURE_KERNELS_CPU_GEMM_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

// Arrays of sums are in registers only if every loop over them is unrolled.
#undef TENURE_UNROLL
#undef TENURE_UNROLL_SOME
#ifdef __clang__
#define TENURE_UNROLL _Pragma("unroll")
#define TENURE_UNROLL_SOME _Pragma("unroll 4")
#else
#define TENURE_UNROLL _Pragma("GCC unroll 16")
#define TENURE_UNROLL_SOME _Pragma("GCC unroll 4")
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::tile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A load with a mask reads nothing outside of it; compilers count on that, too.
constexpr bool kLoadsHaveMasks = HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86;
/// A store with a mask of AVX2 takes some processors as long as ten without.
constexpr bool kStoresHaveMasks = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86;

/// How columns are cut into panels, and how many rows beside one the registers hold sums of.
template <class T>
struct TileShape {
  static constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
  static constexpr int kWidth = 2;                       ///< vectors of a full panel
  static constexpr int kRows = kManyRegisters ? 14 : 6;  ///< at most

  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>())); }
  static std::int64_t columns() { return kWidth * lanes(); }
  static std::int64_t panels(std::int64_t n) { return (n + columns() - 1) / columns(); }
  /// Columns with those that fill up the vectors that hold them.
  static std::int64_t padded(std::int64_t n) { return (n + lanes() - 1) / lanes() * lanes(); }
};

/// Loads and stores of the first `n` elements of `width` vectors.
template <class T, int width>
class Columns {
 public:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  HWY_INLINE explicit Columns(std::int64_t n) : n_(n) {
    for (int v = 0; v < width; ++v) masks_[v] = hn::FirstN(D(), filled(v));
  }
  HWY_INLINE V load(const T* from, int v) const {
    from += v * lanes();
    if (kLoadsHaveMasks) return hn::MaskedLoad(masks_[v], D(), from);
    return filled(v) == lanes() ? hn::LoadU(D(), from) : load_some(from, filled(v));
  }
  HWY_INLINE void store(V x, T* to, int v) const {
    to += v * lanes();
    if (kStoresHaveMasks) {
      hn::BlendedStore(x, masks_[v], D(), to);
    } else if (filled(v) == lanes()) {
      hn::StoreU(x, D(), to);
    } else {
      store_some(x, to, filled(v));
    }
  }

 private:
  static HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }
  HWY_INLINE std::int64_t filled(int v) const {
    return std::clamp<std::int64_t>(n_ - v * lanes(), 0, lanes());
  }
  static HWY_NOINLINE V load_some(const T* from, std::int64_t n) {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
    std::copy_n(from, n, buffer);
    return hn::Load(D(), buffer);
  }
  static HWY_NOINLINE void store_some(V x, T* to, std::int64_t n) {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(x, D(), buffer);
    std::copy_n(buffer, n, to);
  }

  std::int64_t n_;
  hn::Mask<D> masks_[width];
};

/// The sums of a tile on their way from registers to memory, whence loops of any kind may take
/// them.
template <class T, int rows, int width>
class Sums {
 public:
  using D = hn::ScalableTag<T>;
  HWY_INLINE void set(hn::Vec<D> x, int r, int v) {
    hn::Store(x, D(), buffer_ + (r * width + v) * TileShape<T>::lanes());
  }
  HWY_INLINE hn::Vec<D> get(int r, int v) const {
    return hn::Load(D(), buffer_ + (r * width + v) * TileShape<T>::lanes());
  }

 private:
  HWY_ALIGN T buffer_[static_cast<std::size_t>(rows * width) * HWY_MAX_BYTES / sizeof(T)];
};

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::tile
HWY_AFTER_NAMESPACE();
#endif
