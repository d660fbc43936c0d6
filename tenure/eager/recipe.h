#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenure/memory/budget.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

/// Which of its ways a call went: each computes the same, but perhaps not to the last bit.
enum class Way : std::uint8_t { elementwise, direct, structured };

struct Recipe;

/// The elements that one storage had from one write to the next. It may be computed by a recipe,
/// be read by others, or both.
struct Value {
  std::uint64_t id = 0;  ///< for planner::Eviction; 0: it has no recipe
  /// Where it is, or where it is to be again; nullptr: given up, and no tensor has it.
  mem::Storage* storage = nullptr;
  Recipe* recipe = nullptr;
  std::vector<Recipe*> readers{};  ///< each once
  std::uint32_t pins = 0;
  bool is_owner = false;    ///< of a reference to its storage: no tensor has it
  bool is_exposed = false;  ///< somebody has a pointer to its elements
  bool is_taken = false;    ///< its storage is another's now, or about to be

  bool is_live() const { return storage != nullptr && !storage->is_hollow(); }
  bool is_wanted() const { return storage != nullptr && !is_owner; }
};

/// A call as it was made, to be made again.
struct Recipe {
  struct Input {
    Value* value = nullptr;  ///< nullptr: a number
    Scalar number{};
    DType dtype = DType::float32;
    Shape shape{};
    Strides strides{};
    std::int64_t offset = 0;
  };

  const ops::OpRecord* op = nullptr;
  ops::Attributes attributes{};
  Way way = Way::structured;
  Device device = cpu;  ///< on which it ran
  Site site{};
  std::vector<Input> inputs{};
  std::vector<Value*> outputs{};          ///< nullptr: that one is not computed by this any more
  mem::BudgetAccount* account = nullptr;  ///< with a reference

  Recipe() = default;
  ~Recipe() {
    if (account != nullptr) account->release();
  }
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
};

/// Makes the call again. No mode is in force on the thread. In run.cpp.
std::vector<Tensor> run_again(const Recipe& recipe, std::span<const Operand> operands);

}  // namespace tenure::eager
