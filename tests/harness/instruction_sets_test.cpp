#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

#include "tenure/check/cases.h"
#include "tenure/kernels/instruction_set.h"
#include "tenure/memory/region.h"
#include "tenure/ops/conv_ops.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/lower_sets.h"

// What instruction sets do not change, over all ops. A process has one set from its beginning on,
// so this program runs itself with each of the others.

namespace tenure::check {
namespace {

/// Random numbers, and what is rounded once or not at all.
bool is_promised(const ops::OpRecord& op, DType result) {
  if (op.draws != nullptr || !is_floating(result)) return true;
  return op.tolerance_ulp <= 0.5 && !op.tolerance_of_largest;
}

std::uint64_t hash_of(const Tensor& tensor) {
  return visit_dtype(tensor.dtype(), [&]<class T>(TypeTag<T>) {
    std::uint64_t hash = 1469598103934665603u;
    for (const T value : tensor.to_vector<T>()) {
      std::uint64_t bits = 0;
      const auto wide = static_cast<double>(value);
      if (!std::isnan(wide)) std::memcpy(&bits, &value, sizeof value);
      hash = (hash ^ bits) * 1099511628211u;
    }
    return hash;
  });
}

/// Of calls whose sums are rounded together with products: the same on every set that does so.
constexpr std::string_view kRoundedTogether = "with fused multiply-adds: ";

/// Factors and decompositions of matrices that are larger than blocks, tiles and leaves, and no
/// multiple of a vector.
void add_factors(std::map<std::string, std::uint64_t>& bits) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const std::int64_t n : {5, 45, 133, 290}) {
      Generator generator(17);
      const Tensor a = normal({n + n / 3, n}, 0, 1, dtype, &generator);
      const Tensor square = matmul(transpose(a), a);
      const auto add = [&](const char* name, const std::vector<Tensor>& results) {
        for (std::size_t i = 0; i < results.size(); ++i) {
          const std::string call = std::string(name) + " of " + std::to_string(n) + " " +
                                   std::string(tenure::name_of(dtype));
          bits[std::string(kRoundedTogether) + call + ", output " + std::to_string(i)] =
              hash_of(results[i]);
        }
      };
      add("matmul",
          {square, matmul(a, square), matmul(a, slice(square, 1, 1, 2)),
           matmul(transpose(square), slice(square, 1, 1, 2)), matmul(slice(a, 0, 1, 2), square)});
      const auto [q, r] = qr(a);
      add("qr", {q, r});
      const auto [u, s, vh] = svd(a);
      add("svd", {u, s, vh});
      const auto [w, v] = eigh(square);
      add("eigh", {w, v});
      add("cholesky", {cholesky(square)});
      add("solve", {solve(square, transpose(a)), inv(square), det(square)});
    }
  }
}

/// Convolutions that sum more terms than are added up at a time, of channels that fill no vector,
/// in rows of less than a tile, of one tile and of two.
void add_convolutions(std::map<std::string, std::uint64_t>& bits) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const std::int64_t width : {5, 13, 19}) {
      Generator generator(18);
      const Tensor x = normal({2, 4, width, 350}, 0, 1, dtype, &generator);
      const Tensor weights = normal({3, 3, 350, 70}, 0, 1, dtype, &generator);
      const Tensor y = conv2d(x, weights, {.padding = 1});
      const std::string call =
          "rows of " + std::to_string(width) + " " + std::string(tenure::name_of(dtype));
      bits[std::string(kRoundedTogether) + "conv2d, " + call] = hash_of(y);
      bits[std::string(kRoundedTogether) + "conv_transpose2d, " + call] =
          hash_of(conv_transpose2d(y, weights, {.padding = 1}));
    }
  }
}

/// By call; all that this program's instruction set makes of the samples and is promised, and what
/// it takes for that: workspaces are the same, or budgets would not be.
std::map<std::string, std::uint64_t> all_bits() {
  std::map<std::string, std::uint64_t> bits;
  for (const ops::OpRecord* const op : ops::all_ops()) {
    for (const Case& c : cases_of(*op)) {
      const std::vector<Tensor> inputs = make_all(c);
      const MemoryRegion region;
      const std::vector<Tensor> outputs = run(c, inputs);
      bits[describe(c) + ", bytes"] = static_cast<std::uint64_t>(region.peak_bytes());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!is_promised(*op, outputs[i].dtype())) continue;
        bits[describe(c) + ", output " + std::to_string(i)] = hash_of(outputs[i]);
      }
    }
  }
  add_factors(bits);
  add_convolutions(bits);
  return bits;
}

TEST(InstructionSets, WriteTheirBits) {
  const char* const file = std::getenv("TENURE_TEST_BITS");
  if (file == nullptr) GTEST_SKIP() << "the next test runs this one";
  std::ofstream out(file);
  for (const auto& [call, hash] : all_bits()) out << hash << ' ' << call << '\n';
  ASSERT_TRUE(out.flush());
}

TEST(InstructionSets, GiveTheBitsThatArePromised) {
  const std::map<std::string, std::uint64_t> expected = all_bits();
  test::on_lower_sets("InstructionSets.WriteTheirBits", "TENURE_TEST_BITS",
                      [&](InstructionSet set, const char* name, std::istream& in) {
                        std::size_t lines = 0;
                        std::uint64_t hash = 0;
                        for (std::string call; in >> hash && in.ignore() && std::getline(in, call);
                             ++lines) {
                          if (set == InstructionSet::sse4 && call.starts_with(kRoundedTogether))
                            continue;
                          EXPECT_EQ(hash, expected.at(call)) << name << ": " << call;
                        }
                        EXPECT_EQ(lines, expected.size());
                      });
}

}  // namespace
}  // namespace tenure::check
