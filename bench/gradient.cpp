#include "bench/contest.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

// Small steps, forward and backward: what remains is what a tape itself costs.

namespace tenure::bench {
namespace {

const std::vector<std::vector<std::int64_t>> kShapes{{8, 16},  {8, 4}, {16, 32}, {32},
                                                     {32, 32}, {32},   {32, 4},  {4}};

struct Mlp {
  Tensor x = normal({8, 16});
  Tensor target = normal({8, 4});
  std::vector<Variable> weights{Variable(normal({16, 32})), Variable(normal({32})),
                                Variable(normal({32, 32})), Variable(normal({32})),
                                Variable(normal({32, 4})),  Variable(normal({4}))};

  Tensor loss(const Tensor& input, const Tensor& wanted) const {
    Tensor h = relu(add(matmul(input, weights[0].value()), weights[1].value()));
    h = relu(add(matmul(std::move(h), weights[2].value()), weights[3].value()));
    h = add(matmul(std::move(h), weights[4].value()), weights[5].value());
    return mean(square(sub(std::move(h), wanted)));
  }
  std::vector<Tensor> step(const Tensor& input, const Tensor& wanted) const {
    GradientTape tape;
    const Tensor y = loss(input, wanted);
    return tape.gradient(y, weights);
  }
};

void add_case(std::vector<Case>& cases, const std::string& name, const char* peer,
              std::optional<double> target, const std::function<Work()>& make) {
  cases.push_back(
      {"gradient", name, [=](const Options& options) {
         return run(
             {.name = name,
              .unit = kMicroseconds,
              .ours = make(),
              .peers = {{.name = "libtorch", .work = torch_call(peer, kShapes), .target = target}}},
             options);
       }});
}

}  // namespace

void add_gradient_cases(std::vector<Case>& cases) {
  add_case(cases, "MLP 16-32-32-4, batch 8: forward and backward", "mlp_step", 10,
           [] { return repeat([mlp = Mlp()] { use(mlp.step(mlp.x, mlp.target)); }); });
  add_case(cases, "the same as one function", "mlp_step", std::nullopt, [] {
    const auto mlp = std::make_shared<Mlp>();
    const auto step =
        function([mlp](const Tensor& x, const Tensor& target) { return mlp->step(x, target); });
    return repeat([mlp, step] { use(step(mlp->x, mlp->target)); });
  });
  add_case(cases, "the same forward, with nobody recording", "mlp_forward", std::nullopt,
           [] { return repeat([mlp = Mlp()] { use(mlp.loss(mlp.x, mlp.target)); }); });
}

}  // namespace tenure::bench
