#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/within.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

// Note: connectionist temporal classification (Graves et al., 2006)
//
// A path has a class or the blank at each step; without repetitions and blanks it is the target.
// The loss is -log of the sum over all paths of their probabilities. Labels are the target with
// blanks around and between: 2 n + 1 of them for n classes. Paths that end at label s are summed
// from those that ended there, one before, or two before, where that skips a blank between two
// classes that differ. All in logarithms; kNever is that of a probability of 0, which is finite so
// that gradients are.

constexpr double kNever = -1e30;

/// The operands, checked.
struct CtcInputs {
  CtcInputs(std::span<const Operand> operands, const Attributes& a, const char* op)
      : specs(specs_of(op, operands)), blank(a.integer(CtcAttributes::blank)) {
    if (!is_floating(specs[0].dtype)) {
      throw DTypeError(op, fmt::format("takes floats, not {}", name_of(specs[0].dtype)));
    }
    const Shape& x = specs[0].shape;
    if (x.size() != 3 || x[1] == 0 || x[2] == 0) {
      throw ShapeError(
          op, fmt::format("log-probabilities are [batch, time, classes], not {}", to_string(x)),
          {x.to_vector()});
    }
    batch = x[0];
    time = x[1];
    classes = x[2];
    const Kernel k{.op = op, .in = specs};
    const Shape& targets = specs[1].shape;
    require_shape(k, 1, "targets", {batch, targets.empty() ? 0 : targets.back()});
    longest = targets.back();
    require_shape(k, 2, "input lengths", {batch});
    require_shape(k, 3, "target lengths", {batch});
    for (std::size_t i = 1; i < 4; ++i) {
      if (specs[i].dtype == DType::int32 || specs[i].dtype == DType::int64) continue;
      throw DTypeError(op, fmt::format("targets and lengths are int32 or int64, not {}",
                                       name_of(specs[i].dtype)));
    }
    if (blank < 0 || blank >= classes) {
      throw ValueError(fmt::format("{}: a blank of {} is none of {} classes", op, blank, classes));
    }
  }
  std::int64_t labels() const { return 2 * longest + 1; }

  std::vector<View> specs;
  std::int64_t blank;
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t classes = 0;
  std::int64_t longest = 0;
};

struct CtcLoss {
  static constexpr auto family = "losses";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto name = "ctc_loss";
  static constexpr auto signature =
      "ctc_loss(log_probabilities, targets, input_lengths, target_lengths, blank = 0, "
      "zero_infinity = false, reduction = mean)";
  static constexpr auto doc =
      "-log of the probability of all paths that stand for the target; its mean or its sum";
  static constexpr auto types = kFloatTypes;
  static constexpr auto memory = allocates().with_workspace();
  static constexpr double ulp_of_largest = 64;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const CtcInputs in(operands, a, name);
    const Site at = operands[0].site();
    const auto whole = [&](std::size_t i) {
      return in.specs[i].dtype == DType::int64 ? operands[i].tensor()
                                               : cast({operands[i].tensor(), at}, DType::int64);
    };
    const Tensor x = widened(operands[0]);
    const auto length = [&](std::size_t i, std::int64_t most, const char* subject) {
      const Requirement fits{.op = name, .subject = subject, .is_index = true};
      return expand_dims({within({whole(i), at}, 0, static_cast<double>(most), fits), at}, 1);
    };
    const Tensor input_lengths = length(2, in.time, "input length ");
    const Tensor target_lengths = length(3, in.longest, "target length ");
    const Tensor labels = labels_of(in, whole(1), target_lengths, at);

