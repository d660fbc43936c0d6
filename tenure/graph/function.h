#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/base/handle.h"
#include "tenure/graph/donate.h"
#include "tenure/graph/plan.h"
#include "tenure/graph/spec.h"
#include "tenure/tensor/tensor.h"
#include "tenure/tensor/tree.h"

namespace tenure {

struct FunctionOptions {
  std::string name = "function";
  /// Tensors, by their number among all arguments, whose first dimension is the size of a batch:
  /// one trace serves every size, and is compiled for each that comes. Inside the callable it is
  /// unknown: see ops/size_ops.h.
  std::vector<int> batched{};
  /// Bytes of traces to keep; the least recently used go first.
  std::int64_t cache_limit = 64 << 20;
  /// After so many traces the next one is reported, with its reason, then the one that doubles
  /// their number, and so on; clear() begins to count anew. 0: never.
  int warn_after = 8;
  /// Gets the reports; standard error unless set.
  std::function<void(const std::string&)> warn{};
  /// The most bytes that a call may take, its arguments and Plan::constants among them. It computes
  /// some of itself twice and runs some in parts where that is the price, with the same bits, and
  /// throws planner::BudgetError, before it runs, where no way is known. Every budget from the
  /// error's least() on is held, on whatever number of threads; a larger one never costs more time,
  /// as it is estimated; none below bound() can be held.
  std::optional<std::int64_t> budget{};
  /// Bytes of weights that each compiled program may keep packed, as its kernels read them, where
  /// that is faster and the budget has room: see Plan::packed.
  std::int64_t packed_limit = 256 << 20;
  /// Without a budget: the share of its time that a call may spend on computing some of itself
  /// twice and on running in parts, where that lowers its peak. An estimate. Up to 0.01 it is what
  /// single loops make of values that are held anyway, found without a search.
  double recompute = 0;
  /// How long to look for what is best computed twice: with 1 about a second for a program of
  /// hundreds of ops, with n up to twice n times as long. It counts steps of the search, not
  /// seconds, so that a program has the same plan everywhere; more of it never gives a worse one.
  int effort = 1;
  /// Ends a run at the first result that is not finite: NumberError names its op and line. Slower,
  /// for nothing is fused.
  bool check_numbers = false;
};

/// One trace of a function.
struct TraceInfo {
  std::string signature;   ///< "float32[8, 4], float32[4]"
  std::string reason;      ///< why it was made
  std::int64_t calls = 0;  ///< that it served
  std::int64_t nodes = 0;  ///< of its graph
  std::int64_t bytes = 0;  ///< that its compiled program holds, and the trace if it was made for it
};

namespace graph {

/// How a call gets a tensor.
enum class Ownership : std::uint8_t {
  kept,     ///< the caller keeps it
  moved,    ///< it ends with the call
  donated,  ///< the same, and its memory must be used
};

struct CompiledTrace;
class GraphState;
struct Traced;
struct TraceVariant;

/// The part of a function that does not depend on its types. It is made shared.
class FunctionCore : public std::enable_shared_from_this<FunctionCore> {
 public:
  /// A call's arguments: its tensors, and what else tells it from other calls (see CallLayout).
  struct Call {
    using Ownership = graph::Ownership;
    std::vector<Tensor> tensors{};
    std::vector<Ownership> ownership{};  ///< per tensor; empty: all are kept
    std::vector<std::int64_t> layout{};
    std::vector<double> numbers{};  ///< those among the arguments, for reports
    /// How the layout differs from that of the call before, for reports; empty: not known.
    std::string other{};
    /// Of a call that the library makes for the function: what was traced, and why, for reports.
    std::shared_ptr<const Traced> traced{};
    const char* purpose = nullptr;
  };
  /// What a call gives: the tensors of the result, and the result without them.
  struct Result {
    std::vector<Tensor> tensors{};
    std::shared_ptr<const void> frame{};
  };
  /// Calls the traced callable with symbols in place of the tensors.
  using Trace = std::function<Result(const std::vector<Tensor>& symbols)>;

  FunctionCore(FunctionOptions options, Site site);
  ~FunctionCore();
  FunctionCore(const FunctionCore&) = delete;
  FunctionCore& operator=(const FunctionCore&) = delete;

  /// Is given the result without its tensors before the run begins, to make room for it: when the
  /// run has assigned to variables, nothing may fail any more.
  using Prepare = std::function<void(const void* frame)>;

  /// With symbols among the tensors, or while something is traced, that takes it in. Throws
  /// DonationError, and what the callable and its ops throw; the tensors are then as before.
  /// Meanwhile, those that are everywhere (ops/shape/meet.h) are where the others are.
  Result call(Call& call, const Trace& trace, const Prepare& prepare = {});
  /// Types and shapes count alone; the tensors may be symbolic.
  Plan plan(const Call& call, const Trace& trace);
  std::vector<TraceInfo> traces() const;
  std::string explain() const;
  void clear();
  /// Forgets the traces of such calls: what was an argument of theirs is no more.
  void forget(const std::vector<std::int64_t>& layout);

