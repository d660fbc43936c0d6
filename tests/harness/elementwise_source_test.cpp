#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "tenure/check/cases.h"
#include "tenure/check/compare.h"
#include "tenure/ops/elementwise/activation-inl.h"
#include "tenure/ops/elementwise/arithmetic-inl.h"
#include "tenure/ops/elementwise/comparison-inl.h"
#include "tenure/ops/elementwise/derivatives-inl.h"
#include "tenure/ops/elementwise/exponential-inl.h"
#include "tenure/ops/elementwise/logic-inl.h"
#include "tenure/ops/elementwise/scalar-inl.h"
#include "tenure/ops/elementwise/selection-inl.h"
#include "tenure/ops/elementwise/source_expression.h"
#include "tenure/ops/elementwise/special-inl.h"
#include "tenure/ops/elementwise/trigonometric-inl.h"
#include "tenure/tenure.h"
#include "tests/support/scratch.h"

// The body of an elementwise op is written once. What it prints as source, compiled, computes what
// the op promises, and to the bit what the same body computes on plain numbers.

namespace tenure::check {
namespace {

using ops::OpRecord;
using Loop = void (*)(const void* const* in, void* out, std::size_t n);

constexpr DType kTypes[] = {DType::boolean, DType::uint8, DType::int8,    DType::int16,
                            DType::int32,   DType::int64, DType::float32, DType::float64};

DType result_type(const OpRecord& op, DType type) {
  const ops::TypeRule rule = op.elementwise->rule;
  const bool tests = rule == ops::TypeRule::comparison || rule == ops::TypeRule::logic;
  return tests ? DType::boolean : type;
}
DType input_type(const OpRecord& op, std::size_t i, DType type) {
  return op.elementwise->rule == ops::TypeRule::select && i == 0 ? DType::boolean : type;
}

std::vector<std::string> input_names(const OpRecord& op) {
  std::vector<std::string> names;
  for (int i = 0; i < op.elementwise->arity; ++i) names.push_back(fmt::format("in{}", i));
  return names;
}

std::string loop_name(const OpRecord& op, DType type) {
  return fmt::format("{}_{}", op.name, name_of(type));
}

/// A loop over the printed body.
std::string loop_source(const OpRecord& op, DType type, const ops::Source& body) {
  std::string text = fmt::format(
      "extern \"C\" void {}(const void* const* in, void* out, std::size_t n) {{\n"
      "for (std::size_t i = 0; i < n; ++i) {{\n",
      loop_name(op, type));
  const std::vector<std::string> names = input_names(op);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto in = ops::source_type(input_type(op, i, type));
    text += fmt::format("const {} {} = static_cast<const {}*>(in[{}])[i];\n", in, names[i], in, i);
  }
  return text + body.statements +
         fmt::format("static_cast<{}*>(out)[i] = {};\n}}\n}}\n",
                     ops::source_type(result_type(op, type)), body.result);
}

/// All elementwise ops in all types, compiled from their source.
class Compiled {
 public:
  Compiled() {
    std::string text =
        "#include <cstddef>\n#include <cstdint>\n#include <math.h>\n"
        "#include \"tenure/ops/elementwise/words.h\"\n"
        "using namespace tenure::ops::words;\n";
    for (const OpRecord* const op : ops::all_ops()) {
      if (op->elementwise == nullptr) continue;
      for (const DType type : kTypes) {
        const auto body = ops::source_of(*op, type, input_names(*op), "t");
        if (body) text += loop_source(*op, type, *body);
      }
    }
    const test::Scratch scratch;
    const std::string file = scratch.file("bodies.cpp", text);
    const std::string log = scratch / "log";
    // Not in the scratch folder: what lies there may not be executable.
    std::string library = (std::filesystem::temp_directory_path() / "tenure-XXXXXX").string();
    const int made = mkstemp(library.data());
    if (made < 0) throw std::runtime_error("no file for a library");
    close(made);
    const int status = std::system(
        fmt::format("{} -std=c++20 -O0 -ffp-contract=off -shared -fPIC -I{} -o {} {} 2> {}",
                    TENURE_COMPILER, TENURE_SOURCE_DIR, library, file, log)
            .c_str());
    if (status == 0) handle_ = dlopen(library.c_str(), RTLD_NOW);
    std::filesystem::remove(library);
    if (handle_ == nullptr) ADD_FAILURE() << test::read_file(log);
  }
  ~Compiled() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  static bool is_possible() {
    return std::system(TENURE_COMPILER " --version > /dev/null 2>&1") == 0;
  }

