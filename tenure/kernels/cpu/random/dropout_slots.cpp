#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/random/dropout.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/random/attributes.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

/// The seed and the first counter, which the call was given as its last attributes.
struct RandomKeySlot {
  static void run(const Kernel& k) {
    k.out[0].as<std::int64_t>()[0] = k.attributes.integer(ops::RandomKeyAttributes::key);
    k.out[0].as<std::int64_t>()[1] = k.attributes.integer(ops::RandomKeyAttributes::counter);
  }
};

struct DropoutSlot {
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(compute_type(k.in[0].dtype), k.in.first(1), k.out);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View y = staging.write(k.out[0]);
    const auto* const key = k.in[1].as<const std::int64_t>();
    const PhiloxStream stream{static_cast<std::uint64_t>(key[0]),
                              static_cast<std::uint64_t>(key[k.in[1].strides[0]])};
    dropout(type, x.count(), x.data, stream,
            k.attributes.number(ops::DropoutAttributes::probability), y.data);
    staging.finish(y, k.out[0]);
  }
};

}  // namespace

std::vector<KernelRow> dropout_kernels() {
  return {kernel_row<RandomKeySlot>("random_key"), kernel_row<DropoutSlot>("dropout")};
}

}  // namespace tenure::kernels
