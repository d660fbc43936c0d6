#include "tenure/kernels/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/instruction_set.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace {
std::int64_t target() { return HWY_TARGET; }
}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <cstdio>
#include <utility>

#include "tenure/base/environment.h"

namespace tenure {
namespace {

struct Level {
  InstructionSet set;
  std::string_view text;  // in TENURE_MAX_ISA
  std::string_view name;
  std::int64_t above;  // Highway's targets that need more
};

#if HWY_ARCH_X86
constexpr std::int64_t kAvx512Targets = HWY_AVX3 | HWY_AVX3_DL;
constexpr std::array kLevels = {
    Level{InstructionSet::sse4, "sse4", "SSE4", HWY_AVX2 | kAvx512Targets},
    Level{InstructionSet::avx2, "avx2", "AVX2", kAvx512Targets},
    Level{InstructionSet::avx512, "avx512", "AVX-512", 0},
};
#else
constexpr std::array<Level, 0> kLevels = {};
#endif

InstructionSet set_of(std::int64_t target) {
#if HWY_ARCH_X86
  if ((target & kAvx512Targets) != 0) return InstructionSet::avx512;
  if ((target & HWY_AVX2) != 0) return InstructionSet::avx2;
  if ((target & HWY_SSE4) != 0) return InstructionSet::sse4;
#else
  static_cast<void>(target);
#endif
  return InstructionSet::other;
}

std::int64_t native_targets = 0;  // before anything was disabled

}  // namespace

namespace kernels {
namespace {

HWY_EXPORT(target);
std::int64_t chosen_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

/// Before every other initialization of this program or library: the records of ops keep what was
/// chosen when they were made.
[[gnu::constructor(101)]] void limit_before_all() { limit_instruction_set(); }

}  // namespace

void limit_instruction_set() noexcept {
  static bool is_done = false;  // set before there are threads
  if (std::exchange(is_done, true)) return;
  native_targets = hwy::SupportedTargets();
  const char* const wanted = environment("TENURE_MAX_ISA");
  if (wanted == nullptr || *wanted == '\0' || std::string_view(wanted) == "native") return;
  for (const Level& level : kLevels) {
    if (level.text != wanted) continue;
    hwy::DisableTargets(level.above);
    return;
  }
  std::fputs("tenure: TENURE_MAX_ISA is ignored: it is none of sse4, avx2, avx512, native\n",
             stderr);
}

}  // namespace kernels

InstructionSet instruction_set() { return set_of(kernels::chosen_target()); }

InstructionSet native_instruction_set() {
  const std::int64_t targets = native_targets & HWY_TARGETS;
  // Lower bits are better targets. Highway asks more of some than kernels do, and may find none.
  return set_of(targets != 0 ? targets & -targets : HWY_STATIC_TARGET);
}

std::string_view name_of(InstructionSet set) {
  for (const Level& level : kLevels) {
    if (level.set == set) return level.name;
  }
  return "that of the compiler's target";
}

}  // namespace tenure
#endif
