#pragma once

#include <atomic>
#include <cstdint>

namespace tenure::kernels {

/// A number that threads wait for, without a lock.
using FutexWord = std::atomic<std::uint32_t>;

/// Sleeps until somebody wakes this thread, or for no reason; not at all if the word has another
/// value by now.
void sleep_while(const FutexWord& word, std::uint32_t value) noexcept;

/// Wakes so many of those that sleep for the word.
void wake(const FutexWord& word, int threads) noexcept;

}  // namespace tenure::kernels