    const Tensor each_step =
        broadcast_to({expand_dims({labels, at}, 1), at}, {in.batch, in.time, in.labels()});
    const Tensor logs = gather({x, at}, 2, {each_step, at});
    const Tensor places = arange(0, in.labels(), 1, DType::int64, at);
    const Tensor skips = may_skip(in, labels, at);
    // Before the first step all is at the first blank.
    const Tensor start = full({in.batch, in.labels()}, kNever, x.dtype(), at);
    Tensor paths = where({equal({places, at}, {0, at}), at}, {0.0, at}, {start, at});
    for (std::int64_t t = 0; t < in.time; ++t) {
      const Tensor skipping = where({skips, at}, {moved(paths, 2, kNever, at), at}, {kNever, at});
      const std::vector<Tensor> ways{paths, moved(paths, 1, kNever, at), skipping};
      Tensor sums = logsumexp({stack(OperandList(ways, at), 0), at}, 0);
      sums = add({std::move(sums), at}, {select({logs, at}, 1, t), at});
      const Tensor has_step = greater({input_lengths, at}, {t, at});
      paths = where({has_step, at}, {std::move(sums), at}, {paths, at});
    }
    // The last label or the one before, if there is one.
    const Tensor last = mul({target_lengths, at}, {2, at});
    const Tensor before = maximum({sub({last, at}, {1, at}), at}, {0, at});
    const Tensor at_last = gather({paths, at}, 1, {last, at});
    const Tensor at_before = where({greater({last, at}, {0, at}), at},
                                   {gather({paths, at}, 1, {before, at}), at}, {kNever, at});
    const std::vector<Tensor> ends{at_last, at_before};
    Tensor each = neg({logsumexp({stack(OperandList(ends, at), 0), at}, 0), at});
    each = squeeze({std::move(each), at}, 1);
    const double impossible =
        a.flag(CtcAttributes::zero_infinity) ? 0 : std::numeric_limits<double>::infinity();
    const Tensor is_possible = less({each, at}, {-kNever / 2, at});
    each = where({is_possible, at}, {each, at}, {impossible, at});
    if (reduction_of(a) == Reduction::mean) {
      const Tensor steps = cast({maximum({whole(3), at}, {1, at}), at}, each.dtype());
      each = div({std::move(each), at}, {steps, at});
    }
    return {reduced(std::move(each), reduction_of(a), in.specs[0].dtype, at)};
  }

  /// Classes with blanks around and between, [batch, labels]; blanks behind the end of a target.
  static Tensor labels_of(const CtcInputs& in, const Tensor& targets, const Tensor& lengths,
                          Site at) {
    const Tensor numbers = arange(0, in.longest, 1, DType::int64, at);
    const Tensor is_inside = less({numbers, at}, {lengths, at});
    // What lies behind the end of a target may be anything.
    const Tensor classes = where({is_inside, at}, {targets, at}, {in.blank, at});
    const Tensor inside = within({classes, at}, 0, static_cast<double>(in.classes - 1),
                                 {.op = name, .subject = "class ", .is_index = true});
    const Tensor blanks = full({in.batch, in.longest}, in.blank, DType::int64, at);
    const std::vector<Tensor> pairs{blanks, inside};
    const Tensor mixed =
        reshape({stack(OperandList(pairs, at), 2), at}, {in.batch, 2 * in.longest});
    const std::vector<Tensor> all{mixed, full({in.batch, 1}, in.blank, DType::int64, at)};
    return concat(OperandList(all, at), 1);
  }
  /// Where a class may follow another one without a blank.
  static Tensor may_skip(const CtcInputs& in, const Tensor& labels, Site at) {
    const Tensor is_class = not_equal({labels, at}, {in.blank, at});
    const Tensor two_before = moved(labels, 2, in.blank, at);
    const Tensor differs = not_equal({labels, at}, {two_before, at});
    return logical_and({is_class, at}, {differs, at});
  }
  /// [batch, labels] with each label's number `by` labels later, and `value` before.
  static Tensor moved(const Tensor& x, std::int64_t by, const Scalar& value, Site at) {
    const std::int64_t labels = x.shape()[1];
    Tensor before = full({x.shape()[0], std::min(by, labels)}, value, x.dtype(), at);
    if (by >= labels) return before;
    const std::vector<Tensor> parts{std::move(before), slice({x, at}, 1, 0, labels - by)};
    return concat(OperandList(parts, at), 1);
  }

  /// Of one sequence: the sum over all paths, step by step.
  static long double probability(const std::vector<Reference>& in, std::int64_t row,
                                 std::int64_t blank) {
    const auto integer = [&](std::size_t i, std::int64_t index) {
      return static_cast<std::int64_t>(in[i].values[static_cast<std::size_t>(index)]);
    };
    const std::int64_t longest = in[1].shape[1];
    std::vector<std::int64_t> labels{blank};
    for (std::int64_t i = 0; i < integer(3, row); ++i) {
      labels.push_back(integer(1, row * longest + i));
      labels.push_back(blank);
    }
    std::vector<long double> sums(labels.size(), 0);
    sums[0] = 1;
    for (std::int64_t t = 0; t < integer(2, row); ++t) {
      std::vector<long double> next(labels.size(), 0);
      for (std::size_t s = 0; s < labels.size(); ++s) {
        long double from = sums[s] + (s > 0 ? sums[s - 1] : 0);
        if (s > 1 && labels[s] != blank && labels[s] != labels[s - 2]) from += sums[s - 2];
        next[s] = from * std::exp(at(in[0], {row, t, labels[s]}));
      }
      sums = std::move(next);
    }
    return sums.back() + (sums.size() > 1 ? sums[sums.size() - 2] : 0);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    std::int64_t row = 0;
    const auto value = [&](const Dims&) {
      const long double p = probability(in, row, a.integer(CtcAttributes::blank));
      long double loss = p > 0                                  ? -std::log(p)
                         : a.flag(CtcAttributes::zero_infinity) ? 0
                                                                : -std::log(0.0L);
      const long double length = in[3].values[static_cast<std::size_t>(row)];
      if (reduction_of(a) == Reduction::mean) loss /= std::max(length, 1.0L);
      ++row;
      return loss;
    };
    return reduced(make_reference(in[2].shape, value), reduction_of(a));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, std::vector<double> targets, std::int64_t longest,
                           std::vector<double> input_lengths, std::vector<double> target_lengths,
                           DType dtype, std::int64_t blank, Reduction reduction) {
      return Sample{
          .inputs = {{.shape = x, .low = -2, .high = -0.5},
                     {.shape = {x[0], longest}, .dtype = dtype, .values = std::move(targets)},
                     {.shape = {x[0]}, .dtype = dtype, .values = std::move(input_lengths)},
                     {.shape = {x[0]}, .dtype = dtype, .values = std::move(target_lengths)}},
          .attributes = Attributes(blank, true, to_attribute(reduction))};
    };
    return {sample({3, 5, 4}, {1, 2, 2, 3, 1, 0, 2, 0, 0}, 3, {5, 4, 3}, {3, 2, 1}, DType::int64, 0,
                   Reduction::mean),
            sample({2, 4, 3}, {0, 1, 1, 0}, 2, {4, 3}, {2, 0}, DType::int32, 2, Reduction::none),
            // Too few steps for two equal classes.
            sample({1, 2, 3}, {1, 1}, 2, {2}, {2}, DType::int64, 0, Reduction::sum),
            sample({1, 1, 2}, {}, 0, {1}, {0}, DType::int64, 0, Reduction::sum)};
  }
};

}  // namespace

std::vector<const OpRecord*> ctc_loss_ops() { return {&record<CtcLoss>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor ctc_loss(const Operand& log_probabilities, const Operand& targets,
                const Operand& input_lengths, const Operand& target_lengths,
                const CtcOptions& options) {
  return ops::call(
      ops::record<ops::CtcLoss>(), {log_probabilities, targets, input_lengths, target_lengths},
      ops::Attributes(options.blank, options.zero_infinity, ops::to_attribute(options.reduction)));
}

}  // namespace tenure
