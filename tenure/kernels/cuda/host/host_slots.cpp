#include <algorithm>
#include <cstring>
#include <vector>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/core/list.h"

// Note: what the host computes for a GPU
//
// Decompositions and solutions of matrices, Fourier transforms, and a few short lists of numbers
// have no kernels here yet. Their inputs are copied to memory of the host's, the CPU's kernel runs
// there, and what it makes is copied back: the results are the CPU's, to the bit. The call waits
// for the GPU, as each that looks at elements. What it takes on the host is in the CPU's books, as
// workspace.

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

/// A name as an argument of a template.
template <std::size_t n>
struct Name {
  char text[n];
  constexpr Name(const char (&given)[n]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(given, n, text);
  }
};

/// Memory of the host's while a call runs.
class HostRoom {
 public:
  explicit HostRoom(std::size_t bytes) {
    if (bytes == 0) return;
    mem::ThreadContext& context = mem::this_thread();
    const mem::CategoryGuard category(context, Category::workspace);
    storage_ = mem::Storage::allocate(context, cpu, bytes);
  }
  ~HostRoom() {
    if (storage_ != nullptr) storage_->release();
  }
  HostRoom(const HostRoom&) = delete;
  HostRoom& operator=(const HostRoom&) = delete;
  std::byte* data() const {
    return storage_ == nullptr ? nullptr : static_cast<std::byte*>(storage_->data());
  }

 private:
  mem::Storage* storage_ = nullptr;
};

constexpr std::size_t kAligned = 256;
std::size_t room_of(const View& view) {
  const std::size_t bytes = static_cast<std::size_t>(view.count()) * size_of(view.dtype);
  return (bytes + kAligned - 1) / kAligned * kAligned;
}
std::size_t bytes_of(const View& view) {
  return static_cast<std::size_t>(view.count()) * size_of(view.dtype);
}

View contiguous_at(const View& view, void* data) {
  return {.dtype = view.dtype,
          .shape = view.shape,
          .strides = contiguous_strides(view.shape),
          .data = data};
}

/// On the GPU: a place for what does not lie in one piece.
std::size_t room_to_gather(const Kernel& k) {
  std::size_t most = 0;
  for (const View& in : k.in) {
    if (!in.contiguous()) most = std::max(most, room_of(in));
  }
  return most;
}

void run_on_host(const Kernel& k, const ops::KernelSlot& slot) {
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr) return;
  std::size_t bytes = 0;
  for (const std::span<const View> views : {k.in, k.out}) {
    for (const View& view : views) bytes += room_of(view);
  }
  const HostRoom room(bytes);
  std::byte* at = room.data();
  std::vector<View> in;
  std::vector<View> out;
  for (const View& given : k.in) {
    in.push_back(contiguous_at(given, at));
    at += room_of(given);
    if (given.count() == 0) continue;
    const void* from = given.data;
    if (!given.contiguous()) {
      copy_elements(*gpu, k.op, given, contiguous_at(given, k.workspace.data()));
      from = k.workspace.data();
    }
    gpu->read(in.back().data, from, bytes_of(given));
  }
  for (const View& wanted : k.out) {
    out.push_back(contiguous_at(wanted, at));
    at += room_of(wanted);
  }
  Kernel host{.op = k.op, .in = in, .out = out, .attributes = k.attributes, .workspace = {}};
  const std::size_t working = slot.workspace == nullptr ? 0 : slot.workspace(host);
  const HostRoom workspace(working);
  host.workspace = {workspace.data(), working};
  slot.run(host);
  for (std::size_t i = 0; i < out.size(); ++i) {
    gpu->write(k.out[i].data, out[i].data, bytes_of(out[i]));
  }
}

template <Name name>
struct HostSlot {
  static std::size_t workspace(const Kernel& k) { return room_to_gather(k); }
  static void run(const Kernel& k) {
    static constinit ops::NamedOp op(name.text);
    run_on_host(k, ops::kernel_of(*op, cpu));
  }
};
template <Name name>
Row host_row() {
  return row<HostSlot<name>>(name.text);
}

}  // namespace

Family host_family() {
  return {{host_row<"cholesky">(), host_row<"solve_triangular">(), host_row<"solve">(),
           host_row<"inv">(), host_row<"det">(), host_row<"slogdet">(), host_row<"qr">(),
           host_row<"eigh">(), host_row<"svd">(), host_row<"fft">(), host_row<"ifft">(),
           host_row<"rfft">(), host_row<"irfft">(), host_row<"fftfreq">(), host_row<"rfftfreq">(),
           host_row<"logspace">()},
          {}};
}

}  // namespace tenure::kernels::cuda
