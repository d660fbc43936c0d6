#include "tenure/kernels/cpu/conv/conv.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/conv/grid.h"
#include "tenure/kernels/cpu/elementwise/after.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/slots.h"

namespace tenure::kernels {
namespace {

using conv::Bands;
using conv::Grid;
using conv::Weights;

Grid forward_grid(const Convolution& c) {
  Grid grid{.batch = c.batch,
            .groups = c.groups,
            .in_channels = c.in_channels,
            .out_channels = c.out_channels};
  for (std::size_t i = 0; i < 3; ++i) {
    const Convolution::Axis& a = c.axes[i];
    grid.axes[i] = {.in = a.in,
                    .count = a.out,
                    .step = a.stride,
                    .first = -a.padding,
                    .taps = a.kernel,
                    .apart = a.dilation,
                    .target = a.out};
  }
  return grid;
}

/// The inputs at one residue modulo the stride, as sums over the outputs that they went into. No
/// taps: they went nowhere.
conv::Axis backward_axis(const Convolution::Axis& a, std::int64_t residue) {
  conv::Axis axis{.in = a.out,
                  .count = a.in > residue ? (a.in - residue + a.stride - 1) / a.stride : 0,
                  .taps = 0,
                  .to = residue,
                  .to_step = a.stride,
                  .target = a.in};
  // Place k of the kernel takes part if residue + padding - k dilation is a multiple of the stride:
  // every `period`-th one. They are taken from the last to the first, which goes forth in y.
  const std::int64_t period = a.stride / std::gcd(a.stride, a.dilation);
  std::int64_t last = -1;
  for (std::int64_t k = std::max<std::int64_t>(0, a.kernel - period); k < a.kernel; ++k) {
    if ((residue + a.padding - k * a.dilation) % a.stride == 0) last = k;
  }
  if (last < 0) return axis;
  axis.taps = last / period + 1;
  axis.apart = period * a.dilation / a.stride;
  axis.weight = last;
  axis.weight_step = -period;
  axis.first = (residue + a.padding - last * a.dilation) / a.stride;
  return axis;
}

std::int64_t residues(const Convolution& c) {
  return c.axes[0].stride * c.axes[1].stride * c.axes[2].stride;
}

Grid backward_grid(const Convolution& c, std::int64_t residue) {
  Grid grid{.batch = c.batch,
            .groups = c.groups,
            .in_channels = c.out_channels,
            .out_channels = c.in_channels};
  for (std::size_t i = 3; i-- > 0;) {
    grid.axes[i] = backward_axis(c.axes[i], residue % c.axes[i].stride);
    residue /= c.axes[i].stride;
  }
  return grid;
}

bool is_empty(const Grid& grid) {
  return grid.batch * grid.axes[0].count * grid.axes[1].count * grid.axes[2].count *
             grid.out_channels ==
         0;
}

std::array<std::int64_t, 3> kernel_of(const Convolution& c) {
  return {c.axes[0].kernel, c.axes[1].kernel, c.axes[2].kernel};
}

/// With columns that fill up the widest vectors: plans are the same on every machine.
std::size_t packed_bytes(const Grid& grid, DType dtype) {
  const std::size_t element = size_of(dtype);
  const std::size_t row = round_up(static_cast<std::size_t>(grid.out_group()) * element, 64);
  return static_cast<std::size_t>(grid.groups * grid.depth()) * row;
}

std::size_t band_bytes(const Grid& grid, DType dtype, std::int64_t slots) {
  return Bands(grid, size_of(dtype), slots).bytes * static_cast<std::size_t>(slots);
}

/// Room for the bands of up to kMaxSlots threads.
std::size_t most_band_bytes(const Grid& grid, DType dtype) {
  std::size_t most = 0;
  for (std::int64_t slots = 1; slots <= kMaxSlots; ++slots) {
    most = std::max(most, band_bytes(grid, dtype, slots));
  }
  return most;
}

/// How many threads the workspace was made for.
std::int64_t slots_for(const Grid& grid, DType dtype, std::size_t workspace, bool shared_bands) {
  std::int64_t slots = std::min<std::int64_t>(num_threads(), kMaxSlots);
  while (slots > 1 && band_bytes(grid, dtype, shared_bands ? slots : 1) *
                              (shared_bands ? 1u : static_cast<std::size_t>(slots)) >
                          workspace) {
    --slots;
  }
  return slots;
}

}  // namespace

std::size_t convolve_workspace(const Convolution& c, DType dtype) {
  const Grid grid = forward_grid(c);
  if (is_empty(grid)) return 0;
  return packed_bytes(grid, dtype) + most_band_bytes(grid, dtype);
}

void convolve(const Convolution& c, DType dtype, const void* x, const void* weights,
              const void* bias, bool relu, void* y, std::span<std::byte> workspace,
              const ops::FusedNeighbours* after) {
  const Grid grid = forward_grid(c);
  if (is_empty(grid)) return;
  const std::int64_t out_group = c.out_channels / c.groups;
  const Weights w{.data = weights,
                  .place = c.in_channels / c.groups * c.out_channels,
                  .source = c.out_channels,
                  .target = 1,
                  .group = out_group,
                  .kernel = kernel_of(c)};
  const std::size_t packed = packed_bytes(grid, dtype);
  conv::run_grid(grid, dtype, x, w, {.bias = bias, .relu = relu, .after = after}, y,
                 workspace.data(), workspace.data() + packed,
                 slots_for(grid, dtype, workspace.size() - packed, true));
}

std::size_t convolve_input_gradient_workspace(const Convolution& c, DType dtype) {
  std::size_t bytes = 0;
  for (std::int64_t r = 0; r < residues(c); ++r) {
    const Grid grid = backward_grid(c, r);
    if (is_empty(grid) || grid.taps() == 0) continue;
    bytes = std::max(bytes, packed_bytes(grid, dtype) + most_band_bytes(grid, dtype));
  }
  return bytes;
}

void convolve_input_gradient(const Convolution& c, DType dtype, const void* dy, const void* weights,
                             void* dx, std::span<std::byte> workspace,
                             const ops::FusedNeighbours* after) {
  const std::int64_t elements =
      c.batch * c.axes[0].in * c.axes[1].in * c.axes[2].in * c.in_channels;
  bool has_gaps = c.outputs() * c.out_channels == 0;
  for (std::int64_t r = 0; r < residues(c); ++r) has_gaps |= backward_grid(c, r).taps() == 0;
  if (has_gaps) std::memset(dx, 0, static_cast<std::size_t>(elements) * size_of(dtype));
  if (c.outputs() * c.out_channels == 0) {
    if (after != nullptr) run_after(*after);
    return;
  }
  const bool fills = residues(c) == 1 && !has_gaps;
  const Weights w{.data = weights,
                  .place = c.in_channels / c.groups * c.out_channels,
                  .source = 1,
                  .target = c.out_channels,
                  .group = c.out_channels / c.groups,
                  .kernel = kernel_of(c)};
  for (std::int64_t r = 0; r < residues(c); ++r) {
    const Grid grid = backward_grid(c, r);
    if (is_empty(grid) || grid.taps() == 0) continue;
    const std::size_t packed = packed_bytes(grid, dtype);
    conv::run_grid(grid, dtype, dy, w, {.after = fills ? after : nullptr}, dx, workspace.data(),
                   workspace.data() + packed,
                   slots_for(grid, dtype, workspace.size() - packed, true));
  }
  if (after != nullptr && !fills) run_after(*after);
}

std::size_t convolve_weight_gradient_workspace(const Convolution& c, DType dtype) {
  const Grid grid = forward_grid(c);
  if (is_empty(grid)) return 0;
  return band_bytes(grid, dtype, 1) * static_cast<std::size_t>(kMaxSlots);
}

void convolve_weight_gradient(const Convolution& c, DType dtype, const void* x, const void* dy,
                              void* dweights, void* dbias, bool adds,
                              std::span<std::byte> workspace) {
  const Grid grid = forward_grid(c);
  if (is_empty(grid) && adds) return;
  if (is_empty(grid)) {
    std::memset(dweights, 0,
                static_cast<std::size_t>(grid.depth() * c.out_channels) * size_of(dtype));
    if (dbias == nullptr) return;
    std::memset(dbias, 0, static_cast<std::size_t>(c.out_channels) * size_of(dtype));
    return;
  }
  conv::run_weight_gradient(grid, dtype, x, dy, dweights, dbias, adds, workspace.data(),
                            slots_for(grid, dtype, workspace.size(), false));
}

}  // namespace tenure::kernels