  /// Null if the op has no body for the type.
  Loop find(const OpRecord& op, DType type) const {
    if (handle_ == nullptr) return nullptr;
    return reinterpret_cast<Loop>(dlsym(handle_, loop_name(op, type).c_str()));
  }

 private:
  void* handle_ = nullptr;
};

TEST(ElementwiseSource, KeepsTheErrorBoundOfItsOp) {
  if (!Compiled::is_possible()) GTEST_SKIP() << "no compiler";
  const Compiled compiled;
  int checked = 0;
  for (const OpRecord* const op : ops::all_ops()) {
    if (op->elementwise == nullptr) continue;
    for (const Case& c : cases_of(*op)) {
      const Loop loop = compiled.find(*op, c.inputs.back().dtype);
      const Shape& shape = c.inputs[0].shape;
      const bool is_plain = std::all_of(c.inputs.begin(), c.inputs.end(),
                                        [&](const Input& in) { return in.shape == shape; });
      if (loop == nullptr || !is_plain) continue;
      SCOPED_TRACE(describe(c));
      const std::vector<Tensor> inputs = make_all(c);
      std::vector<const void*> in;
      for (const Tensor& input : inputs) {
        in.push_back(Pin(input.body("data"), "data", Site::current()).data());
      }
      const DType type = result_type(*op, c.inputs.back().dtype);
      const auto n = static_cast<std::size_t>(count(shape));
      std::vector<std::byte> out(n * size_of(type));
      loop(in.data(), out.data(), n);
      expect_reference(c, {ops::tensor_from(out.data(), n, type, shape, Site::current())},
                       expected_of(c));
      ++checked;
    }
  }
  EXPECT_GT(checked, 500);
}

// The scalar kind of value.

template <class Op, class T, std::size_t... I>
void scalar_loop(const void* const* in, void* out, std::size_t n, std::index_sequence<I...>) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = [&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      if constexpr (Op::rule == ops::TypeRule::select && k == 0) {
        return static_cast<const bool*>(in[k])[i];
      } else {
        return ops::ScalarOf<T>(static_cast<const T*>(in[k])[i]);
      }
    };
    const auto result = ops::stored(Op::apply(value(std::integral_constant<std::size_t, I>())...));
    static_cast<std::remove_const_t<decltype(result)>*>(out)[i] = result;
  }
}

/// Values that differ in how they are treated, and any.
template <class T>
std::vector<T> interesting_values() {
  std::vector<T> values;
  const auto add = [&](auto... given) { (values.push_back(static_cast<T>(given)), ...); };
  add(0, 1, 2, 3, 6, 7, 31, 64, 100);
  if constexpr (!std::is_same_v<T, bool>) {
    using Limits = std::numeric_limits<T>;
    add(Limits::max(), Limits::lowest(), Limits::min());
    if constexpr (std::is_signed_v<T>) add(-1, -2, -3, -7, -100);
    if constexpr (std::is_floating_point_v<T>) {
      add(-0.0, 0.5, -0.5, 1.5, 2.5, 0.1, -0.7, 14.9, -14.9, -38.5, 88.7, -88.7, -95.5, -103.5,
          -104.5, 1e10, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
          Limits::denorm_min(), -Limits::denorm_min());
    }
  }
  return values;
}

