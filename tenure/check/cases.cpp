#include "tenure/check/cases.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "tenure/check/numbers.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/expected.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/ops/core/prepare.h"
#include "tenure/ops/core/reference.h"
#include "tenure/tensor/host.h"

namespace tenure::check {
namespace {

bool types_in_turn = false;  // written before the first check

using ops::OpRecord;
using ops::Reference;
using ops::Sample;

/// Uniform in [low, high] for floats, on the integers in between for the other types. False if
/// there are none.
bool fill(Input& input, double low, double high, std::mt19937_64& random) {
  const auto n = static_cast<std::size_t>(count(input.shape));
  if (!is_floating(input.dtype)) {
    const bool is_bool = input.dtype == DType::boolean;
    low = std::ceil(is_unsigned(input.dtype) ? std::max(low, 0.0) : low);
    high = std::floor(is_bool ? std::min(high, 1.0) : high);
    if (low > high) return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = is_floating(input.dtype) ? low + unit * (high - low)
                                                  : low + std::floor(unit * (high - low + 1));
    input.values.push_back(nearest(input.dtype, value));
  }
  return true;
}

std::uint64_t seed_of(const char* name, std::size_t sample, DType dtype) {
  std::uint64_t hash = 1469598103934665603u;
  for (const char* c = name; *c != '\0'; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211u;
  }
  return hash * 64 + sample * 16 + static_cast<std::uint64_t>(dtype);
}

std::optional<Case> make_case(const OpRecord& op, const Sample& sample, std::size_t number,
                              DType dtype) {
  Case c{.op = &op, .sample = fmt::format("{}", number), .attributes = sample.attributes};
  std::mt19937_64 random(seed_of(op.name, number, dtype));
  for (const Sample::Input& from : sample.inputs) {
    Input input{.dtype = from.dtype.value_or(dtype), .shape = from.shape};
    input.is_random = from.values.empty();
    if (input.is_random) {
      if (!fill(input, from.low, from.high, random)) return std::nullopt;
    } else {
      for (std::size_t i = 0; i < static_cast<std::size_t>(count(input.shape)); ++i) {
        input.values.push_back(nearest(input.dtype, from.values.at(i)));
      }
    }
    c.inputs.push_back(std::move(input));
  }
  return c;
}

bool varies(const Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                     [](const Sample::Input& input) { return !input.dtype; });
}

bool is_still(LayoutKind layout, int axis, int rank) {
  return layout == LayoutKind::still || (layout == LayoutKind::first_still && axis == 0) ||
         (layout == LayoutKind::last_still && axis == rank - 1);
}

struct Placement {
  Strides strides;
  std::int64_t first = 0;  // element of the storage
  std::int64_t room = 0;   // elements of the storage
};

Placement place(const Shape& shape, LayoutKind layout) {
  const int rank = shape.size();
  Placement placement{.strides = Strides::filled(rank, 0)};
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    const int axis = layout == LayoutKind::transposed ? i : rank - 1 - i;
    if (is_still(layout, axis, rank)) continue;
    if (layout == LayoutKind::stepped) step *= 2;
    placement.strides[axis] = layout == LayoutKind::reversed ? -step : step;
    if (layout == LayoutKind::reversed && shape[axis] > 0)
      placement.first += step * (shape[axis] - 1);
    step *= std::max<std::int64_t>(1, shape[axis]);
  }
  if (count(shape) == 0) return {.strides = placement.strides};
  const std::int64_t margin = layout == LayoutKind::contiguous ? 0 : 3;
  placement.first += margin;
  placement.room = step + 2 * margin;
  return placement;
}

}  // namespace

std::vector<Case> cases_of(const OpRecord& op) {
  std::vector<Case> cases;
  const std::vector<Sample> samples = op.samples();
  for (std::size_t number = 0; number < samples.size(); ++number) {
    for (int i = 0; i < kDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (varies(samples[number]) ? !op.takes(dtype) : i > 0) continue;
      if (auto c = make_case(op, samples[number], number, dtype)) cases.push_back(*std::move(c));
    }
  }
  return cases;
}

void take_types_in_turn() { types_in_turn = true; }

