#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/gemm/packed_columns.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>

#include "tenure/kernels/cpu/gemm/cut-inl.h"
#include "tenure/kernels/cpu/gemm/packed_gemm.h"
#include "tenure/kernels/cpu/gemm/packing-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using cut::HWY_NAMESPACE::Cut;
using cut::HWY_NAMESPACE::PackedColumns;
using cut::HWY_NAMESPACE::Source;

template <class Packing>
void pack_all(const Source& columns, std::int64_t n, std::int64_t terms, std::byte* to) {
  using E = typename Packing::Element;
  const Cut cut(false, n, static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<E>())));
  const PackedColumns<E> packed{reinterpret_cast<E*>(to), Packing::elements(terms)};
  parallel_for(cut.panels, 1, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t p = begin; p < end; ++p) {
      for (std::int64_t k = 0; k < terms; k += kGemmDepth) {
        Packing::pack(
            columns.at(cut.first(p), k), cut.count(p), std::min(kGemmDepth, terms - k),
            const_cast<E*>(packed.panel(cut.first(p), cut.width(p), Packing::elements(k))),
            cut.width(p));
      }
    }
  });
}

void pack_columns(DType dtype, const Gemm& shape, const void* b, std::byte* to) {
  const Source columns{dtype, static_cast<const std::byte*>(b), shape.b_column, shape.b_row};
  packing::HWY_NAMESPACE::with_packing(
      dtype, [&]<class Packing>(Packing) { pack_all<Packing>(columns, shape.n, shape.k, to); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(pack_columns);

void pack_columns(DType dtype, const Gemm& shape, const void* b, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(pack_columns)(dtype, shape, b, to);
}

}  // namespace tenure::kernels
#endif
