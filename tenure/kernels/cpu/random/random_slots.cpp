#include "tenure/kernels/cpu/random/random.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/random/attributes.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

struct UniformSlot {
  static void run(const Kernel& k) {
    uniform(k.out[0], ops::stream_of(k.attributes),
            k.attributes.number(ops::UniformAttributes::low),
            k.attributes.number(ops::UniformAttributes::high));
  }
};

struct NormalSlot {
  static void run(const Kernel& k) {
    normal(k.out[0], ops::stream_of(k.attributes), k.attributes.number(ops::NormalAttributes::mean),
           k.attributes.number(ops::NormalAttributes::deviation));
  }
};

struct BernoulliSlot {
  static void run(const Kernel& k) {
    bernoulli(k.out[0], ops::stream_of(k.attributes),
              k.attributes.number(ops::BernoulliAttributes::probability));
  }
};

struct RandintSlot {
  static void run(const Kernel& k) {
    randint(k.out[0], ops::stream_of(k.attributes),
            k.attributes.integer(ops::RandintAttributes::low),
            k.attributes.integer(ops::RandintAttributes::high));
  }
};

struct PermutationSlot {
  static void run(const Kernel& k) { permutation(k.out[0], ops::stream_of(k.attributes)); }
};

}  // namespace

std::vector<KernelRow> random_kernels() {
  return {kernel_row<UniformSlot>("uniform"), kernel_row<NormalSlot>("normal"),
          kernel_row<BernoulliSlot>("bernoulli"), kernel_row<RandintSlot>("randint"),
          kernel_row<PermutationSlot>("permutation")};
}

}  // namespace tenure::kernels
