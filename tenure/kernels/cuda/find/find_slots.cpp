#include <fmt/format.h>

#include <algorithm>

#include "tenure/kernels/cuda/find/find.h"
#include "tenure/kernels/cuda/find/find_arguments.h"
#include "tenure/kernels/cuda/launch/device_view.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;  // find.cu has room for so many

TypedKernel finding(const char* function, std::vector<Types> types,
                    const char* arguments = "FindArguments") {
  return {"tenure/kernels/cuda/find/find.cu", function, arguments, kThreads, std::move(types)};
}
const TypedKernel kFindNotFinite =
    finding("find_not_finite", {DType::float16, DType::bfloat16, DType::float32, DType::float64});
const TypedKernel kFindZero = finding("find_zero", {DType::boolean, DType::uint8, DType::int8,
                                                    DType::int16, DType::int32, DType::int64});
const TypedKernel kFindNegative =
    finding("find_negative", {DType::int8, DType::int16, DType::int32, DType::int64});
const TypedKernel kFindBeyond =
    finding("find_beyond",
            {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64, DType::float16,
             DType::bfloat16, DType::float32, DType::float64},
            "RangeArguments");

const TypedKernel kFindRange =
    finding("find_range", {DType::int32, DType::int64}, "IntegersArguments");

template <class Arguments>
std::int64_t find_first(Gpu& gpu, const char* op, const TypedKernel& kernel, const View& view,
                        Arguments arguments) {
  if (view.count() == 0) return -1;
  const Grid grid = grid_over(view.count(), kThreads);
  std::vector<std::uint64_t> answers(grid.blocks);
  gpu.ask(op, kernel, view.dtype, grid, arguments, &Arguments::answers, answers);
  const std::uint64_t lowest = *std::min_element(answers.begin(), answers.end());
  return static_cast<std::int64_t>(lowest);  // all bits are -1
}
std::int64_t find_first(Gpu& gpu, const char* op, const TypedKernel& kernel, const View& view) {
  return find_first(gpu, op, kernel, view,
                    FindArguments{.in = device_view(view), .answers = nullptr});
}

/// Whether the last input has an element that is sought: on the host where it is a number.
template <class Sought>
bool contains(const char* op, const TypedKernel& kernel, const ops::LoopInputs& in,
              const Sought& is_sought) {
  const View& last = in.views.back();
  if ((in.numbers >> (in.views.size() - 1) & 1) != 0) {
    return visit_dtype(last.dtype, [&]<class T>(TypeTag<T>) {
      return last.count() > 0 && is_sought(*last.as<const T>());
    });
  }
  Gpu* const gpu = gpu_of(last);
  return gpu != nullptr && find_first(*gpu, op, kernel, last) >= 0;
}

void reject_zero(const char* op, DType compute, const ops::LoopInputs& in) {
  if (is_integral(compute) &&
      contains(op, kFindZero, in, [](auto v) { return v == decltype(v)(0); })) {
    throw ValueError(fmt::format("{}: integer division by zero", op));
  }
}

void reject_negative(const char* op, DType compute, const ops::LoopInputs& in) {
  if (!is_integral(compute) || is_unsigned(in.views.back().dtype)) return;
  if (contains(op, kFindNegative, in, [](auto v) { return v < decltype(v)(0); })) {
    throw ValueError(
        fmt::format("{}: an integer has no negative integer power; convert it to a float", op));
  }
}

}  // namespace

Check check_for(ops::Refusal refuses) {
  if (refuses == ops::Refusal::nothing) return nullptr;
  return refuses == ops::Refusal::zero ? reject_zero : reject_negative;
}

std::int64_t find_not_finite(Gpu& gpu, const View& view) {
  return is_floating(view.dtype) ? find_first(gpu, "find_not_finite", kFindNotFinite, view) : -1;
}

std::int64_t find_beyond(Gpu& gpu, const char* op, const View& view, double low, double high) {
  return find_first(
      gpu, op, kFindBeyond, view,
      RangeArguments{.in = device_view(view), .low = low, .high = high, .answers = nullptr});
}

IntegerRange integer_range(Gpu& gpu, const View& view) {
  IntegerRange range = IntegerRange::none();
  if (view.count() == 0) return range;
  IntegersArguments arguments{.in = device_view(view), .answers = nullptr};
  Grid grid = grid_over(view.count(), kThreads);
  grid.blocks = std::min<std::uint32_t>(grid.blocks, Gpu::kMostAnswers / kIntegerAnswers);
  std::vector<std::uint64_t> answers(std::size_t{grid.blocks} * kIntegerAnswers);
  gpu.ask("integer_range", kFindRange, view.dtype, grid, arguments, &IntegersArguments::answers,
          answers);
  for (std::size_t i = 0; i < answers.size(); i += kIntegerAnswers) {
    range.join({.lowest = static_cast<std::int64_t>(answers[i]),
                .highest = static_cast<std::int64_t>(answers[i + 1]),
                .next_lowest = static_cast<std::int64_t>(answers[i + 2]),
                .next_highest = static_cast<std::int64_t>(answers[i + 3])});
  }
  return range;
}

Family find_family() {
  return {{}, {&kFindNotFinite, &kFindZero, &kFindNegative, &kFindBeyond, &kFindRange}};
}

}  // namespace tenure::kernels::cuda
