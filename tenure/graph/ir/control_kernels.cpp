#include "tenure/graph/ir/control_kernels.h"

#include <algorithm>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/graph/ir/control_call.h"
#include "tenure/graph/ir/control_ops.h"

namespace tenure::graph {
namespace {

using ops::Kernel;
using ops::Spec;
using ops::View;

/// Hands out pieces of a call's workspace; without one, counts how much it would be, and notes
/// what lies where if that is asked for.
class Pieces {
 public:
  explicit Pieces(const ControlCall& call, std::byte* data = nullptr,
                  std::vector<ops::WorkspacePiece>* notes = nullptr)
      : alignment_(static_cast<std::size_t>(call.device().alignment())),
        data_(data),
        notes_(notes) {}
  std::byte* take(const char* what, const Spec& spec) {
    const auto bytes = static_cast<std::size_t>(bytes_of(spec));
    note({.what = what, .offset = used_, .bytes = bytes, .spec = spec});
    return advance(bytes);
  }
  /// One arena for all bodies, of which one runs at a time.
  std::byte* take_arena(const BodyPrograms& programs) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(programs[i]->plan().arena);
      note({.offset = used_, .bytes = bytes, .body = static_cast<int>(i)});
      most = std::max(most, bytes);
    }
    return advance(most);
  }
  std::size_t used() const { return used_; }

 private:
  void note(const ops::WorkspacePiece& piece) const {
    if (notes_ != nullptr) notes_->push_back(piece);
  }
  std::byte* advance(std::size_t bytes) {
    std::byte* const piece = data_ == nullptr ? nullptr : data_ + used_;
    used_ += round_up(bytes, alignment_);
    return piece;
  }

  std::size_t alignment_;
  std::byte* data_;
  std::vector<ops::WorkspacePiece>* notes_;
  std::size_t used_ = 0;
};

/// The operands of a call with rows in order, copied where they are not. Without a device they are
/// only counted.
std::vector<std::byte*> straight_operands(const Kernel& kernel, std::size_t skipped,
                                          Pieces& workspace, ops::Backend* device = nullptr) {
  std::vector<std::byte*> pointers;
  for (const View& view : kernel.in.subspan(skipped)) {
    auto* data = static_cast<std::byte*>(view.data);
    if (!is_contiguous(view.shape, view.strides)) {
      data = workspace.take("operand in order", spec_of(view));
      if (device != nullptr) {
        device->copy({.dtype = view.dtype,
                      .shape = view.shape,
                      .strides = contiguous_strides(view.shape),
                      .data = data},
                     view);
      }
    }
    pointers.push_back(data);
  }
  return pointers;
}

std::vector<std::byte*> outputs_of(const Kernel& kernel) {
  std::vector<std::byte*> pointers;
  for (const View& out : kernel.out) pointers.push_back(static_cast<std::byte*>(out.data));
  return pointers;
}

/// Memory that values go to and fro between, step by step, and that ends in the outputs.
class Ping {
 public:
  Ping(const char* what, std::span<const Spec> specs, std::vector<std::byte*> outputs,
       Pieces& workspace, ops::Backend* device = nullptr)
      : device_(device), now_(std::move(outputs)) {
    now_.resize(specs.size());
    for (const Spec& spec : specs) {
      bytes_.push_back(static_cast<std::size_t>(bytes_of(spec)));
      next_.push_back(workspace.take(what, spec));
    }
    last_ = now_;
  }
  void begin(std::span<std::byte* const> values) { move(values, now_); }
  const std::vector<std::byte*>& now() const { return now_; }
  const std::vector<std::byte*>& next() const { return next_; }
  void swap() { std::swap(now_, next_); }
  void end() {
    if (now_ != last_) move(now_, last_);
  }

 private:
  void move(std::span<std::byte* const> from, const std::vector<std::byte*>& to) const {
    const auto bytes = [](std::byte* data, std::size_t n) {
      return View{.dtype = DType::uint8,
                  .shape = {static_cast<std::int64_t>(n)},
                  .strides = {1},
                  .data = data};
    };
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (bytes_[i] != 0) device_->copy(bytes(to[i], bytes_[i]), bytes(from[i], bytes_[i]));
    }
  }
  ops::Backend* device_;
  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> now_;
  std::vector<std::byte*> next_;
  std::vector<std::byte*> last_;
};

/// What a kernel says of its workspace, which it lays out with `lay_out`.
template <class Members>
struct WithLayout {
  static std::size_t workspace(const Kernel& k) {
    const ControlCall call(k);
    Pieces workspace(call);
    Members::lay_out(call, workspace);
    return workspace.used();
  }
  static std::vector<ops::WorkspacePiece> pieces(const Kernel& k) {
    const ControlCall call(k);
    std::vector<ops::WorkspacePiece> notes;
    Pieces workspace(call, nullptr, &notes);
    Members::lay_out(call, workspace);
    return notes;
  }
};

