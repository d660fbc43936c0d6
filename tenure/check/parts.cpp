#include <memory>
#include <optional>
#include <vector>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/index_ops.h"

namespace tenure::check {
namespace {

using ops::OpRecord;
using ops::View;

std::vector<View> views_of(const std::vector<Tensor>& tensors, Pin* pins) {
  std::vector<View> views;
  for (const Tensor& tensor : tensors) {
    TensorBody& body = tensor.body("check");
    Pin& pin = *pins++;
    pin.take(body, "check", Site::current());
    views.push_back(
        {.dtype = body.dtype, .shape = body.shape, .strides = body.strides, .data = pin.data()});
  }
  return views;
}

/// Piece `part` of `parts` along the first axis.
View piece_of(const View& whole, int part, int parts) {
  View piece = whole;
  piece.shape[0] /= parts;
  const std::int64_t elements = part * piece.shape[0] * piece.strides[0];
  piece.data = static_cast<std::byte*>(whole.data) +
               elements * static_cast<std::int64_t>(size_of(whole.dtype));
  return piece;
}

/// A call on some tensors, at once or in parts.
class Call {
 public:
  Call(const Case& c, const std::vector<Tensor>& inputs)
      : case_(c),
        inputs_(inputs),
        device_(inputs[0].device()),
        pins_(std::make_unique<Pin[]>(inputs.size())),
        in_(views_of(inputs_, pins_.get())),
        attributes_(kernel_attributes(c, in_)),
        rule_(c.op->parts(kernel(in_, {}))) {
    for (std::size_t i = 0; i < in_.size() && rule_; ++i) {
      if ((rule_->in >> i & 1) != 0 && in_[i].shape.empty()) rule_.reset();  // nothing to cut
    }
  }

  /// Nothing if it cannot run in parts.
  const std::optional<ops::Parts>& rule() const { return rule_; }
  std::int64_t length() const {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if ((rule_->in >> i & 1) != 0) return in_[i].shape[0];
    }
    return 0;
  }

  std::vector<Tensor> run(int parts) const {
    std::vector<Tensor> results;
    for (const ops::Spec& spec : case_.op->infer(kernel(in_, {}))) {
      results.push_back(full(spec.shape, 0, spec.dtype));
    }
    const auto pins = std::make_unique<Pin[]>(results.size());
    const std::vector<View> out = views_of(results, pins.get());
    const ops::KernelSlot& slot = ops::kernel_of(*case_.op, device_);
    for (int part = 0; part < parts; ++part) {
      std::vector<View> in = in_;
      std::vector<View> to = out;
      for (std::size_t i = 0; i < in.size() && parts > 1; ++i) {
        if ((rule_->in >> i & 1) != 0) in[i] = piece_of(in[i], part, parts);
      }
      for (std::size_t o = 0; o < to.size() && parts > 1; ++o) {
        if ((rule_->sums >> o & 1) == 0) to[o] = piece_of(to[o], part, parts);
      }
      ops::Kernel call = kernel(in, to);
      Tensor workspace =
          zeros({slot.workspace == nullptr ? 0 : static_cast<std::int64_t>(slot.workspace(call))},
                DType::uint8);
      Pin pin;
      pin.take(workspace.body("check"), "check", Site::current());
      call.workspace = {static_cast<std::byte*>(pin.data()), workspace.nbytes()};
      call.adds = part > 0 && rule_->sums != 0;
      slot.run(call);
      ops::backend(device_).wait();  // the workspace ends here
    }
    return results;
  }

 private:
  ops::Kernel kernel(std::span<const View> in, std::span<const View> out) const {
    return {.op = case_.op->name, .in = in, .out = out, .attributes = attributes_};
  }

  const Case& case_;
  const std::vector<Tensor>& inputs_;
  Device device_;
  std::unique_ptr<Pin[]> pins_;
  std::vector<View> in_;
  ops::Attributes attributes_;
  std::optional<ops::Parts> rule_;
};

/// Equal to the bit, or, where sums may be joined anew, as far as both are within their bound.
Verdict is_same(const Case& c, const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                bool rounds_anew) {
  if (!rounds_anew) return equals(got, expected);
  for (std::size_t o = 0; o < got.size(); ++o) {
    Bound bound = bound_of(*c.op, got[o].dtype(), got[o].device());
    bound.ulp = 2 * bound.ulp + 1;
    bound.of_largest = true;
    const ops::Reference reference{expected[o].shape(), values_of(expected[o])};
    if (Verdict verdict = agrees(got[o], reference, bound); !verdict) return verdict;
  }
  return Verdict(true);
}

void expect_same_in_parts(const Case& c, const std::vector<Tensor>& inputs) {
  const Call call(c, inputs);
  if (!call.rule()) return;
  const ops::KernelSlot& slot = ops::kernel_of(*c.op, inputs[0].device());
  if (call.rule()->sums != 0 && !slot.adds) return;
  const std::vector<Tensor> expected = call.run(1);
  for (const int parts : {2, 3, 4, 6}) {
    if (call.length() % parts != 0 || call.length() / parts < call.rule()->least) continue;
    CHECK_TRUE(is_same(c, call.run(parts), expected, slot.rounds_parts_anew))
        << describe(c) << ", first input " << to_string(inputs[0].shape()) << ", in " << parts
        << " parts";
  }
}

/// The inputs, those that are cut repeated along their first axis.
std::vector<Tensor> lengthened(const Case& c, std::vector<Tensor> inputs, std::int64_t times) {
  const std::uint32_t cut = Call(c, inputs).rule()->in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if ((cut >> i & 1) == 0) continue;
    Dims along = Dims::filled(inputs[i].shape().size(), 1);
    along[0] = times;
    inputs[i] = tile(inputs[i], along);
  }
  return inputs;
}

}  // namespace

void check_parts(const OpRecord& op) {
  if (op.parts == nullptr || !ops::needs_kernel(op) || op.elementwise != nullptr) return;
  for (const Case& c : cases_of(op)) {
    const std::vector<Tensor> inputs = make_all(c);
    if (inputs.empty() || !Call(c, inputs).rule()) continue;
    expect_same_in_parts(c, inputs);
    expect_same_in_parts(c, lengthened(c, inputs, 12));
  }
}

}  // namespace tenure::check
