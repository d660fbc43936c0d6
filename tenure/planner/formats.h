#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenure/planner/dag.h"
#include "tenure/planner/offsets.h"

// Text to problem. What is wrong with a text is a ValueError that begins with `file:line: `.

namespace tenure::planner {

/// Buffers with the names that their file gives them.
struct BufferTable {
  std::vector<std::string> ids;  ///< one per buffer
  OffsetProblem problem;
};

/// Reads comma-separated values. The first line names the columns, in any order: `id`, `size`,
/// `lower`, and `upper` (exclusive) or `end` (inclusive); also `alignment` and `offset`, where an
/// empty field says nothing. Other columns are passed over. Fields may be in double quotes.
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
/// `name`. Other members are passed over.
Program read_program(std::string_view text, const std::string& file);

}  // namespace tenure::planner
