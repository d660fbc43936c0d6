#include "tenure/kernels/cpu/random/random.h"
#include "tenure/kernels/cpu/table.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

struct UniformSlot {
  static void run(const Kernel& k) {
    uniform(k.out[0], ops::stream_of(k.attributes), k.attributes.number(1), k.attributes.number(2));
  }
};

struct NormalSlot {
  static void run(const Kernel& k) {
    normal(k.out[0], ops::stream_of(k.attributes), k.attributes.number(1), k.attributes.number(2));
  }
};

struct BernoulliSlot {
  static void run(const Kernel& k) {
    bernoulli(k.out[0], ops::stream_of(k.attributes), k.attributes.number(1));
  }
};

struct RandintSlot {
  static void run(const Kernel& k) {
    randint(k.out[0], ops::stream_of(k.attributes), k.attributes.integer(0),
            k.attributes.integer(1));
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
