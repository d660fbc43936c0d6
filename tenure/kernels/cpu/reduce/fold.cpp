#include "tenure/kernels/cpu/reduce/fold.h"

#include <string>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/kernels/cpu/reduce/fold_tables.h"

namespace tenure::kernels::reduce {
namespace {

constexpr int kRules = static_cast<int>(Rule::min_abs) + 1;

/// What both sources of loops have for this machine, looked up once.
struct Folds {
  const Fold* at[kRules][kDTypes];

  Folds() {
    for (int i = 0; i < kRules; ++i) {
      for (int j = 0; j < kDTypes; ++j) {
        const auto rule = static_cast<Rule>(i);
        const auto dtype = static_cast<DType>(j);
        at[i][j] = rule >= Rule::max ? find_extremum_fold(rule, dtype) : find_sum_fold(rule, dtype);
      }
    }
  }
};

}  // namespace

const Fold& find_fold(Rule rule, DType accumulator) {
  static constinit Lasting<const Folds> folds;
  const Fold* fold = folds.get([] { return new const Folds; })
                         .at[static_cast<int>(rule)][static_cast<int>(accumulator)];
  if (fold == nullptr) [[unlikely]] {
    throw DTypeError("reduce", "no loop accumulates " + std::string(name_of(accumulator)));
  }
  return *fold;
}

}  // namespace tenure::kernels::reduce
