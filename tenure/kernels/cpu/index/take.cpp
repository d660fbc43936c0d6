#include "tenure/kernels/cpu/index/take.h"

#include <algorithm>

#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

using namespace index;

std::int64_t grain_of(std::int64_t block) {
  return std::max<std::int64_t>(kGrain / std::max<std::int64_t>(block, 1), 1);
}

/// The dimension among [first, last) without `except` that has most elements; -1 if there is none.
int longest_axis(const Shape& shape, int first, int last, int except) {
  int longest = -1;
  for (int i = first; i < last; ++i) {
    if (i != except && (longest < 0 || shape[i] > shape[longest])) longest = i;
  }
  return longest;
}

/// Runs `f(axis, begin, size)` on slices of `axis`, in parallel when `work` elements are worth it.
/// Slices share no element of the output, so each keeps its serial order.
template <class F>
void for_slices(int axis, std::int64_t length, std::int64_t work, const F& f) {
  if (axis < 0) return f(0, 0, -1);
  const std::int64_t grain = std::max<std::int64_t>(length * kGrain / std::max(work, kGrain), 1);
  parallel_for(length, grain,
               [&](std::int64_t begin, std::int64_t end) { f(axis, begin, end - begin); });
}

void add_offsets(const Loop<1>& positions, std::int64_t begin, std::int64_t n,
                 std::int64_t* offsets) {
  positions.each(begin, begin + n, [&](const auto& at) { *offsets++ += at[0]; });
}

/// Copies the blocks that the positions of `find` select to consecutive places of `out`.
template <class F>
void copy_selected(const View& in, const View& out, const Loop<2>& block, std::int64_t positions,
                   const F& find) {
  const std::int64_t size = block.count();
  const std::size_t bytes = size_of(in.dtype);
  parallel_for(positions, grain_of(size), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t from[kBatch];
    std::int64_t to[kBatch];
    for (; begin < end; begin += kBatch) {
      const std::int64_t n = std::min(kBatch, end - begin);
      std::fill_n(from, n, 0);
      find(begin, n, from);
      if (block.rank() == 0) {
        gather_elements(bytes, out.as<std::byte>() + static_cast<std::size_t>(begin) * bytes,
                        in.data, from, n);
        continue;
      }
      for (std::int64_t i = 0; i < n; ++i) to[i] = (begin + i) * size;
      combine_blocks(ScatterMode::assign, in.dtype, block, out.data, to, in.data, from, n);
    }
  });
}

void scatter_slice(const View& out, int axis, const View& indices, const View& updates,
                   ScatterMode mode) {
  Strides base = out.strides;
  base[axis] = 0;
  const auto targets = make_loop(indices.shape, base, indices.strides);
  const auto sources = make_loop(indices.shape, updates.strides);
  const std::int64_t end = indices.count();
  std::int64_t from[kBatch];
  std::int64_t to[kBatch];
  for (std::int64_t begin = 0; begin < end; begin += kBatch) {
    const std::int64_t n = std::min(kBatch, end - begin);
    std::fill_n(to, n, 0);
    std::fill_n(from, n, 0);
    add_index_offsets(targets, indices, out.shape[axis], out.strides[axis], begin, n, to);
    add_offsets(sources, begin, n, from);
    combine_blocks(mode, out.dtype, {}, out.data, to, updates.data, from, n);
  }
}

/// Finds the blocks that one index view per leading dimension selects.
class IndexSet {
 public:
  IndexSet(std::string_view op, const View& view, std::span<const View> indices)
      : view_(view), indices_(indices) {
    internal_check(
        !indices.empty() && indices.size() <= static_cast<std::size_t>(view.shape.size()),
        "one index view per leading dimension");
    for (std::size_t k = 0; k < indices.size(); ++k) {
      internal_check(indices[k].shape == indices[0].shape, "index views of one shape");
      check_indices(op, indices[k], view.shape[static_cast<int>(k)]);
    }
  }

  int rank() const { return static_cast<int>(indices_.size()); }
  const Shape& shape() const { return indices_[0].shape; }

  void add(std::int64_t begin, std::int64_t n, std::int64_t* offsets) const {
    const Strides nothing = Strides::filled(shape().size(), 0);
    for (int k = 0; k < rank(); ++k) {
      const View& index = indices_[static_cast<std::size_t>(k)];
      add_index_offsets(make_loop(shape(), nothing, index.strides), index, view_.shape[k],
                        view_.strides[k], begin, n, offsets);
    }
  }

 private:
  View view_;
  std::span<const View> indices_;
};

