#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/layer_ops.h"
#include "tenure/ops/random/attributes.h"
#include "tenure/ops/random/definition.h"
#include "tenure/ops/random/philox.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/size_ops.h"
#include "tenure/tensor/symbol.h"

namespace tenure::ops {
namespace {

/// Where a generator stands, as a tensor: an op that reads it can be repeated.
struct RandomKey {
  static constexpr auto family = "random";
  static constexpr auto name = "random_key";
  static constexpr auto signature = "random_key(count, generator = default)";
  static constexpr auto doc = "the seed and the first counter of so many random words";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;

  static Specs infer(const Kernel&) { return {{DType::int64, {2}}}; }
  static std::uint64_t draws(const Attributes& a) {
    return narrow_counters(a.integer(RandomKeyAttributes::words));
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    return {{.shape = {2},
             .values = {static_cast<long double>(a.integer(RandomKeyAttributes::key)),
                        static_cast<long double>(a.integer(RandomKeyAttributes::counter))}}};
  }
  static std::vector<Sample> samples() {
    return {{.attributes =
                 Attributes(std::int64_t{100}, std::int64_t{0x1234567890abcdef}, std::int64_t{7})}};
  }
};

struct Dropout {
  static constexpr auto family = "random";
  static constexpr auto name = "dropout";
  static constexpr auto signature = "dropout(x, key, p = 0.5)";
  static constexpr auto doc = "x / (1 - p) or, with probability p, zero";
  static constexpr auto memory = reuses(1).with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp = 2;

  static Specs infer(const Kernel& k) {
    const double p = k.attributes.number(DropoutAttributes::probability);
    if (!(p >= 0 && p <= 1)) {
      throw ValueError(fmt::format("{}: a probability of {} is not in [0, 1]", k.op, p));
    }
    if (k.in[1].dtype != DType::int64 || k.in[1].shape != Shape{2}) {
      throw ShapeError(k.op, "a key is two int64", {k.in[1].shape.to_vector()});
    }
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const long double p = a.number(DropoutAttributes::probability);
    const RandomWords words(
        {static_cast<std::uint64_t>(in[1].values[0]), static_cast<std::uint64_t>(in[1].values[1])});
    Reference y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const bool drops = words.narrow(static_cast<std::int64_t>(i)) < std::round(std::ldexp(p, 32));
      y.values[i] = drops ? 0 : y.values[i] / (1 - p);
    }
    return {y};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, double p) {
      return Sample{
          .inputs = {{.shape = x}, {.shape = {2}, .dtype = DType::int64, .values = {12345, 678}}},
          .attributes = Attributes(p)};
    };
    return {sample({5, 37}, 0.25), sample({2, 3}, 0.0), sample({9}, 1.0), sample({0, 3}, 0.5),
            sample({}, 0.5)};
  }
  static void run_gradient(Backward& b) {
    if (!b.wants(0)) return;
    b.results[0] = call(record<Dropout>(), {Operand(std::move(b.gradients[0]), b.site), b.input(1)},
                        b.attributes);
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), {}}}, .run = run_gradient};
};

/// The next words of the default generator, one for each element of `x`; in a trace or a graph,
/// anew in every run.
Tensor draw_key(const Tensor& x, Site site) {
  const TensorBody& body = x.body("dropout", site);
  const DeviceScope device(body.device());
  if (!body.shape.is_known()) {
    const auto later = [site](const std::vector<Tensor>& known) {
      const Attributes attributes(count(outlined(known[0].shape())), std::int64_t{0},
                                  std::int64_t{0});
      return std::vector{create(record<RandomKey>(), attributes, site)};
    };
    return std::move(
        with_sizes("dropout", {outline(Operand(x, site))}, later, site, {.draws = true}).front());
  }
  const Attributes attributes(count(body.shape), std::int64_t{0}, std::int64_t{0});
  if (current_trace() != nullptr) return create(record<RandomKey>(), attributes, site);
  if (body.symbol() != nullptr) {
    return body.symbol()
        ->recorder("dropout", site)
        ->record(record<RandomKey>(), {}, attributes, site)[0];
  }
  const Generator::State begin = default_generator().reserve(RandomKey::draws(attributes));
  return create(record<RandomKey>(),
                attributes.with_last(static_cast<std::int64_t>(begin.seed),
                                     static_cast<std::int64_t>(begin.offset)),
                site);
}

}  // namespace

std::vector<const OpRecord*> dropout_ops() { return {&record<RandomKey>(), &record<Dropout>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor dropout(const Operand& x, double p) {
  return ops::in_call("dropout", x.site(), [&] {
    const auto& op = ops::record<ops::Dropout>();
    if (x.is_scalar()) throw ShapeError(op.name, "a number has no elements to drop");
    const Tensor key = ops::draw_key(x.tensor(), x.site());
    return ops::call(op, {x, Operand(key, x.site())}, ops::Attributes(p));
  });
}

Tensor embedding(const Operand& indices, const Operand& table) {
  return ops::in_name_of("embedding", table.site(), [&] { return take(table, indices, 0); });
}

}  // namespace tenure
