#include "tenure/profile/stacks.h"

#include <fmt/format.h>

#include <map>

#include "tenure/profile/queries.h"

namespace tenure::profile {

std::vector<Stack> stacks(const History& history) {
  const std::int64_t at = peak(history).time_ns;
  std::map<std::uint32_t, Stack> by_origin;
  for (const StorageLife& life : history.storages) {
    Stack& stack = by_origin[life.origin];
    ++stack.allocations;
    stack.allocated_bytes += life.bytes;
    if (life.birth_ns > at || life.death_ns <= at) continue;
    for_each_piece(history, life, at, [&](const Piece& piece) {
      Stack& part = by_origin[piece.origin];
      ++part.peak_storages;
      part.peak_bytes += piece.bytes;
    });
  }
  std::vector<Stack> result;
  for (auto& [origin, stack] : by_origin) {
    stack.origin = origin;
    result.push_back(stack);
  }
  return result;
}

std::vector<StackFrame> frames_of(const Recorded& recorded, const Origin& origin) {
  std::vector<StackFrame> frames;
  for (const CallFrame* const call : recorded.calls(origin)) {
    frames.push_back({to_string(*call), call->file, call->line});
  }
  std::string_view scope = frames.empty() ? origin.scope : std::string_view();
  while (!scope.empty()) {
    const std::size_t end = std::min(scope.find('/'), scope.size());
    if (end > 0) frames.push_back({std::string(scope.substr(0, end))});
    scope.remove_prefix(std::min(end + 1, scope.size()));
  }
  frames.push_back({origin.op.empty() ? std::string("unknown")
                                      : fmt::format("{} {}", origin.op, place_text(origin)),
                    origin.file, origin.line});
  return frames;
}

}  // namespace tenure::profile