/// Puts the part [begin, begin + size) of the dimension `axis` of `values`, counted after the index
/// dimensions; everything if size is negative.
void put_slice(View out, const IndexSet& set, View values, ScatterMode mode, int axis,
               std::int64_t begin, std::int64_t size) {
  const int lead = set.shape().size();
  if (size >= 0) {
    out = narrow(out, set.rank() + axis, begin, size);
    values = narrow(values, lead + axis, begin, size);
  }
  Loop<2> block;
  for (int i = set.rank(); i < out.shape.size(); ++i) {
    block.push(out.shape[i], {out.strides[i], values.strides[lead + i - set.rank()]});
  }
  const auto sources = make_loop(values.shape, 0, lead, values.strides);
  const std::int64_t end = sources.count();
  std::int64_t from[kBatch];
  std::int64_t to[kBatch];
  for (std::int64_t p = 0; p < end; p += kBatch) {
    const std::int64_t n = std::min(kBatch, end - p);
    std::fill_n(to, n, 0);
    std::fill_n(from, n, 0);
    set.add(p, n, to);
    add_offsets(sources, p, n, from);
    combine_blocks(mode, out.dtype, block, out.data, to, values.data, from, n);
  }
}

}  // namespace

void take(const View& input, int axis, const View& indices, const View& out, const char* op) {
  const View in = at_least_1d(input);
  const std::int64_t size = in.shape[axis];
  check_indices(op, indices, size);
  if (out.count() == 0) return;

  auto positions = make_loop(in.shape, 0, axis, in.strides, Strides::filled(axis, 0));
  positions.push(
      make_loop(indices.shape, Strides::filled(indices.shape.size(), 0), indices.strides));
  const auto block =
      make_loop(in.shape, axis + 1, in.shape.size(), contiguous_strides(in.shape), in.strides);
  copy_selected(in, out, block, positions.count(), [&](auto begin, auto n, auto* offsets) {
    add_index_offsets(positions, indices, size, in.strides[axis], begin, n, offsets);
  });
}

void gather(const View& input, int axis, const View& indices, const View& out) {
  const View in = at_least_1d(input);
  const std::int64_t size = in.shape[axis];
  check_indices("gather", indices, size);
  internal_check(out.shape == indices.shape, "gather makes one element per index");
  if (out.count() == 0) return;

  const View index = at_least_1d(indices);
  Strides base = in.strides;
  base[axis] = 0;
  const auto positions = make_loop(index.shape, base, index.strides);
  copy_selected(in, out, {}, out.count(), [&](auto begin, auto n, auto* offsets) {
    add_index_offsets(positions, index, size, in.strides[axis], begin, n, offsets);
  });
}

void scatter(const View& output, int axis, const View& index_view, const View& update_view,
             ScatterMode mode) {
  const View out = at_least_1d(output);
  const View indices = at_least_1d(index_view);
  const View updates = at_least_1d(update_view);
  check_indices("scatter", indices, out.shape[axis]);
  internal_check(out.dtype == updates.dtype, "updates of the output's type");
  if (indices.count() == 0) return;

  const int split = longest_axis(indices.shape, 0, indices.shape.size(), axis);
  for_slices(split, split < 0 ? 0 : indices.shape[split], indices.count(),
             [&](int slice, std::int64_t begin, std::int64_t size) {
               if (size < 0) return scatter_slice(out, axis, indices, updates, mode);
               scatter_slice(narrow(out, slice, begin, size), axis,
                             narrow(indices, slice, begin, size),
                             narrow(updates, slice, begin, size), mode);
             });
}

void index_gather(const View& in, std::span<const View> indices, const View& out, const char* op) {
  const IndexSet set(op, in, indices);
  if (out.count() == 0) return;
  const auto block =
      make_loop(in.shape, set.rank(), in.shape.size(), contiguous_strides(in.shape), in.strides);
  copy_selected(in, out, block, count(set.shape()),
                [&](auto begin, auto n, auto* offsets) { set.add(begin, n, offsets); });
}

void index_put(const View& out, std::span<const View> indices, const View& values, bool accumulate,
               const char* op) {
  const IndexSet set(op, out, indices);
  internal_check(out.dtype == values.dtype, "values of the output's type");
  if (values.count() == 0) return;
  const ScatterMode mode = accumulate ? ScatterMode::add : ScatterMode::assign;
  const int split = longest_axis(out.shape, set.rank(), out.shape.size(), -1);
  for_slices(split, split < 0 ? 0 : out.shape[split], values.count(),
             [&](int slice, std::int64_t begin, std::int64_t size) {
               put_slice(out, set, values, mode, slice - set.rank(), begin, size);
             });
}

}  // namespace tenure::kernels
