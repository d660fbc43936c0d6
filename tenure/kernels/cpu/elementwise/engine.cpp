#include "tenure/kernels/cpu/elementwise/engine.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/elementwise/source.h"
#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

void run_range(const Elementwise& op, std::span<const View> inputs, const View& out,
               std::int64_t begin, std::int64_t end, bool stream) {
  const std::size_t arity = inputs.size();
  const bool convert_out = op.out_type != out.dtype;
  const std::size_t out_size = size_of(out.dtype);
  const bool can_stream = op.body.streamed != nullptr && begins_line(out.data);
  const bool direct = !convert_out && (!stream || can_stream);
  const Body::Loop loop = direct && stream ? op.body.streamed : op.body.loop;

  std::array<Tile, 2 * kMaxArity> tiles;
  std::array<std::optional<Source>, kMaxArity> sources;
  std::int64_t step = direct ? end - begin : std::min<std::int64_t>(end - begin, kTile);
  for (std::size_t i = 0; i < arity; ++i) {
    sources[i].emplace(inputs[i], out.shape, op.in_types[i], tiles[2 * i], tiles[2 * i + 1]);
    step = std::min(step, sources[i]->longest());
  }
  for (std::size_t i = 0; i < arity; ++i) sources[i]->begin(begin, static_cast<std::size_t>(step));
  Tile result;
  Tile converted;
  for (std::int64_t at = begin; at < end; at += step) {
    const auto n = static_cast<std::size_t>(std::min(end - at, step));
    std::array<const void*, kMaxArity> in{};
    for (std::size_t i = 0; i < arity; ++i) in[i] = sources[i]->piece(at, n);
    std::byte* const place = out.as<std::byte>() + static_cast<std::size_t>(at) * out_size;
    loop(in.data(), direct ? place : result.bytes, n);
    if (direct) continue;
    const std::byte* from = result.bytes;
    if (convert_out) {
      std::byte* const to = stream ? converted.bytes : place;
      cast_elements(op.out_type, from, out.dtype, to, n);
      from = to;
    }
    if (stream) stream_copy(from, place, n * out_size);
  }
  if (stream) stream_fence();
}

}  // namespace

std::int64_t share_of_thread(std::int64_t n, double cost) {
  // As many threads as have enough to do, and the same for each.
  const auto threads = static_cast<std::int64_t>(
      std::clamp<double>(static_cast<double>(n) * cost / kWorkPerThread, 1, num_threads()));
  return static_cast<std::int64_t>(
      round_up(static_cast<std::size_t>((n - 1) / threads + 1), kTile));
}

bool should_stream(std::span<const View> inputs, const View& out) {
  const auto bytes = static_cast<std::size_t>(out.count()) * size_of(out.dtype);
  return bytes >= kStreamFrom && std::none_of(inputs.begin(), inputs.end(), [&](const View& view) {
           return view.data == out.data;
         });
}

void run_elementwise(const Elementwise& op, std::span<const View> inputs, const View& out) {
  const std::int64_t n = out.count();
  if (n == 0) return;
  const bool stream = should_stream(inputs, out);
  parallel_for(
      n, share_of_thread(n, op.cost),
      [&](std::int64_t begin, std::int64_t end) { run_range(op, inputs, out, begin, end, stream); },
      op.cost);
}

}  // namespace tenure::kernels
