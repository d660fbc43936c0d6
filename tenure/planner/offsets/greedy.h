#pragma once

#include <functional>
#include <vector>

#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::offsets {

/// One way to order the blocks of an instance for placing them one after the other.
enum class Order { size, area, length, begin };
inline constexpr Order kOrders[] = {Order::size, Order::area, Order::length, Order::begin};

std::vector<int> ordered(const Instance& instance, Order order);

/// Puts the fixed blocks first and leaves the others as they are.
void fixed_first(const Instance& instance, std::vector<int>& order);

/// Places each block into the lowest hole that takes it, or with `best` the tightest, blocks with
/// gaps always the lowest; fixed blocks are the first. Takes n^2 steps; an empty result where
/// `expired` cut it short.
std::vector<Units> fit(const Instance& instance, const std::vector<int>& order, bool best,
                       const std::function<bool()>& expired);

}  // namespace tenure::planner::offsets