template <class Op, class T>
void expect_same_bits(const OpRecord& op, const Compiled& compiled) {
  const Loop loop = compiled.find(op, dtype_of<T>());
  ASSERT_NE(loop, nullptr);
  constexpr std::size_t kArity = Op::arity;
  std::vector<T> choices = interesting_values<T>();
  if (Op::refuses != ops::Refusal::nothing && std::is_integral_v<T>) {
    std::erase_if(choices, [](T value) { return !(value > 0); });
  }
  std::size_t n = 1;
  for (std::size_t i = 0; i < kArity; ++i) n *= choices.size();
  std::vector<std::vector<std::byte>> inputs(kArity);
  std::vector<const void*> in;
  std::size_t period = 1;
  for (std::size_t i = 0; i < kArity; ++i) {
    const bool is_condition = Op::rule == ops::TypeRule::select && i == 0;
    inputs[i].resize(n * (is_condition ? sizeof(bool) : sizeof(T)));
    for (std::size_t at = 0; at < n; ++at) {
      const T value = choices[at / period % choices.size()];
      const bool condition = value != T(0);
      if (is_condition) {
        std::memcpy(&inputs[i][at], &condition, sizeof condition);
      } else {
        std::memcpy(&inputs[i][at * sizeof(T)], &value, sizeof value);
      }
    }
    in.push_back(inputs[i].data());
    period *= choices.size();
  }
  const DType type = result_type(op, dtype_of<T>());
  const auto run = [&](Loop body) {
    std::vector<std::byte> out(n * size_of(type));
    body(in.data(), out.data(), n);
    return ops::tensor_from(out.data(), n, type, {static_cast<std::int64_t>(n)}, Site::current());
  };
  const Tensor scalar = run([](const void* const* from, void* to, std::size_t count) {
    scalar_loop<Op, T>(from, to, count, std::make_index_sequence<kArity>());
  });
  EXPECT_TRUE(equals({run(loop)}, {scalar})) << op.name << " in " << name_of(dtype_of<T>());
}

template <class Op>
void expect_same_bits(const Compiled& compiled) {
  const OpRecord& op = *ops::find_op(Op::name);
  const auto in_each = [&]<class... T>(TypeTag<T>...) {
    const auto in_type = [&]<class U>(TypeTag<U>) {
      if constexpr (ops::computes_in<Op>(dtype_of<U>())) {
        expect_same_bits<Op, U>(op, compiled);
      } else {
        EXPECT_EQ(compiled.find(op, dtype_of<U>()), nullptr) << op.name;
      }
    };
    (in_type(TypeTag<T>()), ...);
  };
  in_each(TypeTag<bool>(), TypeTag<std::uint8_t>(), TypeTag<std::int8_t>(), TypeTag<std::int16_t>(),
          TypeTag<std::int32_t>(), TypeTag<std::int64_t>(), TypeTag<float>(), TypeTag<double>());
}

template <class... Ops>
void expect_same_bits(ops::List<Ops...>, const Compiled& compiled) {
  (expect_same_bits<Ops>(compiled), ...);
}

TEST(ElementwiseSource, ComputesTheBitsOfTheScalarBody) {
  if (!Compiled::is_possible()) GTEST_SKIP() << "no compiler";
  const Compiled compiled;
  expect_same_bits(ops::Arithmetic(), compiled);
  expect_same_bits(ops::Exponentials(), compiled);
  expect_same_bits(ops::Trigonometric(), compiled);
  expect_same_bits(ops::SpecialFunctions(), compiled);
  expect_same_bits(ops::Activations(), compiled);
  expect_same_bits(ops::Comparisons(), compiled);
  expect_same_bits(ops::LogicAndBits(), compiled);
  expect_same_bits(ops::Selections(), compiled);
  expect_same_bits(ops::Derivatives(), compiled);
}

TEST(ElementwiseSource, NamesWhatItUsesTwice) {
  const ops::Source source =
      *ops::source_of(*ops::find_op("silu"), DType::float32, std::vector<std::string>{"x"}, "t");
  EXPECT_EQ(source.statements,
            "const float t0 = capped(x, 200.0f);\n"
            "const bool t1 = (t0 > 80.0f);\n"
            "const float t2 = exp((t1 ? (32.0f - t0) : (-t0)));\n"
            "const float t3 = (t0 * t2);\n");
  EXPECT_EQ(source.result,
            "over(((x < 0.0f) ? (-(t1 ? (t3 * 1.2664166e-14f) : t3)) : x), "
            "((t1 ? 0.0f : t2) + 1.0f))");
}

TEST(ElementwiseSource, IsOfOurOpsAlone) {
  const OpRecord stranger;
  EXPECT_FALSE(ops::source_of(stranger, DType::float32, {}, "t"));
  EXPECT_FALSE(ops::source_of(*ops::find_op("exp"), DType::int32, {}, "t"));
}

}  // namespace
}  // namespace tenure::check
