#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "tenure/autograd/node.h"
#include "tenure/autograd/value_table.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"

namespace tenure::autograd {

// Note: what a tape does with a call
//
// Tensors are values to a tape, numbered in the order in which it meets them; an id finds its
// value. A call with an input that the tape knows becomes a node: before the call runs, the tape
// takes holders of its own of the inputs that the rule reads, which also keeps the call from
// computing in them; after it, of the outputs that the rule reads. Everything else may be
// overwritten or disposed: the way back does not look at it.
//
// Tapes nest: each runs the call by the next one outside it, the outermost runs it for real. While
// a tape goes back, it is not recording, and those outside it see the rules' ops as calls like any
// others. They know a saved tensor by the id of the tensor that it was saved from.

/// What tells one value from another: a tensor's id. A graph has equal calls once, but to a tape
/// each is a call, whose result is a symbol with an id of its own: so gradients are added up in the
/// order in which eager calls have them. Never 0.
inline std::uint64_t key_of(const Tensor& tensor) { return tensor.body("tape").id(); }

/// What a tape knows. Belongs to one thread.
class TapeState final : public ops::Tape {
 public:
  TapeState(bool persistent, bool watches_variables, Site site)
      : persistent(persistent),
        watches_variables(watches_variables),
        site(site),
        trace_(ops::current_trace()),
        counted_(population(), site) {}
  ~TapeState() override { forget(); }

  const bool persistent;
  const bool watches_variables;
  const Site site;  ///< where the tape was made

  Tensor run(const ops::OpRecord& op, std::span<const Operand> operands,
             const ops::Attributes& attributes, Site site) override;
  std::vector<Tensor> run_many(const ops::OpRecord& op, std::span<const Operand> operands,
                               const ops::Attributes& attributes, Site site) override;
  void read_variable(std::uint64_t variable, bool trainable, const Tensor& value) override;

  /// Of a tape on a trace: tensors with data that it meets and that `outside` knows become sources.
  void adopt_from(const TapeState& outside) { outside_ = &outside; }
  /// Those sources, in the order in which it met them.
  const std::vector<Tensor>& adopted() const { return adopted_; }

  /// Makes it a source. Watching again changes nothing.
  void watch(const Tensor& tensor);
  void watch_variable(std::uint64_t variable);
  Value find(const Tensor& tensor) const { return values_.find(key_of(tensor)); }
  /// The same, for what a call reads: see adopt_from().
  Value find_or_adopt(const Tensor& tensor) {
    const Value known = find(tensor);
    return known == kNoValue && outside_ != nullptr ? adopt(tensor) : known;
  }
  Value find_variable(std::uint64_t variable) const { return variables_.find(variable); }
  /// Knows `same` as what it knows `key` as, if it does.
  void alias(std::uint64_t key, std::uint64_t same);

  /// A call that is no op, which has run. `saved` is what the rule wants to find in
  /// Backward::inputs behind the inputs themselves.
  void note_custom(std::shared_ptr<const CustomRule> rule, std::span<const Tensor> inputs,
                   std::span<const Tensor> outputs, std::span<const Tensor> saved, Site site);

  /// Of each value, whether the way back from `target` may come by it.
  std::vector<bool> reached_from(Value target) const;
  /// Throws GradientError if somebody wrote to data that the way back from `target` to `sources`
  /// reads, after it was saved.
  void require_unwritten(Value target, std::span<const Value> sources, Site asked) const;
  /// The way back from `targets`, whose gradients are `seeds`, to `sources`; an empty handle where
  /// none arrives. Unless `keep` is set, it releases what it has passed and forgets all, also when
  /// a rule throws. In backward.cpp, with the two above.
  std::vector<Tensor> go_back(std::span<const Value> targets, std::span<const Tensor> seeds,
                              std::span<const Value> sources, bool keep);

  /// Calls `f(node)` for all nodes in order.
  template <class F>
  void for_each_node(const F& f) const {
    for (const Node* const node : nodes_) f(*node);
  }
  /// Drops all notes.
  void forget();

