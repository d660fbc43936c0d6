#include <cstdlib>
#include <limits>

#include "tenure/kernels/cpu/reduce/arg_fold.h"
#include "tenure/kernels/cpu/reduce/reduce.h"
#include "tenure/kernels/cpu/reduce/reduce_plan.h"

namespace tenure::kernels {
namespace {

using reduce::Dim;
using reduce::FoldBest;
using reduce::RowNumber;
using reduce::Walk;

constexpr std::int64_t kArgTile = 4096;
constexpr std::int64_t kColumns = 240;  // see kTransposedBlock in reduce_plan.cpp
constexpr std::int64_t kLanes = 64;
constexpr std::int64_t kGrain = 1 << 16;
constexpr std::int64_t kMaxChunks = 256;

template <class T>
struct Best {
  T value;
  std::int64_t index;
};

/// arg_reduce for inputs that are compared as T.
template <bool kMax, class T>
class Search {
 public:
  Search(const View& in, Walk kept, Walk searched)
      : data_(in.as<const std::byte>()),
        size_(static_cast<std::int64_t>(size_of(in.dtype))),
        same_type_(in.dtype == dtype_of<T>()),
        convert_(reduce::find_convert(in.dtype, dtype_of<T>())),
        fold_(reduce::find_fold_best(kMax, dtype_of<T>())),
        kept_(kept),
        searched_(searched) {}

  void operator()(std::int64_t* out) const {
    const std::int64_t outputs = kept_.count();
    const std::int64_t terms = searched_.count();
    const Dim axis = searched_.rank() == 1 ? searched_[0] : Dim{};
    const Dim row = kept_.rank() > 0 ? kept_[kept_.rank() - 1] : Dim{};
    const bool short_run = terms < kLanes;
    constexpr std::int64_t kMaxRows = std::numeric_limits<RowNumber<T>>::max();
    if (searched_.rank() <= 1 && row.size > 1 && terms <= kMaxRows &&
        (short_run || std::abs(row.stride) < std::abs(axis.stride))) {
      search_columns(axis, row, outputs, out);
    } else if (outputs < 16 && terms >= 4 * kGrain) {
      for (std::int64_t i = 0; i < outputs; ++i) out[i] = search_in_chunks(kept_.offset(i), terms);
    } else {
      const std::int64_t grain = (kGrain + terms - 1) / terms;
      parallel_for(outputs, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          out[i] = search_run(kept_.offset(i), 0, terms).index;
        }
      });
    }
  }

 private:
  static void keep_better(Best<T>& best, const Best<T>& other) {
    const bool same =
        other.value == best.value || (other.value != other.value && best.value != best.value);
    if (reduce::replaces<kMax>(other.value, best.value) || (same && other.index < best.index)) {
      best = other;
    }
  }

