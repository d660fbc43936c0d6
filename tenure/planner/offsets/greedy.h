#pragma once

#include <functional>
#include <vector>

#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::packing {

/// One way to order the blocks of an instance for placing them one after the other.
enum class Order { size, area, length, begin };
inline constexpr Order kOrders[] = {Order::size, Order::area, Order::length, Order::begin};

std::vector<int> ordered(const Instance& instance, Order order);

/// Places each block into the lowest hole that takes it, or with `best` the tightest; fixed blocks
/// are the first. Takes n^2 steps; an empty result where `expired` cut it short.
std::vector<Units> fit(const Instance& instance, const std::vector<int>& order, bool best,
                       const std::function<bool()>& expired);

}  // namespace tenure::planner::packing
