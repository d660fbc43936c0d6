#include "tenure/kernels/cpu/loss/pointwise.h"

#include "tenure/kernels/cpu/loss/pointwise_loops.h"
#include "tenure/kernels/cpu/loss/sums.h"
#include "tenure/kernels/cpu/move/pieces.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kPointwiseGrain = 1 << 15;

/// Calls `f(index, n)` for pieces of at most a tile that cover [begin, end).
template <class T, class F>
void for_each_tile(std::int64_t begin, std::int64_t end, const F& f) {
  for (std::int64_t i = begin; i < end; i += Pieces<T>::kTile) {
    f(i, std::min(Pieces<T>::kTile, end - i));
  }
}

template <class T>
void typed_loss(PointwiseLoss kind, T p, const View& x, const View& t, bool reduces, double scale,
                const View& out) {
  const PointwiseLoops<T>& loops = find_loops(kind, T{});
  const Pieces<T> xs(x, x.shape);
  const Pieces<T> ts(t, x.shape);
  const std::int64_t n = x.count();
  if (reduces) {
    const double total = sum_blocks(n, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      typename Pieces<T>::Tile x_tile, t_tile;
      double sum = 0;
      for_each_tile<T>(begin, end, [&](std::int64_t i, std::int64_t count) {
        sum += loops.sum(xs.read(i, count, x_tile), ts.read(i, count, t_tile), count, p);
      });
      return sum;
    });
    return write_number(out, 0, total * scale);
  }
  const PieceWriter<T> writer(out);
  parallel_for(n, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
    typename Pieces<T>::Tile x_tile, t_tile, out_tile;
    for_each_tile<T>(begin, end, [&](std::int64_t i, std::int64_t count) {
      loops.map(xs.read(i, count, x_tile), ts.read(i, count, t_tile), count, p,
                writer.room(i, out_tile));
      writer.write(i, count, out_tile);
    });
  });
}

template <class T>
void typed_gradient(PointwiseLoss kind, T p, const View& x, const View& t, const View& dy,
                    double scale, const View& out) {
  const PointwiseLoops<T>& loops = find_loops(kind, T{});
  const Pieces<T> xs(x, x.shape);
  const Pieces<T> ts(t, x.shape);
  const Pieces<T> dys(dy, x.shape);
  const PieceWriter<T> writer(out);
  const std::int64_t dy_step = dy.shape.empty() ? 0 : 1;
  parallel_for(x.count(), kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
    typename Pieces<T>::Tile x_tile, t_tile, dy_tile, out_tile;
    for_each_tile<T>(begin, end, [&](std::int64_t i, std::int64_t count) {
      loops.gradient(xs.read(i, count, x_tile), ts.read(i, count, t_tile),
                     dys.read(i, dy_step == 0 ? 1 : count, dy_tile), dy_step, static_cast<T>(scale),
                     count, p, writer.room(i, out_tile));
      writer.write(i, count, out_tile);
    });
  });
}

}  // namespace

void pointwise_loss(PointwiseLoss kind, double p, const View& x, const View& t, bool reduces,
                    double scale, const View& out) {
  if (x.dtype == DType::float64) return typed_loss<double>(kind, p, x, t, reduces, scale, out);
  typed_loss<float>(kind, static_cast<float>(p), x, t, reduces, scale, out);
}

void pointwise_loss_gradient(PointwiseLoss kind, double p, const View& x, const View& t,
                             const View& dy, double scale, const View& out) {
  if (x.dtype == DType::float64) return typed_gradient<double>(kind, p, x, t, dy, scale, out);
  typed_gradient<float>(kind, static_cast<float>(p), x, t, dy, scale, out);
}

}  // namespace tenure::kernels
