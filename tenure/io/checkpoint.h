#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenure/io/named_tensors.h"
#include "tenure/ops/random_ops.h"

namespace tenure {

/// A fact beside the tensors of a checkpoint: a step, a rate, a name.
class Fact {
 public:
  using Value = std::variant<std::int64_t, double, std::string>;

  template <std::integral T>
  requires(!std::is_same_v<T, std::uint64_t>) Fact(T value)  // NOLINT(google-explicit-constructor)
      : value_(static_cast<std::int64_t>(value)) {}
  Fact(double value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  Fact(std::string value) : value_(std::move(value)) {}    // NOLINT(google-explicit-constructor)
  Fact(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  /// Where a generator stands; generator_state() of the checkpoint reads it.
  Fact(const Generator::State& state);  // NOLINT(google-explicit-constructor)

  const Value& value() const { return value_; }
  friend bool operator==(const Fact&, const Fact&) = default;

 private:
  Value value_;
};
/// It holds no tensor; see tree.h. Not for what only becomes one: numbers and texts are leaves.
template <std::same_as<Fact> T, class F>
void visit_tree(const T& /*fact*/, const F& /*f*/) {}

using Facts = std::map<std::string, Fact>;

/// All that a run needs to go on: tensors by name, and facts.
struct Checkpoint {
  std::string path{};
  NamedTensors tensors{};
  Facts facts{};

  // Each throws ValueError if there is none of this name, or if it is of another type.
  const Tensor& tensor(const std::string& name, Site site = Site::current()) const;
  std::int64_t integer(const std::string& name, Site site = Site::current()) const;
  /// An integer counts as a number.
  double number(const std::string& name, Site site = Site::current()) const;
  const std::string& text(const std::string& name, Site site = Site::current()) const;
  Generator::State generator_state(const std::string& name, Site site = Site::current()) const;
};

/// Writes a safetensors file with the facts in its metadata, each as JSON has it. The file is there
/// as a whole or not at all: whatever happens meanwhile, `path` has the old checkpoint or the new
/// one. Throws FileError.
void save_checkpoint(const std::string& path, const NamedTensors& tensors, const Facts& facts,
                     Site site = Site::current());

/// The tensors lie in the mapped file, which may be replaced meanwhile. Throws FileError, and
/// FormatError if the file is damaged or no checkpoint.
Checkpoint load_checkpoint(const std::string& path, Site site = Site::current());

}  // namespace tenure