  // For the layers above.

  const FunctionOptions& options() const;
  Site site() const;
  /// Calls the callable on the tensors as they are: its ops go where theirs go. Throws GraphError
  /// if it calls itself, and DonationError for a tensor with data given by donate().
  Result call_inline(const Call& call, const Trace& trace) const;
  /// Calls the traced callable, whose ops go to `graph`. Throws GraphError if it calls itself.
  Result trace_into(GraphState& graph, const std::vector<Tensor>& symbols,
                    const Trace& trace) const;
  /// What serves such calls, one of the function's traces like any other. Counts as a call.
  CompiledTrace compiled(const Call& call, const TraceVariant& variant);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Serves a call while a tape records; nullopt: no tape has to know of it. tenure/wiring.cpp hands
/// it to tenure/autograd/.
std::optional<FunctionCore::Result> call_taped(FunctionCore& core, const FunctionCore::Call& call,
                                               const FunctionCore::Trace& trace);

/// Its address stands for the type.
template <class T>
inline constexpr char type_mark = 0;

/// Writes down what else than tensors tells the calls of a function apart: the types of arguments,
/// the sizes of their containers, and all that is no tensor in them.
class CallLayout {
 public:
  explicit CallLayout(FunctionCore::Call& call) : call_(call) {}

  template <class Argument>
  void add(const Argument& argument) const {
    put(reinterpret_cast<std::intptr_t>(&type_mark<Argument>));
    for_each_leaf(argument, *this);
  }

  void enter(std::size_t n) const { put(static_cast<std::int64_t>(n)); }
  template <class Leaf>
  void operator()(const Leaf& leaf) const {
    if constexpr (std::is_same_v<Leaf, Tensor> || std::is_empty_v<Leaf>) {
    } else if constexpr (std::is_floating_point_v<Leaf>) {
      put(std::bit_cast<std::int64_t>(static_cast<double>(leaf)));
      call_.numbers.push_back(static_cast<double>(leaf));
    } else if constexpr (std::is_arithmetic_v<Leaf> || std::is_enum_v<Leaf>) {
      put(static_cast<std::int64_t>(leaf));
      call_.numbers.push_back(static_cast<double>(leaf));
    } else if constexpr (std::is_pointer_v<Leaf>) {
      put(reinterpret_cast<std::intptr_t>(leaf));
    } else {
      static_assert(tree::Range<const Leaf>,
                    "the arguments of a function are tensors, numbers, texts, pointers and trees "
                    "of them: let the callable capture anything else");
      enter(static_cast<std::size_t>(std::distance(leaf.begin(), leaf.end())));
      for (const auto& number : leaf) {
        if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(number)>>) {
          put(std::bit_cast<std::int64_t>(static_cast<double>(number)));
        } else {
          put(static_cast<std::int64_t>(number));
        }
      }
    }
  }

 private:
  void put(std::int64_t number) const { call_.layout.push_back(number); }

  FunctionCore::Call& call_;
};

}  // namespace graph

/// A compiled version of a callable over tensors, made by function(). Copies share their traces. It
/// runs on the device of its tensors; called without any, on the default device of the thread,
/// where what the callable captures is then to be.
template <class F>
class Function {
 public:
  Function(F f, FunctionOptions options, Site site)
      : f_(std::move(f)),
        core_(std::make_shared<graph::FunctionCore>(std::move(options), site), site) {}

  /// Arguments that are moved in end with the call, and results may be computed in the memory of
  /// those that nobody else holds. If it throws, they are as before.
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    using Result = Outcome<Arguments...>;
    // A tensor may be in several arguments: all are looked at before any is taken.
    graph::FunctionCore::Call call;
    (collect<Arguments>(call, arguments), ...);
    (for_each_given<Arguments>(arguments, [](Tensor& tensor) { tensor = Tensor(); }), ...);
    try {
      std::optional<Result> result;
      graph::FunctionCore::Result made = core_->call(
          call, trace_of(arguments...),
          [&result](const void* frame) { result.emplace(*static_cast<const Result*>(frame)); });
      std::size_t i = 0;
      for_each_tensor(*result, [&](Tensor& tensor) { tensor = std::move(made.tensors[i++]); });
      return *std::move(result);
    } catch (...) {
      [[maybe_unused]] std::size_t i = 0;  // there may be no arguments
      (give_back<Arguments>(call, i, arguments), ...);
      throw;
    }
  }

  /// What such a call takes, before it is made. Only types and shapes of the arguments count: they
  /// may be specs (see `spec`), given by donate() if the call's are donated. Allocates nothing.
  template <class... Arguments>
  Plan plan(const Arguments&... arguments) const {
    graph::FunctionCore::Call call;
    (collect_specs(call, arguments), ...);
    return core_->plan(call, trace_of(arguments...));
  }

  std::vector<TraceInfo> traces() const { return core_->traces(); }
  /// The traces and why each was made, for a person to read.
  std::string explain() const { return core_->explain(); }
  /// Forgets all traces.
  void clear() { core_->clear(); }

