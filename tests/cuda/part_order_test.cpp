#include "tenure/kernels/cuda/launch/part_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

// Parts of a program's work come after those that they have to, and after no others.

namespace tenure::kernels::cuda {
namespace {

using Parts = std::vector<std::vector<ops::Touched>>;

bool meet(const ops::Touched& a, const ops::Touched& b) {
  return (a.is_written || b.is_written) && a.bytes > 0 && b.bytes > 0 &&
         a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}
bool meet(const std::vector<ops::Touched>& a, const std::vector<ops::Touched>& b) {
  return std::any_of(a.begin(), a.end(), [&](const ops::Touched& one) {
    return std::any_of(b.begin(), b.end(),
                       [&](const ops::Touched& other) { return meet(one, other); });
  });
}

Parts random_parts(std::mt19937& random) {
  static constexpr std::byte kMemory[200]{};
  Parts parts(1 + random() % 70);
  for (auto& part : parts) {
    for (std::size_t n = random() % 5; n > 0; --n) {
      const std::size_t begin = random() % 180;
      part.push_back({.begin = kMemory + begin,
                      .bytes = random() % (random() % 3 == 0 ? 20 : 4),
                      .is_written = random() % 3 == 0});
    }
  }
  return parts;
}

TEST(PartOrder, HasPartsComeAfterThoseThatTheyMeet) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Parts parts = random_parts(random);
    PartOrder order;
    std::vector<std::vector<bool>> is_before(parts.size(), std::vector<bool>(parts.size()));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::span<const std::size_t> found = order.add(parts[p]);
      for (const std::size_t earlier : found) {
        ASSERT_LT(earlier, p);
        ASSERT_TRUE(meet(parts[earlier], parts[p])) << earlier << " and " << p << " do not meet";
        for (const std::size_t other : found) {
          ASSERT_FALSE(is_before[other][earlier]) << "said twice: " << earlier << ", " << other;
        }
      }
      for (const std::size_t earlier : found) {
        is_before[p][earlier] = true;
        for (std::size_t i = 0; i < earlier; ++i) {
          if (is_before[earlier][i]) is_before[p][i] = true;
        }
      }
      for (std::size_t i = 0; i < p; ++i) {
        ASSERT_TRUE(is_before[p][i] || !meet(parts[i], parts[p])) << i << " may come after " << p;
      }
    }
  }
}

}  // namespace
}  // namespace tenure::kernels::cuda
