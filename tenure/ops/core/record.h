#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/ops/core/attributes.h"
#include "tenure/ops/core/kernel_cache.h"
#include "tenure/ops/core/view.h"
#include "tenure/tensor/integer_range.h"
#include "tenure/tensor/tensor.h"

namespace tenure {
class Operand;
}

namespace tenure::ops {

struct GradientRule;

/// What an op does to memory. The harness holds every op to it.
struct MemoryEffect {
  enum class Kind : std::uint8_t {
    allocates,     ///< new storage for every output
    view,          ///< outputs share the storage of input 0
    view_or_copy,  ///< a view where the layout allows it, else new storage
  };
  Kind kind = Kind::allocates;
  /// Bit i: computes in place in input i when that was moved in, nobody else holds its storage, and
  /// it has the output's shape and element size. Of an op with several outputs, output i is
  /// computed in input i; it may be so for all of them at once.
  std::uint8_t reuses = 0;
  /// Takes temporary memory besides its outputs, and gives it back before it returns.
  bool workspace = false;

  /// The inputs that output o of `outputs` may be computed in, as bits.
  constexpr std::uint32_t reuses_for(std::size_t o, std::size_t outputs) const {
    if (outputs == 1) return reuses;
    return o < 8 ? reuses & 1u << o : 0u;
  }
  constexpr MemoryEffect with_workspace() const {
    MemoryEffect effect = *this;
    effect.workspace = true;
    return effect;
  }
};
constexpr MemoryEffect allocates() { return {}; }
constexpr MemoryEffect reuses(std::uint8_t mask) { return {.reuses = mask}; }
constexpr MemoryEffect view() { return {.kind = MemoryEffect::Kind::view}; }
constexpr MemoryEffect view_or_copy() { return {.kind = MemoryEffect::Kind::view_or_copy}; }
/// "allocates; in place in a moved input 0 or 1"
std::string to_string(const MemoryEffect& effect);

/// An output before it exists.
struct Spec {
  DType dtype = DType::float32;
  Shape shape;
};
/// Of all its elements.
inline std::int64_t bytes_of(const Spec& spec) {
  return count(spec.shape) * static_cast<std::int64_t>(size_of(spec.dtype));
}
/// The outputs of one call; without a trip to the heap if they are few.
class Specs {
 public:
  static constexpr std::size_t kFew = 3;

  Specs(std::initializer_list<Spec> specs) : size_(specs.size()) {
    if (size_ > kFew) {
      many_ = specs;
    } else {
      std::size_t i = 0;
      for (const Spec& spec : specs) few_[i++] = spec;
    }
  }
  explicit Specs(std::vector<Spec> specs) : many_(std::move(specs)), size_(many_.size()) {}
  std::size_t size() const { return size_; }
  const Spec& operator[](std::size_t i) const { return begin()[i]; }
  const Spec* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  const Spec* end() const { return begin() + size_; }

 private:
  std::array<Spec, kFew> few_;
  std::vector<Spec> many_;
  std::size_t size_;
};

/// How a view reads its input's storage; the offset is relative to the input's first element.
struct ViewSpec {
  Shape shape{};
  Strides strides{};
  std::int64_t offset = 0;
};

/// What a kernel works on. In shape rules `in[i].data` and `out` are not there yet.
struct Kernel {
  const char* op = nullptr;
  std::span<const View> in{};
  std::span<const View> out{};
  const Attributes& attributes = kNoAttributes;
  std::span<std::byte> workspace{};
  /// Of a call in parts: outputs that are sums over the parts go on from what they have. Only where
  /// the device's slot says that it can.
  bool adds = false;
  /// The bounds of all indices (OpRecord::index_bounds) hold: nobody need look.
  bool indices_hold = false;
};

/// How a call is computed in parts, one after the other: each has a piece of the inputs' first
/// axis, and makes that piece of the outputs. The results have the bits of the call as a whole.
struct Parts {
  std::uint32_t in = 0;  ///< bit i: input i is cut; the others are read whole by each part
  /// Bit o: output o is a sum over the first axis, to which each part adds; the others are cut.
  std::uint32_t sums = 0;
  std::int64_t least = 1;  ///< a piece has at least so many of the first axis
};

/// A tensor of a reference computation: row-major, in the widest float there is.
struct Reference {
  Shape shape{};
  std::vector<long double> values{};
};

/// One call that the harness makes: inputs of these shapes with values in [low, high].
struct Sample {
  struct Input {
    Shape shape;
    double low = -2;
    double high = 2;
    std::optional<DType> dtype{};  ///< else every type that the op takes
    std::vector<double> values{};  ///< else random
  };
  std::vector<Input> inputs{};
  Attributes attributes{};
};

/// How an elementwise op treats element types.
enum class TypeRule : std::uint8_t {
  arithmetic,  ///< T, T -> T in the common type
  floating,    ///< the same; integers become float32
  comparison,  ///< T, T -> bool in the common type
  logic,       ///< everything becomes bool
  bits,        ///< the same as arithmetic; integers and bool alone
  select,      ///< bool, T, T -> T
};

/// A number that leaves the other operand as it is, to the last bit.
struct Neutral {
  double value = 0;
  bool on_left = false;      ///< also as the first operand
  bool of_integers = false;  ///< not for floating-point numbers
};

/// Integers that the last input of an op may not have: a call with them is a ValueError.
enum class Refusal : std::uint8_t { nothing, zero, negative };

/// What makes an op elementwise.
struct ElementwiseRecord {
  TypeRule rule = TypeRule::arithmetic;
  int arity = 1;
  bool takes_bool = true;
  double cost = 1;  ///< relative to an addition
  std::optional<Neutral> neutral{};
  bool undoes_itself = false;  ///< f(f(x)) is x
  /// The last input is no larger than this; 0: any.
  double last_limit = 0;
  long double (*reference)(const long double* arguments) = nullptr;
  Refusal refuses = Refusal::nothing;
};

/// What an op makes of float32 and 16-bit floats under Autocast.
enum class Precision : std::uint8_t {
  given,   ///< as always: what it is given; float32 where they meet
  narrow,  ///< reads 16 bits: a rounding of each operand matters little, and time and memory do
  wide,    ///< reads float32: its result would lose what it sums up
  beside,  ///< goes on in 16 bits if its first input has them, beside parameters in float32
};

/// The elements of an input are in [lowest, end), but for those that are `except`.
struct IndexBound {
  int input = 0;
  std::int64_t lowest = 0;
  std::int64_t end = 0;
  std::optional<std::int64_t> except{};
};

/// Whether all integers of such a range are in bounds.
constexpr bool holds(const IndexBound& bound, const IntegerRange& range) {
  const std::int64_t lowest = bound.except == range.lowest ? range.next_lowest : range.lowest;
  const std::int64_t highest = bound.except == range.highest ? range.next_highest : range.highest;
  return lowest > highest || (lowest >= bound.lowest && highest < bound.end);
}

/// Indices of an axis of `size` elements, from its beginning or, if negative, from its end.
constexpr IndexBound index_of_axis(int input, std::int64_t size) {
  return {.input = input, .lowest = -size, .end = size};
}

/// Everything the system may ask of an op.
struct OpRecord {
  const char* name = nullptr;
  const char* family = nullptr;
  const char* signature = nullptr;
  const char* doc = nullptr;
  MemoryEffect memory;
  int outputs = 1;
  std::uint32_t dtypes = 0;    ///< bit i: input 0 may have type i
  double tolerance_ulp = 0.5;  ///< stated error bound, in units of the last place of the result
  /// That of float64 on devices that have no wider type (Backend::has_wider_than_double); 0: the
  /// same.
  double tolerance_unwidened = 0;
  /// The bound is in units of the last place of the largest number that goes in or comes out, not
  /// of each result: of sums whose terms cancel.
  bool tolerance_of_largest = false;
  const ElementwiseRecord* elementwise = nullptr;
  Precision precision = Precision::given;

