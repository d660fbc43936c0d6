#include "tenure/memory/observer.h"

namespace tenure::mem {

std::atomic<Observer*> installed_observer{nullptr};

void install(Observer* observer) noexcept {
  installed_observer.store(observer, std::memory_order_release);
  if (observer != nullptr) {
    process_attention.fetch_or(kAttendObserver, std::memory_order_relaxed);
  } else {
    process_attention.fetch_and(~kAttendObserver, std::memory_order_relaxed);
  }
}

}  // namespace tenure::mem

namespace tenure {

void mark_step(std::string_view name, Site site) {
  mem::ThreadContext& context = mem::this_thread();
  if (mem::Observer* const observer = mem::observer(context)) {
    observer->step_marked(context, name, site);
  }
}

}  // namespace tenure
