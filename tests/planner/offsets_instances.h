#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tenure/planner/offsets.h"

// Generated offset problems of many shapes, the same on every machine.

namespace tenure::planner::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// From `low` to `high`, both included.
  std::int64_t roll(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return roll(0, 99) < percent; }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

/// Anything goes: lifetimes and sizes are independent.
inline OffsetProblem any_problem(Dice& dice, int buffers, int times, int sizes) {
  OffsetProblem problem;
  for (int i = 0; i < buffers; ++i) {
    const std::int64_t a = dice.roll(0, times - 1);
    const std::int64_t b = dice.roll(0, times - 1);
    problem.buffers.push_back(
        {.size = dice.roll(1, sizes), .lower = std::min(a, b), .upper = std::max(a, b) + 1});
  }
  return problem;
}

/// Anything that leaves no room: where less is alive than at the peak, a short buffer takes the
/// rest. The least height is often above the bound.
inline OffsetProblem filled_problem(Dice& dice, int buffers, int times, int sizes) {
  OffsetProblem problem = any_problem(dice, buffers, times, sizes);
  std::vector<std::int64_t> live(static_cast<std::size_t>(times), 0);
  for (const Buffer& buffer : problem.buffers) {
    for (std::int64_t t = buffer.lower; t < buffer.upper; ++t)
      live[static_cast<std::size_t>(t)] += buffer.size;
  }
  const std::int64_t peak = *std::max_element(live.begin(), live.end());
  for (int t = 0; t < times; ++t) {
    const std::int64_t rest = peak - live[static_cast<std::size_t>(t)];
    if (rest > 0) problem.buffers.push_back({.size = rest, .lower = t, .upper = t + 1});
  }
  return problem;
}

/// A rectangle of `height` by `height` cut into `buffers` pieces, edge to edge: a packing of that
/// height exists, and it leaves no gap.
inline OffsetProblem cut_rectangle(Dice& dice, int buffers, std::int64_t height) {
  struct Piece {
    std::int64_t lower, upper, bottom, top;
    std::int64_t area() const { return (upper - lower) * (top - bottom); }
  };
  std::vector<Piece> pieces{{0, height, 0, height}};
  while (static_cast<int>(pieces.size()) < buffers) {
    // The larger of two: pieces of some size, but not all of one.
    const auto pick = [&] {
      return static_cast<std::size_t>(dice.roll(0, static_cast<int>(pieces.size()) - 1));
    };
    const std::size_t one = pick();
    const std::size_t other = pick();
    Piece& piece = pieces[pieces[one].area() > pieces[other].area() ? one : other];
    Piece rest = piece;
    if (dice.chance(50) && piece.upper - piece.lower > 1) {
      piece.upper = rest.lower = dice.roll(piece.lower + 1, piece.upper - 1);
    } else if (piece.top - piece.bottom > 1) {
      piece.top = rest.bottom = dice.roll(piece.bottom + 1, piece.top - 1);
    } else {
      continue;
    }
    pieces.push_back(rest);
  }
  std::shuffle(pieces.begin(), pieces.end(), dice.engine());
  OffsetProblem problem;
  for (const Piece& piece : pieces) {
    problem.buffers.push_back(
        {.size = 1024 * (piece.top - piece.bottom), .lower = piece.lower, .upper = piece.upper});
  }
  return problem;
}

/// A training step: activations of the forward pass that the backward pass frees in reverse order,
/// temporaries and workspaces of both, gradients that live until the optimizer, its temporaries.
inline OffsetProblem training_step(Dice& dice, int buffers) {
  constexpr int kOpsPerLayer = 20;
  constexpr int kBuffersPerLayer = 52;
  const int layers = std::max(1, buffers / kBuffersPerLayer);
  OffsetProblem problem;
  std::int64_t now = 0;
  const auto add = [&](std::int64_t lower, std::int64_t upper, std::int64_t size) {
    problem.buffers.push_back({.size = size, .lower = lower, .upper = upper, .alignment = 256});
  };
  const std::int64_t tokens = 2048 * dice.roll(1, 4);
  const std::int64_t width = 512 * dice.roll(2, 8);
  std::vector<std::pair<std::int64_t, std::int64_t>> saved;  // born, size
  for (int i = 0; i < layers * kOpsPerLayer; ++i, ++now) {
    const std::int64_t size = tokens * width * 2 * dice.roll(1, 8) / dice.roll(1, 6);
    if (dice.chance(60)) {
      saved.emplace_back(now, size);
    } else {
      add(now, now + dice.roll(2, 4), size);
    }
    if (dice.chance(30)) add(now, now + 1, dice.roll(1, 64) << 18);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> gradients;
  for (; !saved.empty(); saved.pop_back(), ++now) {
    const auto [born, size] = saved.back();
    add(born, now + 1 + dice.roll(0, 1), size);
    add(now, now + dice.roll(2, 3), size);
    if (dice.chance(30)) add(now, now + 1, dice.roll(1, 64) << 18);
    if (dice.chance(50)) gradients.emplace_back(now, width * width * 2 * dice.roll(1, 4));
  }
  for (const auto& [born, size] : gradients) {
    add(born, now + 1, size);
    add(now, now + 1, 2 * size);
    ++now;
  }
  return problem;
}

/// The same problem to a person, another one to a program.
inline OffsetProblem disguised(Dice& dice, OffsetProblem problem) {
  std::shuffle(problem.buffers.begin(), problem.buffers.end(), dice.engine());
  if (dice.chance(50)) {
    for (Buffer& buffer : problem.buffers)
      buffer.lower = std::exchange(buffer.upper, -buffer.lower) * -1;
  }
  return problem;
}

}  // namespace tenure::planner::test
