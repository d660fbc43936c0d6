#include "tenure/kernels/cpu/sort/sort.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/sort/axis.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;
using ops::sorted_axis;
using ops::with_axis;

/// sort, or argsort if `indices`.
template <bool indices>
struct SortSlot {
  static std::size_t workspace(const Kernel& k) {
    return sort_workspace(with_axis(k.in[0]), sorted_axis(k, ops::SortAttributes::axis), indices);
  }
  static void run(const Kernel& k) {
    const View out = with_axis(k.out[0]);
    const Order order =
        k.attributes.flag(ops::SortAttributes::descending) ? Order::descending : Order::ascending;
    sort_axis(with_axis(k.in[0]), sorted_axis(k, ops::SortAttributes::axis), order,
              indices ? nullptr : &out, indices ? &out : nullptr, k.workspace);
  }
};

struct TopKSlot {
  static std::size_t workspace(const Kernel& k) {
    return topk_workspace(with_axis(k.in[0]), sorted_axis(k, ops::TopKAttributes::axis),
                          k.attributes.integer(ops::TopKAttributes::size));
  }
  static void run(const Kernel& k) {
    topk(with_axis(k.in[0]), sorted_axis(k, ops::TopKAttributes::axis),
         k.attributes.integer(ops::TopKAttributes::size),
         k.attributes.flag(ops::TopKAttributes::largest), with_axis(k.out[0]), with_axis(k.out[1]),
         k.workspace);
  }
};

/// unique, or unique_all. Who measures sorts into the workspace, where run finds it.
template <bool all>
struct UniqueSlot {
  static std::size_t workspace(const Kernel& k) { return unique_workspace(k.in[0], all); }
  static ops::Specs measure(const Kernel& k) {
    const std::int64_t n = unique_count(k.in[0], all, k.workspace);
    if (!all) return {{k.in[0].dtype, {n}}};
    return {{k.in[0].dtype, {n}}, {DType::int64, k.in[0].shape}, {DType::int64, {n}}};
  }
  static void run(const Kernel& k) {
    unique(k.in[0], all, k.workspace, k.out[0], all ? &k.out[1] : nullptr,
           all ? &k.out[2] : nullptr);
  }
};

struct SearchSlot {
  static void run(const Kernel& k) {
    search_sorted(k.in[0], k.in[1], k.attributes.flag(ops::SearchAttributes::right), k.out[0]);
  }
};

}  // namespace

std::vector<KernelRow> sorting_kernels() {
  return {kernel_row<SortSlot<false>>("sort"),
          kernel_row<SortSlot<true>>("argsort"),
          kernel_row<TopKSlot>("topk"),
          kernel_row<UniqueSlot<false>>("unique"),
          kernel_row<UniqueSlot<true>>("unique_all"),
          kernel_row<SearchSlot>("searchsorted")};
}

}  // namespace tenure::kernels
