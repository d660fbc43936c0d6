#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenure/profile/arenas.h"

namespace tenure::profile {

/// Bytes from one moment to another: a storage, or a part of an arena while its program runs.
struct Row {
  static constexpr std::uint32_t kNoStorage = UINT32_MAX;
  std::int64_t birth_ns = 0;
  std::int64_t death_ns = kNever;
  std::int64_t bytes = 0;
  std::uint64_t address = 0;  ///< 0: not known, or no one place
  std::string_view op{};
  std::uint32_t origin = 0;
  std::string_view scope{};
  int kind = 0;  ///< see arenas.h
  Device device = cpu;
  std::uint32_t thread = 0;
  std::uint32_t storage = kNoStorage;            ///< its place among the storages, if it is one
  std::uint32_t arena = kNoStorage;              ///< or that of the arena that it lies in
  std::uint32_t plan = 0;                        ///< of a buffer: place of its plan, from 1 up
  const RecordedPlan::Buffer* buffer = nullptr;  ///< of that plan
};

/// A page of so many rows opens in a second.
inline constexpr std::size_t kMostBufferRows = 400'000;

/// All that was live at any time, by birth: storages, and in the place of arenas what lies in them,
/// so that at every moment the bytes add up to what was live. Of very many runs, some of each
/// program have their arenas told apart, the first, the last and those at the peak among them.
std::vector<Row> rows(const History& history, std::size_t most_buffers = kMostBufferRows);

}  // namespace tenure::profile
