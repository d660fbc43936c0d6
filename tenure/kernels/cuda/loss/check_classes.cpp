#include "tenure/kernels/cuda/loss/check_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tenure/base/error.h"

namespace tenure::kernels::cuda {
namespace {

const TypedKernel kCheckClasses{"tenure/kernels/cuda/loss/classes.cu",
                                "check_classes",
                                "ClassesArguments",
                                kGroupThreads,
                                {Types()}};

}  // namespace

void check_classes(Gpu& gpu, const ops::Kernel& call, const View& targets, std::int64_t classes,
                   std::int64_t ignore_index) {
  if (call.indices_hold || targets.count() == 0) return;
  ClassesArguments arguments{.targets = classes_view(targets),
                             .rows = targets.count(),
                             .classes = classes,
                             .ignore_index = ignore_index,
                             .answers = nullptr};
  Grid grid = grid_over(targets.count(), kGroupThreads);
  grid.blocks = std::min<std::uint32_t>(grid.blocks, Gpu::kMostAnswers / kClassAnswers);
  std::vector<std::uint64_t> answers(grid.blocks * kClassAnswers);
  gpu.ask(call.op, kCheckClasses, Types(), grid, arguments, &ClassesArguments::answers, answers);
  std::uint64_t first = ~std::uint64_t{0};
  std::int64_t target = 0;
  for (std::size_t i = 0; i < answers.size(); i += kClassAnswers) {
    if (answers[i] >= first) continue;
    first = answers[i];
    target = static_cast<std::int64_t>(answers[i + 1]);
  }
  if (first == ~std::uint64_t{0}) return;
  throw IndexError(call.op, fmt::format("there is no class {} among {}", target, classes), target,
                   classes);
}

const TypedKernel& class_check_kernel() { return kCheckClasses; }

}  // namespace tenure::kernels::cuda
