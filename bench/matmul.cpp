#include <fmt/format.h>

#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_onednn.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

namespace tenure::bench {
namespace {

struct Product {
  std::int64_t m, n, k;
  std::optional<double> over_onednn, over_torch;
};

double flops(const Product& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

void add_product(std::vector<Case>& cases, const Product& p) {
  const std::string name = fmt::format("matmul {}x{}x{}", p.m, p.n, p.k);
  cases.push_back({"matmul", name, [=](const Options& options) {
                     const bool small = flops(p) <= 2.0 * 64 * 64 * 64;
                     return run(
                         {.name = name,
                          .unit = kFlops,
                          .amount = flops(p),
                          .ours = repeat([a = normal({p.m, p.k}), b = normal({p.k, p.n})] {
                            use(matmul(a, b));
                          }),
                          .peers = {{"oneDNN", onednn_matmul({p.m, p.n, p.k}), 0, p.over_onednn},
                                    {"libtorch", torch_call("matmul", {{p.m, p.k}, {p.k, p.n}}), 0,
                                     p.over_torch},
                                    fma_peak(small ? 1 : options.threads)}},
                         options);
                   }});
}

/// Of int8 with results of int32, or of bfloat16.
void add_narrow_product(std::vector<Case>& cases, DType dtype, const Product& p) {
  const std::string name = fmt::format("matmul {} {}x{}x{}", name_of(dtype), p.m, p.n, p.k);
  cases.push_back(
      {"matmul", name, [=](const Options& options) {
         const Tensor a = cast(3 * normal({p.m, p.k}), dtype);
         const Tensor b = cast(3 * normal({p.k, p.n}), dtype);
         const auto multiply = dtype == int8 ? &integer_matmul : &tenure::matmul;
         return run(
             {.name = name,
              .unit = kFlops,
              .amount = flops(p),
              .ours = repeat([=] { use(multiply(a, b)); }),
              .peers = {{"oneDNN", onednn_matmul({.m = p.m, .n = p.n, .k = p.k, .dtype = dtype})},
                        fma_peak(options.threads)}},
             options);
       }});
}

}  // namespace

void add_matmul_cases(std::vector<Case>& cases) {
  for (const std::int64_t n : {8, 16, 32, 64}) add_product(cases, {n, n, n, {}, 1.0});
  for (const std::int64_t n : {128, 256, 512, 1024, 2048}) add_product(cases, {n, n, n, 0.95, {}});
  add_product(cases, {32, 4096, 1024, 0.95, {}});
  add_product(cases, {1, 4096, 4096, {}, {}});
  for (const DType dtype : {int8, bfloat16}) {
    for (const Product& p : {Product{512, 512, 512, {}, {}}, Product{128, 512, 784, {}, {}},
                             Product{32, 4096, 1024, {}, {}}, Product{1, 4096, 4096, {}, {}}}) {
      add_narrow_product(cases, dtype, p);
    }
  }
  cases.push_back(
      {"matmul", "matmul 64 of 64x64x64", [](const Options& options) {
         return run({.name = "matmul 64 of 64x64x64",
                     .unit = kFlops,
                     .amount = 64 * flops({64, 64, 64, {}, {}}),
                     .ours = repeat([a = normal({64, 64, 64}), b = normal({64, 64, 64})] {
                       use(matmul(a, b));
                     }),
                     .peers = {{"libtorch", torch_call("matmul", {{64, 64, 64}, {64, 64, 64}})},
                               fma_peak(options.threads)}},
                    options);
       }});
}

}  // namespace tenure::bench
