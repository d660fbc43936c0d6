#pragma once

#include <cstdint>

#include "tenure/kernels/parallel.h"

namespace tenure::kernels {

// Note: loops on several threads
//
// A loop is cut into parts. The thread that calls it takes parts, and so do the workers: threads
// that wait for nothing else. Whoever comes first has a part; the caller waits for parts that were
// begun, never for a thread that has not come. So a loop ends however few of the threads run: where
// another process has the cores, the caller computes alone what it would otherwise wait for.
//
// Workers look out for the next loop for some microseconds, as the steps of a program follow each
// other closely, and then sleep. Nobody looks out while there are more threads than cores: when
// several threads of this process have loops, or when another process wants a core. That shows in a
// thread that was stopped while it was looking out, and in a worker that computes on the core of
// its caller, which must be waiting for it.
//
// Every part of a loop is marked with the loop's number by the one who takes it. A worker that
// comes late finds parts with the number that it knows, or with a later one, and leaves them: it
// cannot take a part of a loop that is over. Until a part that was taken has ended its loop goes
// on, so that who has taken one may read the loop.

/// Parts that a loop is cut into at most.
inline constexpr int kMaxParts = 128;

/// One loop: the elements [0, size) in parts of whole grains.
struct Loop {
  RangeFunction body;
  std::int64_t size = 0;
  std::int64_t grain = 1;
  int parts = 1;

  void run(int part) const;
};

/// Runs every part once, here and on up to `parts - 1` workers. Workers are started when a loop
/// first wants them; where the system has no more threads, those that are there compute. Threads
/// that the system favours less than the process's first one (nice, SCHED_IDLE) start none, as all
/// would share them.
void run_on_workers(const Loop& loop) noexcept;

/// Whether this thread is within a loop: one that it begins there is its own.
bool is_in_loop() noexcept;

}  // namespace tenure::kernels
