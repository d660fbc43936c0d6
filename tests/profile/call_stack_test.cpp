#include "tenure/profile/call_stack.h"

#include <gtest/gtest.h>

#include "tenure/profile/exports.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/symbols.h"
#include "tenure/tenure.h"
#include "tests/profile/read_recording.h"

// The calls that led to a tensor. What is called here is outside of the library's namespace, as a
// program is: what is inside counts as the library.

namespace program {

using tenure::Tensor;

[[gnu::noinline]] Tensor helper(std::int64_t n) {
  Tensor x = tenure::ones({n});
  return x;
}
[[gnu::noinline]] Tensor leaking() {
  Tensor x = helper(100);
  return x;
}
[[gnu::noinline]] void clean() { const Tensor x = helper(100); }
[[gnu::noinline]] tenure::profile::CallStack deep(int calls) {
  tenure::profile::CallStack stack =
      calls > 0 ? deep(calls - 1) : tenure::profile::CallStack::capture();
  return stack;
}

void train(int steps, std::vector<Tensor>& kept) {
  for (int i = 0; i < steps; ++i) {
    kept.push_back(leaking());
    clean();
    tenure::mark_step("train");
  }
}

}  // namespace program

namespace tenure {
namespace {

constexpr ProfileOptions kStacks{.stacks = true};

TEST(CallStack, NamesFunctionsPlainly) {
  using profile::plain_function;
  EXPECT_EQ(plain_function("main"), "main");
  EXPECT_EQ(plain_function("ns::f(int, std::vector<int>)"), "ns::f");
  EXPECT_EQ(plain_function("std::vector<int> ns::f<std::map<int, char> >(int)"), "ns::f");
  EXPECT_EQ(plain_function("tenure::Tensor helper<float>(long)"), "helper");
  EXPECT_EQ(plain_function("decltype(auto) ns::call<int>(int&&)"), "ns::call");
  EXPECT_EQ(plain_function("(anonymous namespace)::f()"), "(anonymous namespace)::f");
  EXPECT_EQ(plain_function("void ns::A<int>::operator()(int) const"), "ns::A::operator()");
  EXPECT_EQ(plain_function("bool ns::operator< <int>(A, A)"), "ns::operator<");
  EXPECT_EQ(plain_function("std::ostream& operator<<(std::ostream&, A)"), "operator<<");
  EXPECT_EQ(plain_function("main::{lambda(int)#1}::operator()(int) const"),
            "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(plain_function("f(int) [clone .cold]"), "f");
  EXPECT_EQ(plain_function("main.cold"), "main");
  EXPECT_EQ(plain_function("void f<(E)1>(int)"), "f");
  for (const char* const odd : {"", "<", ">", "(", "operator", "{", "decltype", "operator<"}) {
    static_cast<void>(plain_function(odd));
  }
}

TEST(CallStack, LeavesTheLibrariesOut) {
  const std::string_view lines[] = {"tenure::ones(tenure::Shape)",
                                    "/src/fills.cpp:3",
                                    "inlined(int)",
                                    "/src/model.cpp:23",
                                    "void std::invoke<int>(int)",
                                    "/usr/include/invoke.h:9",
                                    "operator()",
                                    "/opt/include/tenure/memory/scope.h:12",
                                    "step()",
                                    "/src/train.cpp:41 (discriminator 2)",
                                    "other()",
                                    "??:?"};
  const std::vector<profile::CallFrame> calls = profile::parse_calls(lines);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0], (profile::CallFrame{"inlined", "/src/model.cpp", 23}));
  EXPECT_EQ(calls[1], (profile::CallFrame{"step", "/src/train.cpp", 41}));
  EXPECT_EQ(calls[2], (profile::CallFrame{"other", "", 0}));
}

TEST(CallStack, IsOfTheCallsThatAreOpen) {
  const profile::CallStack stack = program::deep(3);
  const profile::Located located = profile::locate(stack.addresses());
  const profile::NamedCalls named =
      profile::name_calls(located.modules, std::vector(1, located.addresses));
  std::vector<std::string> functions;
  for (const std::uint32_t call : named.stacks[0]) functions.push_back(named.frames[call].function);
  EXPECT_EQ(std::count(functions.begin(), functions.end(), "program::deep"), 4);
  EXPECT_EQ(functions.front(), "main");
  EXPECT_EQ(named.frames[named.stacks[0].back()].file.substr(
                named.frames[named.stacks[0].back()].file.rfind('/') + 1),
            "call_stack_test.cpp");
}

TEST(CallStack, IsCutWhereItIsDeep) {
  const profile::CallStack stack = program::deep(1000);
  EXPECT_EQ(stack.addresses().size(), profile::CallStack::kMost);
  EXPECT_NE(stack.hash(), program::deep(2).hash());
}

TEST(CallStack, IsNotNamedByAnotherFile) {
  const profile::CallStack stack = program::deep(1);
  profile::Located located = profile::locate(stack.addresses());
  for (profile::Module& module : located.modules) module.path = "/bin/sh";
  const profile::NamedCalls named =
      profile::name_calls(located.modules, std::vector(1, located.addresses));
  for (const profile::CallFrame& frame : named.frames) {
    EXPECT_TRUE(frame.function.starts_with("sh+0x")) << frame.function;
  }
}

TEST(CallStack, ALeakThroughAHelperNamesWhoCalledIt) {
  std::vector<Tensor> kept;
  const test::Recording r([&] { program::train(20, kept); }, false, kStacks);
  const std::vector<profile::Loop> loops = growth(r.history);
  ASSERT_EQ(loops.size(), 1u);
  ASSERT_EQ(loops[0].growing.size(), 1u);
  const profile::Origin& grows = r.recorded.origin(loops[0].growing[0].origin);
  EXPECT_TRUE(grows.caller.starts_with("program::leaking at call_stack_test.cpp:")) << grows.caller;
  EXPECT_EQ(loops[0].growing[0].callers.at(0), grows.caller);
  EXPECT_EQ(loops[0].growing[0].function, "program::helper");
  const auto groups = live_at(r.history, peak(r.history).time_ns, profile::GroupBy::calls);
  ASSERT_FALSE(groups.empty());
  EXPECT_NE(groups[0].name.find("program::helper at call_stack_test.cpp:"), std::string::npos);
  EXPECT_NE(groups[0].name.find(" < program::leaking at "), std::string::npos) << groups[0].name;
  EXPECT_NE(to_speedscope(r.history).find("program::leaking at"), std::string::npos);
}

TEST(CallStack, IsThereOnlyWhereItWasAskedFor) {
  std::vector<Tensor> kept;
  const test::Recording r([&] { program::train(3, kept); });
  EXPECT_FALSE(r.recorded.has_stacks());
  for (std::size_t i = 0; i < r.recorded.origins(); ++i) {
    EXPECT_EQ(r.recorded.origin(i).stack, 0u);
    EXPECT_EQ(r.recorded.origin(i).caller, "");
  }
}

// Not all of its calls are recorded then, but some of each line.
TEST(CallStack, ALeakThroughAHelperNamesWhoCalledItWithoutStacksToo) {
  for (const int steps : {100, 3000}) {
    for (const int clean_calls : {1, 8}) {
      std::vector<Tensor> kept;
      const test::Recording r([&] {
        for (int i = 0; i < steps; ++i) {
          if (i >= steps / 4) kept.push_back(program::leaking());
          for (int call = 0; call < clean_calls; ++call) program::clean();
          mark_step("train");
        }
      });
      const std::vector<profile::Loop> loops = growth(r.history);
      ASSERT_EQ(loops.size(), 1u);
      ASSERT_EQ(loops[0].growing.size(), 1u);
      const std::vector<std::string>& callers = loops[0].growing[0].callers;
      ASSERT_FALSE(callers.empty()) << steps << " steps, " << clean_calls << " clean calls";
      EXPECT_TRUE(callers[0].starts_with("program::leaking at call_stack_test.cpp:")) << callers[0];
      const std::string text = judgement(loops[0], r.recorded);
      EXPECT_NE(
          text.find(" in program::helper, called by program::leaking at call_stack_test.cpp:"),
          text.npos)
          << text;
      EXPECT_EQ(advice(loops[0]), "");
    }
  }
}

TEST(CallStack, FewAreLookedAtWhereNotAllAreAskedFor) {
  constexpr int kTensors = 50'000;
  const test::Recording r([&] {
    for (int i = 0; i < kTensors; ++i) program::clean();
  });
  int looked_at = 0;
  r.recorded.for_each([&](const profile::Event& event) {
    looked_at += event.kind == profile::EventKind::calls ? 1 : 0;
    return true;
  });
  EXPECT_GT(looked_at, kTensors / 1024);
  EXPECT_LT(looked_at, kTensors / 256);
}

TEST(CallStack, WhereNobodyLookedTheAdviceIsToRecordAll) {
  std::vector<Tensor> kept;
  test::Recording r([&] { program::train(40, kept); });
  r.history.sampled.clear();
  const std::vector<profile::Loop> loops = growth(r.history);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_NE(advice(loops[0]).find("--stacks"), std::string::npos) << advice(loops[0]);
}

TEST(CallStack, EqualOnesAreWrittenOnce) {
  std::vector<Tensor> kept;
  const test::Recording few([&] { program::train(10, kept); }, false, kStacks);
  kept.clear();
  const test::Recording many([&] { program::train(1000, kept); }, false, kStacks);
  EXPECT_EQ(few.recorded.origins(), many.recorded.origins());
}

}  // namespace
}  // namespace tenure
