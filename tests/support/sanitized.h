#pragma once

// What tests do less of where a sanitizer makes each step slow.

namespace tenure::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How often a loop of threads or of small calls goes round: less often where each step is slow.
constexpr int rounds(int n) { return kSanitized ? n / 10 + 1 : n; }

}  // namespace tenure::test
