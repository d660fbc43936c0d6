#include "tenure/kernels/cuda/loops/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>

#include "tenure/base/error.h"
#include "tenure/ops/elementwise/source_expression.h"

namespace tenure::kernels::cuda {
namespace {

/// What ops promise at most that are computed by the words of quick.cuh: some units.
constexpr double kQuickUlp = 2;
/// Ops that are words of quick.cuh themselves.
constexpr std::string_view kQuickOps[] = {"gelu", "gelu_gradient", "gelu_tanh",
                                          "gelu_tanh_gradient"};

/// The body of `apply`: a variable for the result of each step.
class LoopPrinter {
 public:
  explicit LoopPrinter(const ops::Loop& loop) : loop_(loop), types_(loop.in_types) {
    for (const ops::LoopStep& step : loop.steps) add(step);
  }
  bool is_complete() const { return is_complete_; }
  std::string take() { return std::move(text_) + fmt::format("return v{};\n", types_.size() - 1); }

 private:
  /// A value as the op's body reads it.
  std::string read(int place, DType as) const {
    const DType from = types_[static_cast<std::size_t>(place)];
    return from == as ? fmt::format("v{}", place)
                      : fmt::format("convert<{}>(v{})", device_type(as), place);
  }
  void add(const ops::LoopStep& step) {
    const std::size_t number = types_.size();
    std::string result;
    if (step.op == nullptr) {
      result = read(step.in[0], step.out_type);
    } else {
      std::vector<std::string> inputs;
      const bool selects = step.op->elementwise->rule == ops::TypeRule::select;
      for (int k = 0; k < step.arity(); ++k) {
        const bool is_condition = selects && k == 0;
        inputs.push_back(read(step.in[static_cast<std::size_t>(k)],
                              is_condition ? DType::boolean : step.compute));
      }
      const std::string prefix = fmt::format("t{}_", number);
      const auto body = ops::source_of(*step.op, step.compute, inputs, prefix);
      if (!body) {
        is_complete_ = false;
        return;
      }
      if (!is_quick(step)) {
        text_ += body->statements;
        result = body->result;
      } else if (std::ranges::find(kQuickOps, step.op->name) != std::end(kQuickOps)) {
        result = fmt::format("quick::{}({})", step.op->name, fmt::join(inputs, ", "));
      } else {
        result = fmt::format(
            "[&] {{\nusing quick::exp;\nusing quick::over;\nusing quick::sigmoid;\n{}"
            "return {};\n}}()",
            body->statements, body->result);
      }
    }
    text_ += fmt::format("const {} v{} = {};\n", device_type(step.out_type), number, result);
    types_.push_back(step.out_type);
  }

  /// Whether the words of quick.cuh do: the op promises no exact rounding, and all that becomes of
  /// its result are floats of 16 bits.
  bool is_quick(const ops::LoopStep& step) const {
    if (step.compute != DType::float32 || step.op->tolerance_ulp < kQuickUlp) return false;
    const auto number = static_cast<int>(types_.size());
    bool is_read = false;
    for (const ops::LoopStep& other : loop_.steps) {
      for (int k = 0; k < other.arity(); ++k) {
        if (other.in[static_cast<std::size_t>(k)] != number) continue;
        is_read = true;
        const bool is_narrow =
            other.out_type == DType::bfloat16 || other.out_type == DType::float16;
        if (other.op != nullptr || !is_narrow) return false;
      }
    }
    return is_read;
  }

  const ops::Loop& loop_;
  std::vector<DType> types_;
  std::string text_;
  bool is_complete_ = true;
};

}  // namespace

bool is_printable(const ops::Loop& loop) { return LoopPrinter(loop).is_complete(); }

const PrintedStruct& print_struct(const ops::Loop& loop, std::span<const DType> given) {
  LoopPrinter printer(loop);
  internal_check(printer.is_complete(), "a device computes an op in a type that it has a body for");
  std::string list;
  std::string parameters;
  std::string reads;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    const char* const type = device_type(given[i]);
    list += fmt::format("{}{}", comma, type);
    parameters += fmt::format("{}{} r{}", comma, type, i);
    const char* const as = device_type(loop.in_types[i]);
    reads += fmt::format("const {0} v{1} = convert<{0}>(r{1});\n", as, i);
  }
  std::string text =
      fmt::format("using Out = {};\nusing In = TypeList<{}>;\nstatic Out apply({}) {{\n{}{}}}\n",
                  device_type(loop.out_type()), list, parameters, reads, printer.take());
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, PrintedStruct>;
  const std::lock_guard lock(mutex);
  PrintedStruct& one = known[text];
  if (one.name.empty()) {
    // Kernels of many loops may be in one program: each has a name of its own.
    one.name = fmt::format("loop_{:016x}", std::hash<std::string>()(text));
    one.text = fmt::format("namespace printed {{\nstruct {} {{\n{}}};\n}}\n", one.name, text);
  }
  return one;
}

KernelCode print_loop(const ops::Loop& loop, std::span<const DType> given) {
  const PrintedStruct& printed = print_struct(loop, given);
  return {.file = "tenure/kernels/cuda/loops/loop.cu",
          .text = fmt::format(
              "{1}"
              "TENURE_KERNEL({0}_vectors, {2}, LoopArguments, vectors<printed::{0}>)\n"
              "TENURE_KERNEL({0}_elements, {2}, LoopArguments, elements<printed::{0}>)\n",
              printed.name, printed.text, kLoopThreads),
          .names = {printed.name + "_vectors", printed.name + "_elements"}};
}

}  // namespace tenure::kernels::cuda
