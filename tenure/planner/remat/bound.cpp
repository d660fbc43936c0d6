#include "tenure/planner/remat/bound.h"

#include <algorithm>
#include <cmath>

namespace tenure::planner::remat {
namespace {

// Sets of all nodes for each node take n^2 bits.
constexpr int kMostNodes = 4'000;
constexpr std::size_t kMostCuts = 64;

/// For each node the set of nodes that it comes from.
class Ancestors {
 public:
  explicit Ancestors(const Problem& problem)
      : words_(static_cast<std::size_t>(problem.end) / 64 + 1),
        bits_(static_cast<std::size_t>(problem.end + 1) * words_, 0) {
    std::vector<char> done(static_cast<std::size_t>(problem.end) + 1, false);
    for (int v = 0; v < problem.end; ++v) visit(problem, v, done);
  }

  bool has(int node, int ancestor) const {
    return (row(node)[static_cast<std::size_t>(ancestor) / 64] >> (ancestor % 64) & 1) != 0;
  }

 private:
  const std::uint64_t* row(int node) const {
    return bits_.data() + static_cast<std::size_t>(node) * words_;
  }

  void visit(const Problem& problem, int root, std::vector<char>& done) {
    std::vector<int> stack{root};
    while (!stack.empty()) {
      const int v = stack.back();
      bool waits = false;
      for (const int u : problem.inputs(v)) {
        if (done[static_cast<std::size_t>(u)]) continue;
        stack.push_back(u);
        waits = true;
      }
      if (waits) continue;
      stack.pop_back();
      if (done[static_cast<std::size_t>(v)]) continue;
      done[static_cast<std::size_t>(v)] = true;
      std::uint64_t* const own = bits_.data() + static_cast<std::size_t>(v) * words_;
      for (const int u : problem.inputs(v)) {
        for (std::size_t w = 0; w < words_; ++w) own[w] |= row(u)[w];
        own[static_cast<std::size_t>(u) / 64] |= std::uint64_t{1} << (u % 64);
      }
    }
  }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

CostBound::CostBound(const Problem& problem) {
  if (problem.end > kMostNodes) return;
  const Ancestors ancestors(problem);
  std::vector<std::vector<int>> readers(static_cast<std::size_t>(problem.end));
  std::vector<char> is_output(static_cast<std::size_t>(problem.end), false);
  for (int v = 0; v < problem.end; ++v)
    for (const int u : problem.inputs(v)) readers[static_cast<std::size_t>(u)].push_back(v);
  for (const int u : problem.inputs(problem.end)) is_output[static_cast<std::size_t>(u)] = true;

  for (int v = 0; v < problem.end; ++v) {
    Cut cut;
    cut.all = problem.resident + problem.own[v];
    bool in_place = false;
    std::uint32_t bits = problem.overwrites[v];
    const auto inputs = problem.inputs(v);
    for (const int u : inputs) {
      cut.all += problem.bytes[u];
      in_place = in_place || ((bits & 1) != 0 && problem.bytes[u] >= problem.bytes[v]);
      bits >>= 1;
    }
    if (in_place) cut.all -= problem.bytes[v];
    for (int u = 0; u < problem.end; ++u) {
      if (problem.bytes[u] == 0 || !ancestors.has(v, u)) continue;
      if (std::find(inputs.begin(), inputs.end(), u) != inputs.end()) continue;
      const std::vector<int>& of_u = readers[static_cast<std::size_t>(u)];
      const bool is_read =
          is_output[static_cast<std::size_t>(u)] ||
          std::any_of(of_u.begin(), of_u.end(), [&](int w) { return ancestors.has(w, v); });
      if (!is_read) continue;
      cut.all += problem.bytes[u];
      if (problem.pure[u]) cut.items.push_back({problem.bytes[u], problem.cost[u]});
    }
    cuts_.push_back(std::move(cut));
    if (cuts_.size() < 2 * kMostCuts) continue;
    std::nth_element(cuts_.begin(), cuts_.begin() + kMostCuts, cuts_.end(),
                     [](const Cut& a, const Cut& b) { return a.all > b.all; });
    cuts_.resize(kMostCuts);
  }
  for (Cut& cut : cuts_) {
    std::sort(cut.items.begin(), cut.items.end(), [](const Item& a, const Item& b) {
      return static_cast<double>(a.cost) * static_cast<double>(b.bytes) <
             static_cast<double>(b.cost) * static_cast<double>(a.bytes);
    });
  }
}

std::int64_t CostBound::at(std::int64_t budget) const {
  // Fractions are rounded; a little less is still a bound.
  constexpr double kCare = 1 - 1e-9;
  double most = 0;
  for (const Cut& cut : cuts_) {
    std::int64_t above = cut.all - budget;
    double cost = 0;
    for (const Item& item : cut.items) {
      if (above <= 0) break;
      const double share =
          std::min(1.0, static_cast<double>(above) / static_cast<double>(item.bytes));
      cost += share * static_cast<double>(item.cost);
      above -= item.bytes;
    }
    most = std::max(most, cost);
  }
  return static_cast<std::int64_t>(std::ceil(most * kCare));
}

}  // namespace tenure::planner::remat
