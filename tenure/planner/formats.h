#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenure/planner/dag.h"
#include "tenure/planner/offsets.h"

// Text to problem, with or without a byte-order mark. What is wrong with a text is a ValueError
// that begins with `file:line: `; it quotes an excerpt at most.

namespace tenure::planner {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Buffers with the names that their file gives them.
struct BufferTable {
  std::vector<std::string> ids;  ///< one per buffer
  OffsetProblem problem;
};

/// Reads comma-separated values. The first line names the columns, in any order: `id`, `size`,
/// `lower`, and `upper` (exclusive) or `end` (inclusive); also `alignment`, `offset` and `gaps`,
/// where an empty field says nothing. Gaps are separated by spaces: `3-7` is a while without the
/// buffer, `3-7@0:64` one in which only its first 64 bytes are needed; the upper end is exclusive
/// or inclusive like the lifetime's. Other columns are passed over. Fields may be in double quotes.
/// In formats/csv.cpp.
BufferTable read_buffers(std::string_view text, const std::string& file);

/// A program with what its file says about its nodes.
struct Program {
  std::string name;
  std::vector<std::string> ids;  ///< one per node
  std::vector<std::string> ops;  ///< one per node; empty where the file has none
  Dag dag;
};

/// Reads JSON: an object with `nodes`, a list in execution order of objects with `id` (a number or
/// a string), `bytes`, `inputs` (ids) and, if they like, `cost`, `workspace`, `overwrites` (those
/// of the inputs), `pure`, `output` and `op`; beside it `fixed_bytes`, which are always there, and
/// `name`. Other members are passed over; none may come twice. In formats/program.cpp.
Program read_program(std::string_view text, const std::string& file);

}  // namespace tenure::planner