  // The tapes of this thread.

  static void begin(std::shared_ptr<TapeState> tape);
  static void end(const std::shared_ptr<TapeState>& tape) noexcept;
  /// Recording goes on when as many calls of resume() have been made.
  void pause();
  void resume();
  bool is_recording() const { return pauses_ == 0 && !ended_.load(std::memory_order_relaxed); }
  /// The next one that records outside this one; nullptr: none.
  TapeState* next() const { return next_; }

 private:
  friend class PauseAll;
  class PendingNode;

  static void update_chain() noexcept;
  bool sees_calls() const {
    return is_recording() && (trace_ == ops::current_trace() || sees_graph());
  }
  Value adopt(const Tensor& tensor);
  /// The values of operands. False if the tape knows none of them.
  bool find_all(std::span<const Operand> operands, std::span<Value> values);
  /// A graph that is written into is no trace of its own.
  bool sees_graph() const;
  static mem::Population& population();
  void set_value(std::uint64_t key, Value value) {
    values_.insert(key, value);
    counted_.set(values_.size(), bytes());
  }
  /// Of what it notes down, the records of tensors that it holds included; not their data.
  std::size_t bytes() const {
    return arena_.bytes() + values_.bytes() + variables_.bytes() + held_ * sizeof(TensorBody) +
           producers_.size() * sizeof(std::uint32_t) + nodes_.size() * sizeof(void*);
  }
  Value add_value(std::uint32_t node) {
    producers_.push_back(node);
    return static_cast<Value>(producers_.size() - 1);
  }
  Node& prepare(const ops::OpRecord& op, std::span<const Operand> operands,
                const ops::Attributes& attributes, Site site, std::span<const Value> values,
                std::size_t outputs);
  void commit(Node& node, std::span<const Tensor> outputs);
  /// The named scopes that the thread is in; nullptr: none.
  const std::string* scope_now();
  Tensor run_below(const ops::OpRecord& op, std::span<const Operand> operands,
                   const ops::Attributes& attributes, Site site);
  /// Of each value, what is known of it on the way back to `sources`.
  std::vector<std::uint8_t> flags_for(std::span<const Value> sources) const;
  void run_rule(Node& node, std::span<Tensor> gradients, std::span<const std::uint8_t> flags,
                bool keep);

  static constexpr std::uint32_t kSource = 0xffffffff;

  ops::Recorder* trace_;  // that it was made in; it does not see calls of others
  std::atomic<bool> ended_{false};
  int pauses_ = 0;
  TapeState* next_ = nullptr;
  const TapeState* outside_ = nullptr;
  std::vector<Tensor> adopted_;

  mem::Crowd counted_;                    // the values that follow
  ValueTable values_;                     // by tensor
  ValueTable variables_;                  // by number
  std::vector<std::uint32_t> producers_;  // of each value, the node or kSource
  std::vector<Node*> nodes_;
  std::size_t held_ = 0;  // tensors of its own, by all nodes
  NodeArena arena_;
  std::vector<std::shared_ptr<const CustomRule>> rules_;
  std::unordered_set<std::string> scopes_;  // of nodes
  const std::string* last_scope_ = nullptr;
  std::uint64_t last_path_ = 0;                            // whose text that is; 0: none
  const std::uint64_t first_write_ = mem::latest_write();  // the last one before it was made
};

/// While it lives, no tape that this thread has now takes note; those made meanwhile do.
class PauseAll {
 public:
  PauseAll();
  ~PauseAll();
  PauseAll(const PauseAll&) = delete;
  PauseAll& operator=(const PauseAll&) = delete;

 private:
  std::vector<std::shared_ptr<TapeState>> tapes_;
};

/// A holder of the tape's own of the data of `tensor`, for `op` at `site`; of a symbol, and while
/// something is traced and nothing can change, a handle.
Tensor hold(const Tensor& tensor, const char* op, Site site);

}  // namespace tenure::autograd
