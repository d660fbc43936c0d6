#include <algorithm>
#include <cstring>
#include <queue>

#include "tenure/profile/recorded.h"

namespace tenure::profile {
namespace {

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

/// Goes through the events of one thread, with one chunk of them in memory.
class Recorded::Cursor {
 public:
  /// Of the pieces from `first` on that belong to the same thread.
  Cursor(const Recorded& recorded, std::size_t first) : recorded_(recorded), next_piece_(first) {
    thread_ = recorded.pieces_[first].thread;
  }

  const Event& event() const { return event_; }

  /// Goes on to the next event; false at the end.
  bool advance() {
    while (at_ == end_) {
      const std::vector<Piece>& pieces = recorded_.pieces_;
      if (next_piece_ == pieces.size() || pieces[next_piece_].thread != thread_) return false;
      open(pieces[next_piece_++]);
    }
    load();
    return true;
  }

 private:
  void open(const Piece& piece) {
    time_ns_ = piece.time_ns;
    event_.life = piece.life;
    at_ = end_ = 0;
    bytes_ = piece.payload;
    if (bytes_.empty() && !read_again(piece)) return;
    at_ = bytes_.size() == kChunkBytes ? sizeof(ChunkHeader) : 0;
    end_ = at_ + piece.length;
  }

  /// False if it is no longer what it was: newer events have its place.
  bool read_again(const Piece& piece) {
    bytes_.resize(kChunkBytes);
    const std::size_t there = recorded_.input_->read(piece.place, bytes_);
    ChunkHeader head{};
    std::memcpy(&head, bytes_.data(), sizeof head);
    return head.sequence == piece.sequence && sizeof head + head.committed <= there &&
           checksum(std::span(bytes_).subspan(sizeof head, head.committed)) == piece.checksum;
  }

  void load() {
    const std::byte* const at = bytes_.data() + at_;
    const std::uint64_t first = word_at(at);
    const std::uint64_t second = word_at(at + 8);
    const auto kind = static_cast<EventKind>(first >> 48 & 0xff);
    const int words = words_of(kind);
    event_.kind = kind;
    event_.tag = static_cast<std::uint8_t>(first >> 56);
    event_.thread = thread_;
    // The clock's higher bits are the chunk's.
    std::uint64_t time = (static_cast<std::uint64_t>(time_ns_) & ~kLow48) | (first & kLow48);
    if (time + (kLow48 >> 1) < static_cast<std::uint64_t>(time_ns_)) time += kLow48 + 1;
    // In a damaged file it may go back.
    event_.time_ns = std::max(event_.time_ns, static_cast<std::int64_t>(time));
    event_.subject = second & kLow48;
    event_.extra = static_cast<std::uint16_t>(second >> 48);
    event_.third = words > 2 ? word_at(at + 16) : 0;
    event_.fourth = words > 3 ? word_at(at + 24) : 0;
    if (kind == EventKind::thread) event_.life = static_cast<std::uint32_t>(event_.subject);
    at_ += 8 * static_cast<std::size_t>(words);
  }

  const Recorded& recorded_;
  std::size_t next_piece_;
  std::uint32_t thread_ = 0;
  std::int64_t time_ns_ = 0;  // of the piece
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  Event event_{};
};

void Recorded::for_each(const std::function<bool(const Event&)>& visit) const {
  std::vector<Cursor> cursors;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (i > 0 && pieces_[i].thread == pieces_[i - 1].thread) continue;
    Cursor cursor(*this, i);
    if (cursor.advance()) cursors.push_back(std::move(cursor));
  }
  const auto later = [&cursors](std::size_t a, std::size_t b) {
    return cursors[a].event().time_ns > cursors[b].event().time_ns;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t i = 0; i < cursors.size(); ++i) next.push(i);
  while (!next.empty()) {
    const std::size_t i = next.top();
    next.pop();
    do {
      const Event& event = cursors[i].event();
      if (event.time_ns >= oldest_ns_ && !visit(event)) return;
      if (!cursors[i].advance()) break;
      if (!next.empty() && later(i, next.top())) {
        next.push(i);
        break;
      }
    } while (true);
  }
}

}  // namespace tenure::profile