constexpr const char* kState = "next state";
constexpr const char* kCarry = "next carry";
constexpr const char* kCondition = "condition";
const Spec kFlag{DType::boolean, {}};

struct CondKernel : WithLayout<CondKernel> {
  static void lay_out(const ControlCall& call, Pieces& workspace) {
    straight_operands(call.kernel, 1, workspace);
    workspace.take_arena(call.compiled());
  }
  static void run(const Kernel& k) {
    const ControlCall call(k);
    Pieces workspace(call, k.workspace.data());
    const std::vector<std::byte*> data = straight_operands(k, 1, workspace, &call.device());
    const std::size_t branch = call.read(k.in[0].data) ? 0 : 1;
    const auto all = std::span<std::byte* const>(data);
    const std::vector<std::byte*> inputs = call.bodies.inputs_of<std::byte*>(
        branch, all.first(all.size() - call.captured()), all.last(call.captured()));
    call.compiled()[branch]->run_at(inputs, outputs_of(k), workspace.take_arena(call.compiled()));
  }
};

struct WhileKernel : WithLayout<WhileKernel> {
  static void lay_out(const ControlCall& call, Pieces& workspace) {
    straight_operands(call.kernel, 0, workspace);
    const Ping state(kState, call.operands(), {}, workspace);
    workspace.take(kCondition, kFlag);
    workspace.take_arena(call.compiled());
  }
  static void run(const Kernel& k) {
    const ControlCall call(k);
    Pieces workspace(call, k.workspace.data());
    const std::vector<std::byte*> data = straight_operands(k, 0, workspace, &call.device());
    Ping state(kState, call.operands(), outputs_of(k), workspace, &call.device());
    state.begin(data);
    const std::vector<std::byte*> flag{workspace.take(kCondition, kFlag)};
    std::byte* const arena = workspace.take_arena(call.compiled());
    const auto captures = std::span<std::byte* const>(data).last(call.captured());
    const BodyPrograms& programs = call.compiled();
    const auto step = [&](std::size_t body, const std::vector<std::byte*>& outputs) {
      programs[body]->run_at(call.bodies.inputs_of<std::byte*>(body, state.now(), captures),
                             outputs, arena);
    };
    const std::int64_t most = k.attributes.integer(ControlAttributes::most_iterations);
    for (std::int64_t i = 0;; ++i) {
      step(0, flag);
      if (!call.read(flag[0])) break;
      if (most != 0 && i >= most) throw_runaway(most);
      step(1, state.next());
      state.swap();
    }
    state.end();
  }
};

struct ScanKernel : WithLayout<ScanKernel> {
  static void lay_out(const ControlCall& call, Pieces& workspace) {
    straight_operands(call.kernel, 0, workspace);
    const Ping carry(kCarry, call.operands().first(carried(call.kernel)), {}, workspace);
    workspace.take_arena(call.compiled());
  }
  static void run(const Kernel& k) {
    const ControlCall call(k);
    Pieces workspace(call, k.workspace.data());
    const std::vector<std::byte*> data = straight_operands(k, 0, workspace, &call.device());
    Ping carry(kCarry, call.operands().first(carried(k)), outputs_of(k), workspace, &call.device());
    carry.begin(data);
    std::byte* const arena = workspace.take_arena(call.compiled());
    const auto captures = std::span<std::byte* const>(data).last(call.captured());
    const BodyPrograms& programs = call.compiled();
    const std::size_t operands = call.operands().size();
    const std::int64_t length = scan_length(k);
    for (std::int64_t i = 0; i < length; ++i) {
      std::vector<std::byte*> in = carry.now();
      for (std::size_t x = carried(k); x < operands; ++x) {
        in.push_back(data[x] + i * bytes_of(call.operands()[x]));
      }
      std::vector<std::byte*> out = carry.next();
      for (const View& y : k.out.subspan(carried(k))) {
        out.push_back(static_cast<std::byte*>(y.data) + i * bytes_of(element_of(spec_of(y))));
      }
      programs[0]->run_at(call.bodies.inputs_of<std::byte*>(0, in, captures), out, arena);
      carry.swap();
    }
    carry.end();
  }
};

template <class Members>
const ops::KernelSlot& slot_of() {
  static const ops::KernelSlot slot = ops::make_slot<Members>();
  return slot;
}

}  // namespace

const ops::KernelSlot& cond_kernel() { return slot_of<CondKernel>(); }
const ops::KernelSlot& while_kernel() { return slot_of<WhileKernel>(); }
const ops::KernelSlot& scan_kernel() { return slot_of<ScanKernel>(); }

}  // namespace tenure::graph
