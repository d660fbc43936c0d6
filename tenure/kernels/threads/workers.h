#pragma once

#include <cstdint>

#include "tenure/kernels/parallel.h"

namespace tenure::kernels {

// Note: loops on several threads
//
// A loop is cut into shares, one for each thread, and these into parts. The thread that calls the
// loop takes parts, and so do the workers: threads that wait for nothing else. Each begins with a
// share of its own, part by part, and goes on with what is left of the others'. The caller waits
// for parts that were begun, never for a thread that has not come. Shares may be more than cores:
// then as many threads as there are cores take them. So a loop ends however few of
// the threads run: where another process has the cores, the caller computes alone what it would
// otherwise wait for; and a thread that comes late or is stopped holds up no more than one part.
//
// Workers look out for the next loop for some microseconds, as the steps of a program follow each
// other closely, and then sleep. Nobody looks out while there are more threads than cores: when
// several threads of this process have loops, or when another process wants a core. That shows in a
// thread that was stopped while it was looking out, and in a worker that lost the core that it was
// moved to.
//
// Systems tend to wake a worker on the core of whoever wakes it, where it comes too late: its
// caller is busy there, and some leave it there for long although other cores have nothing to do.
// So a worker that finds itself on its caller's core leaves that one core to the caller, by its
// affinity, and another one when the caller has moved; it may come back when somebody else turns
// out to want the core that it moved to.
//
// Whoever takes a part writes the loop's number, and how many parts are taken, into the share. A
// worker that comes late finds shares of the loop that it knows, with nothing left, or of a later
// one, and leaves them: it cannot take a part of a loop that is over. Until a part that was taken
// has ended its loop goes on, so that who has taken one may read the loop.

/// Shares that a loop is cut into at most.
inline constexpr int kMaxShares = 128;
/// Parts that a share is cut into at most: many are more calls, few are long waits for the last.
inline constexpr int kMaxPartsOfShare = 4;

/// One loop: the elements [0, size) in parts of whole grains.
struct Loop {
  RangeFunction body;
  std::int64_t size = 0;
  std::int64_t grain = 1;
  int shares = 1;
  int parts_of_share = 1;

  int parts() const { return shares * parts_of_share; }
  void run(int part) const;
};

/// Runs every part once, here and on up to `shares - 1` workers, fewer than there are CPUs. Workers
/// are started when a loop first wants them; where the system has no more threads, those that are
/// there compute. Threads that the system favours less than the process's first one (nice,
/// SCHED_IDLE) start none, as all would share them.
void run_on_workers(const Loop& loop) noexcept;

/// Whether this thread is within a loop: one that it begins there is its own.
bool is_in_loop() noexcept;

/// Lets a loop have a worker for each share although there are fewer CPUs, and whether that pays or
/// not. For tests of threads, on machines that have few.
void let_workers_exceed_cpus(bool may) noexcept;
bool may_workers_exceed_cpus() noexcept;

}  // namespace tenure::kernels
