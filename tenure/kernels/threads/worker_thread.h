#pragma once

namespace tenure::kernels {

/// Starts a thread that ends with the process, as workers are: with a small stack, and without the
/// signals that are for a program's own threads. False if the system gives none.
bool start_worker_thread(void* (*live)(void*), void* given) noexcept;

/// Whether workers would get from this thread that the system hardly runs them.
bool is_favoured_less() noexcept;

}  // namespace tenure::kernels
