// Products of matrices beside oneDNN's, on one thread and on more: for machines without libtorch,
// and for the instruction sets that TENURE_MAX_ISA or the processor allow.
#include <fmt/format.h>
#include <omp.h>

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contest.h"
#include "bench/peer_onednn.h"
#include "tenure/tenure.h"

namespace tenure::bench {
namespace {

const std::vector<ProductShape> kProducts = {
    {.m = 128, .n = 128, .k = 128},
    {.m = 256, .n = 256, .k = 256},
    {.m = 512, .n = 512, .k = 512},
    {.m = 512, .n = 512, .k = 512, .turned_a = true},
    {.m = 512, .n = 512, .k = 512, .turned_b = true},
    {.m = 768, .n = 768, .k = 768},
    {.m = 1024, .n = 1024, .k = 1024},
    {.m = 1024, .n = 1024, .k = 1024, .turned_a = true},
    {.m = 1024, .n = 1024, .k = 1024, .turned_b = true},
    {.m = 2048, .n = 2048, .k = 2048},
    {.m = 32, .n = 4096, .k = 1024},
    {.m = 4096, .n = 32, .k = 1024},
    {.m = 128, .n = 512, .k = 784},
    {.m = 128, .n = 784, .k = 512, .turned_b = true},
    {.m = 784, .n = 512, .k = 128, .turned_a = true},
    {.m = 20000, .n = 10, .k = 784},
    {.m = 333, .n = 77, .k = 555},
    {.m = 128, .n = 128, .k = 64, .turned_b = true, .batch = 48},
    {.m = 200, .n = 200, .k = 200, .batch = 16},
};

/// Weights that a compiled program finds unchanged, on the right.
const std::vector<ProductShape> kWeights = {
    {.m = 2, .n = 4096, .k = 1024},   {.m = 4, .n = 4096, .k = 1024},
    {.m = 8, .n = 4096, .k = 1024},   {.m = 16, .n = 4096, .k = 1024},
    {.m = 32, .n = 4096, .k = 1024},  {.m = 64, .n = 4096, .k = 1024},
    {.m = 128, .n = 4096, .k = 1024}, {.m = 256, .n = 4096, .k = 1024},
    {.m = 8, .n = 256, .k = 256},     {.m = 32, .n = 256, .k = 256},
    {.m = 8, .n = 1024, .k = 256},    {.m = 32, .n = 1024, .k = 256},
    {.m = 64, .n = 1024, .k = 256},   {.m = 32, .n = 512, .k = 512},
    {.m = 128, .n = 512, .k = 784},   {.m = 32, .n = 4096, .k = 1024, .turned_b = true},
    {.m = 128, .n = 64, .k = 1024},
};

std::string name_of(const ProductShape& p) {
  return fmt::format("{}{}x{}{} * {}x{}{}", p.batch > 1 ? fmt::format("{} of ", p.batch) : "", p.m,
                     p.k, p.turned_a ? "^T" : "", p.k, p.n, p.turned_b ? "^T" : "");
}

Work own(const ProductShape& p) {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool turned) {
    Shape shape = turned ? Shape{columns, rows} : Shape{rows, columns};
    if (p.batch > 1) shape.insert(0, p.batch);
    const Tensor made = normal(shape);
    return turned ? transpose(made) : made;
  };
  return repeat(
      [a = matrix(p.m, p.k, p.turned_a), b = matrix(p.k, p.n, p.turned_b)] { use(matmul(a, b)); });
}

void compare(const ProductShape& p, int threads, int rounds) {
  set_num_threads(threads);
  omp_set_num_threads(threads);
  const double flops = 2.0 * static_cast<double>(p.batch * p.m) * static_cast<double>(p.n) *
                       static_cast<double>(p.k);
  const std::vector<Figure> figures = run({.name = name_of(p),
                                           .unit = kFlops,
                                           .amount = flops,
                                           .ours = own(p),
                                           .peers = {{"oneDNN", onednn_matmul(p)}}},
                                          {.rounds = rounds, .threads = threads});
  fmt::print("{:34} {:3} {:9.1f} {:9.1f} {:6.2f}\n", figures[0].name, threads, figures[0].value,
             figures[0].peer_value, figures[0].ratio);
  std::fflush(stdout);
}

/// The same product in a compiled function.
Work compiled(const ProductShape& p, const Tensor& x, const Tensor& w, std::int64_t packed_limit) {
  const auto f =
      function([w = p.turned_b ? transpose(w) : w](const Tensor& in) { return matmul(in, w); },
               {.packed_limit = packed_limit});
  for (int i = 0; i < 3; ++i) use(f(x));
  return repeat([f, x] { use(f(x)); });
}

void compare_packed(const ProductShape& p, int threads, int rounds) {
  set_num_threads(threads);
  omp_set_num_threads(threads);
  const Tensor x = normal({p.m, p.k});
  const Tensor w = p.turned_b ? normal({p.n, p.k}) : normal({p.k, p.n});
  const std::vector<Figure> figures =
      run({.name = name_of(p),
           .unit = kFlops,
           .amount =
               2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k),
           .ours = compiled(p, x, w, 256 << 20),
           .peers = {{"packed in each call", compiled(p, x, w, 0)}, {"oneDNN", onednn_matmul(p)}}},
          {.rounds = rounds, .threads = threads});
  fmt::print("{:34} {:3} {:9.1f} {:9.1f} {:6.2f} {:9.1f} {:6.2f}\n", figures[0].name, threads,
             figures[0].value, figures[0].peer_value, figures[0].ratio, figures[1].peer_value,
             figures[1].ratio);
  std::fflush(stdout);
}

int number(const char* text, int otherwise) {
  int value = otherwise;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace
}  // namespace tenure::bench

/// [most threads] [rounds] ["weights": of compiled programs, packed before, in each call, oneDNN's]
int main(int argc, char** argv) {
  using namespace tenure::bench;
  const int most = argc > 1 ? number(argv[1], 1) : tenure::num_threads();
  const int rounds = argc > 2 ? number(argv[2], 31) : 31;
  fmt::print("{}\n{:34} {:>3} {:>9} {:>9} {:>6}\n", onednn_description(), "GFLOP/s", "thr",
             "Tenure", "oneDNN", "ratio");
  const bool are_weights = argc > 3 && std::string_view(argv[3]) == "weights";
  for (const ProductShape& product : are_weights ? kWeights : kProducts) {
    for (int threads = 1; threads <= most; threads = threads == most ? most + 1 : most) {
      (are_weights ? compare_packed : compare)(product, threads, rounds);
    }
  }
}
