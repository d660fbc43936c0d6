#include "tenure/data/prefetch.h"

#include <utility>

#include "tenure/base/object_mutex.h"
#include "tenure/kernels/thread_limit.h"
#include "tenure/memory/scope.h"

namespace tenure::data {
namespace {

/// Elements that wait are a cache; those handed over are what the program works with. Data that
/// others hold as well, such as the whole dataset, stays as it is.
void set_waiting(const Batch& batch, bool waits) {
  for (const Tensor& tensor : batch) {
    TensorBody* const body = tensor.body_or_null();
    Pin pin;
    if (body == nullptr || !body->sole_handle() || !pin.try_take(*body)) continue;
    const bool is_shared = pin.storage()->is_shared();
    body->set_kind(waits ? HolderKind::cache : is_shared ? HolderKind::view : HolderKind::user);
    if (is_shared) continue;
    pin.storage()->set_category(mem::this_thread(), waits ? Category::cache : Category::activation);
  }
}

}  // namespace

Prefetch::Prefetch(std::shared_ptr<const Source> source, Position from, std::int64_t ahead)
    : source_(std::move(source)),
      from_(from),
      ahead_(ahead),
      generation_(fork_generation()),
      queue_(std::make_unique<Queue>()) {
  queue_->thread = std::thread([this] { work(); });
}

Prefetch::~Prefetch() {
  if (!has_thread()) {
    // The parent's thread may have been changing it, and would never be seen to end.
    static_cast<void>(queue_.release());
    return;
  }
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->stop = true;
  }
  queue_->changed.notify_all();
  queue_->thread.join();
}

bool Prefetch::has_thread() const { return generation_ == fork_generation(); }

bool Prefetch::wait_for_room() {
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait(lock, [this] {
    return queue_->stop || static_cast<std::int64_t>(queue_->made.size()) < ahead_;
  });
  return !queue_->stop;
}

void Prefetch::work() {
  std::exception_ptr problem;
  try {
    const Budget::Enter enter(budget_);
    const NameScope name("prefetch");
    const ThreadLimit limit(1);  // the others belong to who computes with the elements
    for (std::int64_t place = from_.next; place < source_->size() && wait_for_room(); ++place) {
      Batch element = source_->at(from_.epoch, place);
      set_waiting(element, true);
      {
        const std::lock_guard lock(queue_->mutex);
        queue_->made.push_back(std::move(element));
      }
      queue_->changed.notify_all();
    }
  } catch (...) {
    problem = std::current_exception();
  }
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->problem = problem;
    queue_->is_over = true;
  }
  queue_->changed.notify_all();
}

std::optional<Batch> Prefetch::next() {
  std::optional<Batch> element;
  {
    std::unique_lock lock(queue_->mutex);
    queue_->changed.wait(lock, [this] { return queue_->is_over || !queue_->made.empty(); });
    if (queue_->made.empty()) {
      if (queue_->problem != nullptr) std::rethrow_exception(queue_->problem);
      return std::nullopt;
    }
    element = std::move(queue_->made.front());
    queue_->made.pop_front();
  }
  queue_->changed.notify_all();
  set_waiting(*element, false);
  return element;
}

}  // namespace tenure::data
