#pragma once

#include <cmath>
#include <ostream>
#include <string>
#include <type_traits>

#include "tenure/check/findings.h"

// What checks are written in. CHECK_... adds what it finds to Findings and goes on, REQUIRE_...
// leaves the function; more can be said with <<. What CHECK_WITHIN names is named by all that is
// found until the block ends. A program that checks its own op needs no test framework.

namespace tenure::check {

template <class T>
void print(std::ostream& out, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else {
    out << "?";
  }
}

/// A finding in the making; it is added when it ends.
class Finding {
 public:
  explicit Finding(const std::string& text) { text_ << text; }
  ~Finding() { Findings::add(text_.str()); }
  Finding(const Finding&) = delete;
  Finding& operator=(const Finding&) = delete;
  template <class T>
  const Finding& operator<<(const T& value) const {
    text_ << (is_plain_ ? "; " : "") << value;
    is_plain_ = false;
    return *this;
  }

 private:
  mutable std::ostringstream text_;
  mutable bool is_plain_ = true;  // nothing was added yet
};

/// Turns a finding into a statement that leaves the function.
struct Leave {
  void operator=(const Finding&) const {}  // NOLINT(misc-unconventional-assign-operator)
};

template <class A, class B>
std::string unlike(const char* a_text, const A& a, const char* relation, const char* b_text,
                   const B& b) {
  std::ostringstream text;
  text << a_text << ' ' << relation << ' ' << b_text << " does not hold: ";
  print(text, a);
  text << " and ";
  print(text, b);
  return text.str();
}

inline Verdict verdict_of(bool holds) { return Verdict(holds); }
inline Verdict verdict_of(const Verdict& verdict) { return verdict; }

/// What is found, and what the verdict says of it.
inline std::string with_reason(const char* said, const Verdict& verdict) {
  std::string text = said;
  if (!verdict.text().empty()) text.append(": ").append(verdict.text());
  return text;
}

}  // namespace tenure::check

#define TENURE_TRUTH(expression, said)                                                             \
  switch (0)                                                                                       \
  case 0:                                                                                          \
  default:                                                                                         \
    if (const ::tenure::check::Verdict verdict = ::tenure::check::verdict_of(expression); verdict) \
      ;                                                                                            \
    else                                                                                           \
      ::tenure::check::Finding(::tenure::check::with_reason(said, verdict))
#define TENURE_RELATION(a, relation, b, leaving) \
  switch (0)                                     \
  case 0:                                        \
  default:                                       \
    if ((a)relation(b))                          \
      ;                                          \
    else                                         \
      leaving ::tenure::check::Finding(::tenure::check::unlike(#a, (a), #relation, #b, (b)))
#define TENURE_NEAR(a, b, tolerance, leaving) \
  switch (0)                                  \
  case 0:                                     \
  default:                                    \
    if (std::abs((a) - (b)) <= (tolerance))   \
      ;                                       \
    else                                      \
      leaving ::tenure::check::Finding(::tenure::check::unlike(#a, (a), "near", #b, (b)))

#define CHECK_TRUE(expression) TENURE_TRUTH(expression, #expression " does not hold")
#define CHECK_FALSE(expression) TENURE_TRUTH(!(expression), #expression " holds")
#define CHECK_EQ(a, b) TENURE_RELATION(a, ==, b, )
#define CHECK_NE(a, b) TENURE_RELATION(a, !=, b, )
#define CHECK_LE(a, b) TENURE_RELATION(a, <=, b, )
#define CHECK_LT(a, b) TENURE_RELATION(a, <, b, )
#define CHECK_NEAR(a, b, tolerance) TENURE_NEAR(a, b, tolerance, )
#define REQUIRE_EQ(a, b) TENURE_RELATION(a, ==, b, return ::tenure::check::Leave() =)
#define REQUIRE_NEAR(a, b, tolerance) \
  TENURE_NEAR(a, b, tolerance, return ::tenure::check::Leave() =)
#define CHECK_NOT_REACHED() ::tenure::check::Finding("it should not have come here")
#define TENURE_JOIN_(a, b) a##b
#define TENURE_JOIN(a, b) TENURE_JOIN_(a, b)
#define CHECK_WITHIN(text) \
  const ::tenure::check::Trace TENURE_JOIN(trace_, __LINE__) { text }