  Specs (*infer)(const Kernel&) = nullptr;
  /// The shape depends on the data: infer leaves sizes unknown, which the kernel measures.
  bool data_dependent = false;
  /// A kernel may refuse the elements that it finds: an index outside its axis, a division of
  /// integers by zero. It does so before it writes.
  bool may_fail = false;
  /// All that run may refuse, if that is known: a call whose bounds hold cannot fail.
  std::vector<IndexBound> (*index_bounds)(const Kernel&) = nullptr;
  /// Inputs that are not contiguous are copied to the workspace before anything else: how they lie
  /// changes nothing but time and memory.
  bool stages = false;
  /// Each result is input 0's element at its place in another type, as loops convert.
  bool converts = false;
  /// A call on constants may be made when a program is compiled.
  bool folds = true;
  std::optional<ViewSpec> (*view)(const Kernel&) = nullptr;
  /// Whether the call gives its first input unchanged.
  bool (*is_identity)(const Kernel&) = nullptr;
  /// Whether a call may be computed in parts, and how; unset: it may not. What is cut has one size
  /// along its first axis. An elementwise op may always.
  std::optional<Parts> (*parts)(const Kernel&) = nullptr;
  /// Floating-point operations of a call; unset: one for each element that goes in or comes out,
  /// whichever are more. See cost.h.
  double (*flops)(const Kernel&) = nullptr;
  /// Where its outputs are, if not on the device of its inputs.
  Device (*target)(const Attributes&) = nullptr;
  /// Of a random op: how many counters it takes off a generator. Its last two attributes are the
  /// seed and where they begin.
  std::uint64_t (*draws)(const Attributes&) = nullptr;
  /// A composite is written in other ops instead of having a kernel. It leaves its operands as they
  /// are: whoever runs it uses up the moved ones.
  std::vector<Tensor> (*expand)(std::span<const Operand>, const Attributes&) = nullptr;
  /// See gradient.h. nullptr: a composite's is that of its parts; others cannot be differentiated.
  const GradientRule* gradient = nullptr;

  std::vector<Sample> (*samples)() = nullptr;
  std::vector<Reference> (*reference)(const std::vector<Reference>&, const Attributes&) = nullptr;

  mutable KernelCache kernels{};

  bool takes(DType dtype) const { return (dtypes >> static_cast<int>(dtype) & 1) != 0; }
};

/// Sets of element types.
inline constexpr std::uint32_t kAllTypes = (1u << kDTypes) - 1;
constexpr std::uint32_t types_where(bool (*predicate)(DType)) {
  std::uint32_t set = 0;
  for (int i = 0; i < kDTypes; ++i) set |= predicate(static_cast<DType>(i)) ? 1u << i : 0u;
  return set;
}
inline constexpr std::uint32_t kFloatTypes = types_where(is_floating);
inline constexpr std::uint32_t kIntegerTypes = types_where(is_integral);
inline constexpr std::uint32_t kNumberTypes = kFloatTypes | kIntegerTypes;
/// What tensors of indices may have.
inline constexpr std::uint32_t kIndexTypes =
    types_where([](DType dtype) { return dtype == DType::int32 || dtype == DType::int64; });

/// All ops, by family; list.cpp lists them.
const std::vector<const OpRecord*>& all_ops();
/// nullptr if there is none.
const OpRecord* find_op(std::string_view name);

}  // namespace tenure::ops
