#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tenure/base/error.h"

namespace tenure::mem {

/// Knows the calls that led to each tensor and to its disposal, while call stacks are on: then
/// errors say them. Calls have numbers, equal ones the same; 0: they are not known.
/// A number from before stacks were off for a while is not known any more.
class Callers {
 public:
  struct OfTensor {
    std::uint32_t created = 0;
    std::uint32_t disposed = 0;
  };
  virtual OfTensor of(std::uint64_t tensor) const noexcept = 0;
  /// That this thread is in.
  virtual std::uint32_t here() noexcept = 0;
  /// "load at data.cpp:12", the innermost first; of the program, without the library's own. It may
  /// take a second when it is first asked for some calls.
  virtual std::vector<std::string> names(std::uint32_t calls) = 0;

 protected:
  ~Callers() = default;
};

/// nullptr while call stacks are off. One that was there stays valid for good.
extern std::atomic<Callers*> installed_callers;
inline Callers* callers() noexcept { return installed_callers.load(std::memory_order_acquire); }

/// From here on these are asked; nullptr: nobody is.
void install_callers(Callers* callers) noexcept;

/// A base of what knows the calls that made it.
class KnowsItsMaker {
 public:
  std::uint32_t made_by() const noexcept { return made_by_; }

 protected:
  KnowsItsMaker() noexcept;
  ~KnowsItsMaker() = default;

 private:
  std::uint32_t made_by_;
};

/// Adds these lines to an error:
///
///     calls that created it
///       load at data.cpp:12
///       main at train.cpp:40
///
/// Nothing is done if the calls are not known, or memory is short.
void add_calls(Error& error, const std::string& heading, std::uint32_t calls) noexcept;
/// The number of those that this thread is in, for later; 0 while call stacks are off.
std::uint32_t calls_here() noexcept;
/// Adds those that this thread is in.
void add_calls_here(Error& error, const char* heading) noexcept;

/// Adds those that made something, if it knows them.
template <class T>
void add_calls_of_maker(Error& error, const T& made) noexcept {
  const auto* const known = dynamic_cast<const KnowsItsMaker*>(&made);
  if (known != nullptr) add_calls(error, "calls that created it", known->made_by());
}

}  // namespace tenure::mem
