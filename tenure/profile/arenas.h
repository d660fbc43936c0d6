#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/profile/history.h"

// What an arena consists of while its program runs: the plan says which buffers are in use at each
// step, and the kernel events when the steps ended. A step that runs a branch or a loop is shown as
// at its fullest moment (see plan_moments.h).

namespace tenure::profile {

/// Categories as reports show them: those of the ledger, what a compiled program keeps from its way
/// forth for its way back, and what of its arena it does not use at a time.
inline constexpr int kSavedKind = kCategories;
inline constexpr int kUnusedKind = kCategories + 1;
inline constexpr int kKinds = kCategories + 2;
/// "activation", ..., "saved for backward", "unused in the arena".
std::string_view kind_name(int kind);
inline int kind_of(const StorageLife& life) { return static_cast<int>(life.category); }
int kind_of(const RecordedPlan::Buffer& buffer);

/// What is said to have made the part of an arena that no buffer uses at a step.
inline constexpr std::string_view kUnusedArena = "unused in the arena";

/// What memory is made of at a moment: a storage, or a buffer in an arena, or what is unused there.
struct Piece {
  std::string_view op{};
  std::uint32_t origin = 0;
  std::string_view scope{};  ///< the origin's; of what a variable holds, the path in its name
  int kind = 0;
  Device device = cpu;
  std::int64_t bytes = 0;
};
/// The layer that a storage is of.
std::string_view scope_of(const History& history, const StorageLife& life);

/// A storage as a whole.
inline Piece piece_of(const History& history, const StorageLife& life) {
  return {.op = history.recorded.origin(life.origin).op,
          .origin = life.origin,
          .scope = scope_of(history, life),
          .kind = kind_of(life),
          .device = life.device,
          .bytes = life.bytes};
}

/// The step that a run is at; as many as the plan has when it is done with them.
std::size_t step_at(const History& history, const RunLife& run, std::int64_t time_ns);
/// When a step begins, as far as it came; the first one when the arena is there.
std::int64_t begin_of(const History& history, const RunLife& run, std::size_t step);
/// When the last step of something ends; kNever: the run was interrupted.
std::int64_t end_of(const History& history, const RunLife& run, std::size_t step);

/// The moment from `from` to just before `until` at which most is in use of the largest arena of
/// these, which are storages that are live all the while.
std::int64_t busiest_moment(const History& history, std::span<const std::uint32_t> storages,
                            std::int64_t from, std::int64_t until);

/// What a layer keeps from its way forth for its way back.
struct SavedLayer {
  std::string scope;
  std::int64_t bytes = 0;
  std::int64_t buffers = 0;
  std::string ops;  ///< that made them, the largest first
};
/// Of a plan, the most bytes first.
std::vector<SavedLayer> saved_by_layer(const History& history, const RecordedPlan& plan);

/// Calls `visit(piece)` for all that a live storage consists of at a moment.
template <class Visit>
void for_each_piece(const History& history, const StorageLife& life, std::int64_t time_ns,
                    const Visit& visit) {
  Piece piece = piece_of(history, life);
  if (life.run == 0) return visit(piece);
  const RunLife& run = history.run_lives[life.run - 1];
  const auto step = static_cast<std::int64_t>(step_at(history, run, time_ns));
  for (const RecordedPlan::Buffer& buffer : history.recorded.plans()[run.plan].buffers) {
    if (!buffer.is_shown || buffer.first > step || buffer.last < step) continue;
    piece.bytes -= buffer.bytes;
    visit(Piece{.op = buffer.op,
                .origin = buffer.origin,
                .scope = history.recorded.origin(buffer.origin).scope,
                .kind = kind_of(buffer),
                .device = life.device,
                .bytes = buffer.bytes});
  }
  piece.op = kUnusedArena;
  piece.kind = kUnusedKind;
  if (piece.bytes > 0) visit(piece);
}

}  // namespace tenure::profile