std::vector<Case> repeated_cases_of(const OpRecord& op) {
  std::vector<Case> all = cases_of(op);
  if (!types_in_turn) return all;
  std::vector<Case> some;
  std::size_t turn = 0;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t end = first + 1;
    while (end < all.size() && all[end].sample == all[first].sample) ++end;
    some.push_back(std::move(all[end - 1 - turn++ % (end - first)]));  // from wide to narrow
    first = end;
  }
  return some;
}

std::string describe(const Case& c) {
  std::string text = fmt::format("{}, sample {}:", c.op->name, c.sample);
  for (const Input& input : c.inputs) {
    text += fmt::format(" {}{}", tenure::name_of(input.dtype), to_string(input.shape));
  }
  return text;
}

std::vector<Reference> expected_of(const Case& c) {
  std::vector<Reference> in;
  for (const Input& input : c.inputs) in.push_back({.shape = input.shape, .values = input.values});
  return ops::expected_of(*c.op, in, c.attributes);
}

ops::Attributes kernel_attributes(const Case& c, std::span<const ops::View> in) {
  const ops::Preparable* const programs = ops::preparable_in(c.attributes);
  if (programs == nullptr) return c.attributes;
  return programs->prepared(
      {.op = c.op->name, .in = in, .out = {}, .attributes = c.attributes, .workspace = {}});
}

std::size_t output_count(const Case& c) {
  return c.op->outputs == ops::kAnyOutputs ? expected_of(c).size()
                                           : static_cast<std::size_t>(c.op->outputs);
}

std::vector<Tensor> run(const Case& c, std::span<const Operand> operands, Site site) {
  if (c.op->outputs > 1) return ops::run_many_now(*c.op, operands, c.attributes, site);
  std::vector<Tensor> outputs;
  outputs.push_back(ops::run_now(*c.op, operands, c.attributes, site));
  return outputs;
}

std::vector<Tensor> run(const Case& c, std::span<const Operand> operands) {
  return run(c, operands, Site::current());
}

std::vector<Tensor> run(const Case& c, const std::vector<Tensor>& inputs) {
  return run(c, std::vector<Operand>(inputs.begin(), inputs.end()));
}

const char* name_of(LayoutKind layout) {
  constexpr const char* names[] = {"contiguous",  "transposed", "stepped", "reversed",
                                   "first_still", "last_still", "still"};
  return names[static_cast<int>(layout)];
}

Input suited(const Input& input, LayoutKind layout) {
  Input result = input;
  const int rank = input.shape.size();
  std::size_t i = 0;
  ops::for_each_index(input.shape, [&](Dims index) {
    for (int axis = 0; axis < rank; ++axis) {
      if (is_still(layout, axis, rank)) index[axis] = 0;
    }
    result.values[i++] = input.values[ops::flat(input.shape, index)];
  });
  return result;
}

Tensor make(const Input& input, LayoutKind layout) {
  const Placement placement = place(input.shape, layout);
  mem::ThreadContext& context = mem::this_thread();
  const auto bytes = static_cast<std::size_t>(placement.room) * size_of(input.dtype);
  const Device device = default_device();
  const HostMemory elements(bytes);
  for (std::int64_t i = 0; i < placement.room; ++i) write(input.dtype, elements.data(), i, 1);
  std::size_t i = 0;
  ops::for_each_index(input.shape, [&](const Dims& index) {
    std::int64_t at = placement.first;
    for (int axis = 0; axis < index.size(); ++axis) at += index[axis] * placement.strides[axis];
    write(input.dtype, elements.data(), at, input.values[i++]);
  });
  mem::Storage* const storage = mem::Storage::allocate(context, device, bytes);
  ops::backend(device).write(storage->data(), elements.data(), bytes);
  return make_tensor(context, storage, input.dtype, input.shape, placement.strides, placement.first,
                     "sample", Site::current());
}

std::vector<Tensor> make_all(const Case& c, LayoutKind layout) {
  std::vector<Tensor> tensors;
  for (const Input& input : c.inputs) tensors.push_back(make(input, layout));
  return tensors;
}

}  // namespace tenure::check
