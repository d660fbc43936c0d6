#include "tenure/kernels/cpu/index/create.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/creation/attributes.h"

namespace tenure::kernels {
namespace {

using ops::element;
using ops::Kernel;

template <int number>
struct ConstantSlot {
  static void run(const Kernel& k) { fill(k.out[0], element(number, k.out[0].dtype, k.op).bytes); }
};

struct FullSlot {
  static void run(const Kernel& k) {
    fill(k.out[0],
         element(ops::to_scalar(k.attributes[ops::FullAttributes::value]), k.out[0].dtype, k.op)
             .bytes);
  }
};

struct ArangeSlot {
  static void run(const Kernel& k) {
    const ops::ArangeNumbers r(k.attributes);
    if (r.integers()) {
      arange(k.out[0], r.start.integer, r.step.integer);
    } else {
      arange(k.out[0], r.start.floating, r.step.floating);
    }
  }
};

struct LinspaceSlot {
  static void run(const Kernel& k) {
    using Names = ops::LinspaceAttributes;
    linspace(k.out[0],
             ops::spacing(k.attributes.number(Names::start), k.attributes.number(Names::stop),
                          k.out[0].count(), k.attributes.flag(Names::endpoint)));
  }
};

struct LogspaceSlot {
  static void run(const Kernel& k) {
    logspace(k.out[0], k.attributes.number(ops::LogspaceAttributes::start),
             k.attributes.number(ops::LogspaceAttributes::stop),
             k.attributes.number(ops::LogspaceAttributes::base),
             k.attributes.flag(ops::LogspaceAttributes::endpoint));
  }
};

struct EyeSlot {
  static void run(const Kernel& k) {
    eye(k.out[0], k.attributes.integer(ops::EyeAttributes::diagonal));
  }
};

struct OneHotSlot {
  static void run(const Kernel& k) {
    const DType dtype = k.out[0].dtype;
    one_hot(k.in[0], k.out[0], element(1, dtype, k.op).bytes, element(0, dtype, k.op).bytes);
  }
};

}  // namespace

std::vector<KernelRow> creation_kernels() {
  return {kernel_row<ConstantSlot<0>>("zeros"), kernel_row<ConstantSlot<1>>("ones"),
          kernel_row<FullSlot>("full"),         kernel_row<ArangeSlot>("arange"),
          kernel_row<LinspaceSlot>("linspace"), kernel_row<LogspaceSlot>("logspace"),
          kernel_row<EyeSlot>("eye"),           kernel_row<OneHotSlot>("one_hot")};
}

}  // namespace tenure::kernels
