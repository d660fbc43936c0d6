#include "tenure/kernels/threads/worker_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <initializer_list>

namespace tenure::kernels {

bool start_worker_thread(void* (*live)(void*), void* given) noexcept {
  // Bodies of loops keep tiles on the stack, and no more.
  constexpr std::size_t kStackBytes = std::size_t{2} << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // What a program does with signals is for its own threads, but for those of a fault, which are
  // for the thread that has made it, and of profilers.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) {
    sigdelset(&blocked, fault);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  pthread_t thread{};
  const bool is_started = pthread_create(&thread, &attributes, live, given) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return is_started;
}

bool is_favoured_less() noexcept {
  return sched_getscheduler(0) == SCHED_IDLE ||
         getpriority(PRIO_PROCESS, 0) > getpriority(PRIO_PROCESS, static_cast<id_t>(getpid()));
}

}  // namespace tenure::kernels