  void search_columns(Dim axis, Dim row, std::int64_t outputs, std::int64_t* out) const {
    const std::int64_t per_row = (row.size + kColumns - 1) / kColumns;
    const std::int64_t grain = (kGrain - 1) / (axis.size * std::min(row.size, kColumns)) + 1;
    parallel_for(outputs / row.size * per_row, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t column = i % per_row * kColumns;
        const std::int64_t first = i / per_row * row.size + column;
        search_block(axis, row.stride, std::min(kColumns, row.size - column), first, out);
      }
    });
  }

  void search_block(Dim axis, std::int64_t stride, std::int64_t width, std::int64_t first,
                    std::int64_t* out) const {
    alignas(64) T tile[kArgTile];
    alignas(64) T best[kColumns];
    alignas(64) RowNumber<T> found[kColumns] = {};
    const std::byte* src = data_ + kept_.offset(first) * size_;
    convert_(src, {0, stride}, best, {0, 1}, 1, width);
    if (same_type_ && stride == 1) {
      fold_(best, found, src, axis.stride, axis.size, width, 0);
    } else {
      const std::int64_t height = kArgTile / width;
      for (std::int64_t r = 0; r < axis.size; r += height) {
        const std::int64_t m = std::min(height, axis.size - r);
        convert_(src + r * axis.stride * size_, {axis.stride, stride}, tile, {width, 1}, m, width);
        fold_(best, found, tile, width, m, width, r);
      }
    }
    for (std::int64_t j = 0; j < width; ++j) out[first + j] = found[j];
  }

  std::int64_t search_in_chunks(std::int64_t offset, std::int64_t terms) const {
    Best<T> best[kMaxChunks];
    const std::int64_t chunk = std::max(kGrain, (terms - 1) / kMaxChunks + 1);
    const std::int64_t chunks = (terms - 1) / chunk + 1;
    parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        best[i] = search_run(offset, i * chunk, std::min(terms, (i + 1) * chunk));
      }
    });
    for (std::int64_t i = 1; i < chunks; ++i) keep_better(best[0], best[i]);
    return best[0].index;
  }

  /// The best of elements [begin, end) of the searched ones that start at `offset`.
  Best<T> search_run(std::int64_t offset, std::int64_t begin, std::int64_t end) const {
    const Dim run = searched_.rank() > 0 ? searched_[searched_.rank() - 1] : Dim{};
    const bool direct = same_type_ && (run.stride == 1 || run.size == 1);
    T tile[kArgTile];
    Best<T> best{};
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t left = run.size - i % run.size;  // of this run
      std::int64_t n = std::min(end - i, left);
      const std::byte* src = data_ + (offset + searched_.offset(i)) * size_;
      if (!direct) {
        n = std::min(n, kArgTile);
        convert_(src, {0, run.stride}, tile, {0, 1}, 1, n);
        src = reinterpret_cast<const std::byte*>(tile);
      }
      Best<T> found = search_contiguous(reinterpret_cast<const T*>(src), n);
      found.index += i;
      if (i == begin) best = found;
      keep_better(best, found);
      i += n;
    }
    return best;
  }

  Best<T> search_contiguous(const T* src, std::int64_t count) const {
    Best<T> best{src[0], 0};
    const std::int64_t rows = count / kLanes;
    if (rows > 0) {
      alignas(64) T values[kLanes];
      alignas(64) RowNumber<T> found[kLanes] = {};
      std::copy_n(src, kLanes, values);
      fold_(values, found, src, kLanes, rows, kLanes, 0);
      best = {values[0], found[0] * kLanes};
      for (std::int64_t j = 1; j < kLanes; ++j) {
        keep_better(best, {values[j], found[j] * kLanes + j});
      }
    }
    for (std::int64_t i = rows * kLanes; i < count; ++i) keep_better(best, {src[i], i});
    return best;
  }

  const std::byte* data_;
  std::int64_t size_;
  bool same_type_;
  reduce::ConvertPlane convert_;
  FoldBest fold_;
  Walk kept_;
  Walk searched_;
};

template <class T>
void search(Extremum kind, const View& in, const Walk& kept, const Walk& searched,
            std::int64_t* out) {
  if (kind == Extremum::max) {
    Search<true, T>(in, kept, searched)(out);
  } else {
    Search<false, T>(in, kept, searched)(out);
  }
}

}  // namespace

void arg_reduce(Extremum kind, const View& in, const Axes& axes, const View& out) {
  const bool all = axes.size() == in.shape.size();
  internal_check(all || axes.size() == 1, "an index is along one axis or all");
  internal_check(out.dtype == DType::int64, "an index is int64");
  Walk kept;
  Walk searched;
  for (int i = 0; i < in.shape.size(); ++i) {
    const Dim dim{in.shape[i], in.strides[i]};
    (all || axes[0] == i ? searched : kept).push(dim);
  }
  if (kept.count() == 0) return;
  internal_check(searched.count() > 0, "an extremum has elements");

  auto* indices = out.as<std::int64_t>();
  if (in.dtype == DType::float64) {
    search<double>(kind, in, kept, searched, indices);
  } else if (is_floating(in.dtype)) {
    search<float>(kind, in, kept, searched, indices);
  } else {
    search<std::int64_t>(kind, in, kept, searched, indices);
  }
}

}  // namespace tenure::kernels