 private:
  template <class T>
  struct BareOf {
    using Type = T;
    static constexpr bool is_donation = false;
  };
  template <class T>
  struct BareOf<Donation<T>> {
    using Type = std::remove_const_t<T>;
    static constexpr bool is_donation = true;
  };
  template <class Argument>
  using Bare = typename BareOf<std::remove_cvref_t<Argument>>::Type;
  template <class Argument>
  static constexpr bool is_donation = BareOf<std::remove_cvref_t<Argument>>::is_donation;
  template <class... Arguments>
  using Outcome = std::remove_cvref_t<std::invoke_result_t<const F&, const Bare<Arguments>&...>>;

  template <class Argument>
  static constexpr bool is_moved =
      !std::is_lvalue_reference_v<Argument> && !std::is_const_v<std::remove_reference_t<Argument>>;

  using Call = graph::FunctionCore::Call;

  /// Notes handles of all tensors. Given ones stay where they are for now.
  template <class Argument>
  static void collect(Call& call, const std::remove_reference_t<Argument>& argument) {
    graph::CallLayout(call).add(bare(argument));
    constexpr Call::Ownership ownership = is_donation<Argument> ? Call::Ownership::donated
                                          : is_moved<Argument>  ? Call::Ownership::moved
                                                                : Call::Ownership::kept;
    for_each_tensor(bare(argument), [&](const Tensor& t) { add(call, t, ownership); });
  }
  /// Calls `f(tensor)` for those that end with the call.
  template <class Argument, class Visit>
  static void for_each_given(std::remove_reference_t<Argument>& argument, const Visit& f) {
    if constexpr (is_donation<Argument>) {
      static_assert(!std::is_const_v<std::remove_reference_t<decltype(argument.argument)>>,
                    "what is donated ends with the call, and this is const");
      for_each_tensor(argument.argument, f);
    } else if constexpr (is_moved<Argument>) {
      for_each_tensor(argument, f);
    }
  }
  template <class Argument>
  static void collect_specs(Call& call, const Argument& argument) {
    graph::CallLayout(call).add(bare(argument));
    const auto ownership = is_donation<Argument> ? Call::Ownership::donated : Call::Ownership::kept;
    for_each_tensor(bare(argument), [&](const Tensor& t) { add(call, t, ownership); });
  }
  static void add(Call& call, Tensor tensor, Call::Ownership ownership) {
    if (ownership != Call::Ownership::kept) call.ownership.resize(call.tensors.size());
    call.tensors.push_back(std::move(tensor));
    if (ownership != Call::Ownership::kept || !call.ownership.empty())
      call.ownership.push_back(ownership);
  }

  /// Puts what was given back to where it was.
  template <class Argument>
  static void give_back(Call& call, std::size_t& i, std::remove_reference_t<Argument>& argument) {
    if constexpr (is_donation<Argument> || is_moved<Argument>) {
      for_each_given<Argument>(argument,
                               [&](Tensor& tensor) { tensor = std::move(call.tensors[i++]); });
    } else {
      for_each_tensor(argument, [&](const Tensor&) { ++i; });
    }
  }

  template <class... Arguments>
  graph::FunctionCore::Trace trace_of(const Arguments&... arguments) const {
    return [this, &arguments...](const std::vector<Tensor>& symbols) {
      using Result = Outcome<Arguments...>;
      static_assert(!std::is_void_v<Result>, "a function returns its results");
      std::tuple<Bare<Arguments>...> copies(bare(arguments)...);
      std::size_t i = 0;
      for_each_tensor(copies, [&](Tensor& tensor) { tensor = symbols[i++]; });
      auto result = std::make_shared<Result>(std::apply(
          [this](const Bare<Arguments>&... symbolic) { return f_(symbolic...); }, copies));
      graph::FunctionCore::Result traced;
      for_each_tensor(*result, [&](Tensor& tensor) {
        traced.tensors.push_back(std::exchange(tensor, Tensor()));
      });
      traced.frame = std::move(result);
      return traced;
    };
  }

  template <class Argument>
  static const Bare<Argument>& bare(const Argument& argument) {
    if constexpr (is_donation<Argument>) {
      return argument.argument;
    } else {
      return argument;
    }
  }

  F f_;
  Handle<graph::FunctionCore, "function"> core_;
};

/// Makes a compiled version of a callable over tensors. The first call with tensors of certain
/// types and shapes writes down what it does; every call like it runs the plan of that. What the
/// callable captures is captured by reference. Arguments and results may be tensors, containers and
/// structs of tensors; arguments may also be or have numbers, texts and pointers, each value of
/// which is a trace of its own.
///
///     auto step = function([&](const Tensor& x) { return tanh(matmul(x, w)); });
///     Tensor y = step(x);
template <class F>
Function<F> function(F f, FunctionOptions options = {}, Site site = Site::current()) {
  return Function<F>(std::move(f), std::move(options), site);
}

}  // namespace tenure
