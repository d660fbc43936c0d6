#include "tenure/profile/writer.h"

#include <cstring>
#include <new>

#include "tenure/base/lasting.h"
#include "tenure/memory/ledger.h"
#include "tenure/profile/call_book.h"
#include "tenure/profile/profile.h"

namespace tenure::profile {

Writer& Writer::instance() {
  static constinit Lasting<Writer> writer;  // threads may tell it things until the process ends
  return writer.get([] { return new Writer; });
}

void Writer::begin(const std::string& path, const ProfileOptions& options) {
  const std::lock_guard lock(mutex_);
  if (recording_.load(std::memory_order_relaxed) != 0) {
    throw ProfileError("Profile: another one is on");
  }
  if (parts_ == nullptr) parts_ = std::make_unique<std::vector<PartChange>>();
  session_ = std::make_unique<Session>(path, options);  // from here on, whoever throws stops it
  if (session_->stacks) CallBook::instance().begin();
  clock_.start();
  things_sampled_.store(0, std::memory_order_relaxed);
  is_census_due_.store(false, std::memory_order_relaxed);
  for (auto& sampled : outside_sampled_) sampled.store(0, std::memory_order_relaxed);
  device_times_.begin(clock_);
  recording_.store(++recordings_, std::memory_order_release);
  mem::segment_watch.store(this, std::memory_order_release);
  mem::install(this);
  try {
    mem::tell_parts(*this);
    mem::ThreadContext& context = mem::this_thread();
    if (context.observed == nullptr) add_buffer(context);  // write() would wait for the lock
    write_what_is_live(context);
    mem::for_each_device([&](Device device) { sample_outside(context, device, 0); });
  } catch (...) {
    stop();
    throw;
  }
}

void Writer::end() noexcept {
  const std::lock_guard lock(mutex_);
  if (recording_.load(std::memory_order_relaxed) == 0) return;
  try {
    mem::ThreadContext& context = mem::this_thread();
    if (context.observed == nullptr) add_buffer(context);  // as when it begins
    finish_devices(context);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): their times stay unknown
  }
  stop();
}

void Writer::keep_calls() noexcept {
  const std::lock_guard lock(mutex_);
  CallBook::instance().begin();
  mem::install(this);
}

void Writer::stop() noexcept {
  CallBook& book = CallBook::instance();
  if (session_->stacks) book.end();
  mem::install(book.is_on() ? this : nullptr);
  mem::segment_watch.store(nullptr, std::memory_order_release);
  recording_.store(0, std::memory_order_seq_cst);
  while (parts_busy_.test_and_set(std::memory_order_acquire)) {
  }
  if (parts_ != nullptr) parts_->clear();
  has_parts_.store(false, std::memory_order_relaxed);
  parts_busy_.clear(std::memory_order_release);
  // Whoever comes now sees that it is over; whoever came before has the lock of its buffer.
  for (ThreadBuffer* const buffer : buffers_) {
    const ThreadBuffer::Lock busy(*buffer);
    if (buffer->recording == recordings_) session_->file.seal(buffer->chunk);
  }
  session_->tables.seal();
  session_->file.finish(now());
  session_.reset();
}

void Writer::before_fork() noexcept {
  mutex_.lock();
  CallBook::instance().lock();
}

void Writer::after_fork(bool is_child) noexcept {
  CallBook& book = CallBook::instance();
  book.unlock();
  mutex_.unlock();
  if (!is_child) return;
  if (session_ != nullptr && session_->stacks) book.end();
  mem::install(book.is_on() ? this : nullptr);
  recording_.store(0, std::memory_order_seq_cst);
  for (ThreadBuffer* const buffer : buffers_) buffer->forget_thread();
  device_times_.forget();
  mem::segment_watch.store(nullptr, std::memory_order_release);
  parts_busy_.clear(std::memory_order_relaxed);
  static_cast<void>(parts_.release());  // another thread may have been changing it
  if (session_ != nullptr) session_->file.forget();
  static_cast<void>(session_.release());  // its locks may have been held by other threads
}

void Writer::add_buffer(mem::ThreadContext& context) {
  auto buffer = std::make_unique<ThreadBuffer>();
  buffers_.push_back(buffer.get());
  context.observed = buffer.release();
}

ThreadBuffer& Writer::buffer_of(mem::ThreadContext& context) {
  if (context.observed == nullptr) {
    const std::lock_guard lock(mutex_);
    add_buffer(context);
  }
  return *static_cast<ThreadBuffer*>(context.observed);
}

void Writer::put(ThreadBuffer& buffer, const mem::ThreadContext& context,
                 const Event& event) noexcept {
  const std::int64_t time = now();
  if (has_parts_.load(std::memory_order_relaxed)) [[unlikely]]
    write_parts(buffer, context, time, event);
  if (!buffer.chunk.has_room(8 * 4)) [[unlikely]]
    open_chunk(buffer, context, time, event);
  if (buffer.chunk.begin == nullptr) [[unlikely]] {
    session_->file.count_dropped(1);
    return;
  }
  put_words(buffer, event, time);
}

void Writer::put_words(ThreadBuffer& buffer, const Event& event, std::int64_t time) noexcept {
  const std::uint64_t words[4] = {
      (static_cast<std::uint64_t>(time) & kLow48) | static_cast<std::uint64_t>(event.kind) << 48 |
          static_cast<std::uint64_t>(event.tag) << 56,
      (event.subject & kLow48) | static_cast<std::uint64_t>(event.extra) << 48, event.third,
      event.fourth};
  std::memcpy(buffer.chunk.payload() + buffer.chunk.used, words, sizeof words);
  buffer.chunk.commit(static_cast<std::uint32_t>(8 * words_of(event.kind)));
}

void Writer::open_chunk(ThreadBuffer& buffer, const mem::ThreadContext& context, std::int64_t time,
                        const Event& first) noexcept {
  std::int64_t live = mem::counts().bytes;
  // What the first event tells is counted already.
  if (first.kind == EventKind::allocate && (first.extra & kBefore) == 0) {
    live -= static_cast<std::int64_t>(first.third);
  }
  const ThreadNumber thread{.number = context.number, .life = buffer.life};
  if (buffer.chunk.begin == nullptr) {
    buffer.chunk = session_->file.open(ChunkKind::events, thread, time, live);
  } else {
    session_->file.renew(buffer.chunk, thread, time, live);
    if (session_->file.is_census_due()) is_census_due_.store(true, std::memory_order_relaxed);
  }
  sample_things(buffer, time, kThingsApart);
}

}  // namespace tenure::profile
