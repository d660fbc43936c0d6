#include "tenure/io/deflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/io/byte_source.h"
#include "tenure/io/library_memory.h"

namespace tenure::io {
namespace {

constexpr std::size_t kPiece = 64 * KiB;

voidpf allocate(voidpf memory, uInt items, uInt size) {
  return static_cast<LibraryMemory*>(memory)->allocate(std::size_t{items} * size);
}
void release(voidpf, voidpf block) { LibraryMemory::free(block); }

/// A stream of zlib's with memory of Tenure's, and room for one piece of the file.
struct Stream {
  Stream() {
    z.zalloc = allocate;
    z.zfree = release;
    z.opaque = &memory;
    piece = static_cast<std::byte*>(memory.allocate(kPiece));
    memory.rethrow_refusal();
  }
  ~Stream() { LibraryMemory::free(piece); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  LibraryMemory memory;
  z_stream z{};
  std::byte* piece;
};

void expect_started(const Stream& stream, int result) {
  stream.memory.rethrow_refusal();
  internal_check(result == Z_OK, "zlib begins a stream");
}

uInt counted(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

/// zlib never writes through its input pointer.
Bytef* pointer(const std::byte* bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes));
}

class Inflater final : public ByteSource {
 public:
  Inflater(const InputFile& file, std::uint64_t begin, std::uint64_t end, Wrapper wrapper)
      : file_(file), next_(begin), end_(end), wrapper_(wrapper) {
    const int window = wrapper == Wrapper::gzip ? 16 + MAX_WBITS : -MAX_WBITS;
    expect_started(stream_, inflateInit2(&stream_.z, window));
  }
  ~Inflater() override { inflateEnd(&stream_.z); }

  std::size_t read(std::span<std::byte> to) override;
  std::uint64_t offset() const override { return next_ - stream_.z.avail_in; }
  const std::string& path() const override { return file_.path(); }
  std::uint64_t at_most() const override {
    // Two bits, the shortest code, stand for at most 258 bytes; zlib holds back less than a piece.
    constexpr std::uint64_t kHighestRatio = 4 * 258;
    const std::uint64_t left = end_ - offset();
    return left > std::numeric_limits<std::uint64_t>::max() / kHighestRatio - kPiece
               ? std::numeric_limits<std::uint64_t>::max()
               : left * kHighestRatio + kPiece;
  }

 private:
  void refill();
  void step();

  const InputFile& file_;
  std::uint64_t next_;
  std::uint64_t end_;
  Wrapper wrapper_;
  Stream stream_;
  bool is_over_ = false;
};

void Inflater::refill() {
  if (stream_.z.avail_in != 0) return;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, end_ - next_));
  file_.read_at(next_, {stream_.piece, size});
  next_ += size;
  stream_.z.next_in = pointer(stream_.piece);
  stream_.z.avail_in = counted(size);
}

void Inflater::step() {
  refill();
  const int result = inflate(&stream_.z, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    refill();
    is_over_ = stream_.z.avail_in == 0;
    if (is_over_) return;
    // A file of gzip's may have several parts, which count as one.
    if (wrapper_ == Wrapper::none || inflateReset(&stream_.z) != Z_OK) {
      throw FormatError(path(), offset(), "bytes follow the end of the compressed data");
    }
    return;
  }
  stream_.memory.rethrow_refusal();
  if (result == Z_BUF_ERROR) throw FormatError(path(), offset(), "the compressed data ends early");
  if (result != Z_OK) {
    throw FormatError(path(), offset(),
                      fmt::format("the compressed data is damaged: {}",
                                  stream_.z.msg == nullptr ? "no such code" : stream_.z.msg));
  }
}

std::size_t Inflater::read(std::span<std::byte> to) {
  std::size_t got = 0;
  while (got < to.size() && !is_over_) {
    const std::span<std::byte> rest = to.subspan(got);
    const uInt room = counted(rest.size());
    stream_.z.next_out = pointer(rest.data());
    stream_.z.avail_out = room;
    step();
    got += room - stream_.z.avail_out;
  }
  return got;
}

}  // namespace

std::unique_ptr<ByteSource> inflated(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                                     Wrapper wrapper) {
  return std::make_unique<Inflater>(file, begin, end, wrapper);
}

struct Deflater::State : Stream {};

Deflater::Deflater(AtomicFile& file) : file_(file), state_(std::make_unique<State>()) {
  constexpr int kMemoryLevel = 8;  // zlib's own default
  expect_started(*state_, deflateInit2(&state_->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS,
                                       kMemoryLevel, Z_DEFAULT_STRATEGY));
}

Deflater::~Deflater() { deflateEnd(&state_->z); }

void Deflater::run(std::span<const std::byte> bytes, int flush) {
  z_stream& z = state_->z;
  z.next_in = pointer(bytes.data());
  z.avail_in = counted(bytes.size());
  do {
    z.next_out = pointer(state_->piece);
    z.avail_out = counted(kPiece);
    deflate(&z, flush);
    file_.write(std::span<const std::byte>(state_->piece, kPiece - z.avail_out));
  } while (z.avail_out == 0);
}

void Deflater::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t step = counted(bytes.size());
    run(bytes.first(step), Z_NO_FLUSH);
    bytes = bytes.subspan(step);
  }
}

void Deflater::finish() { run({}, Z_FINISH); }

}  // namespace tenure::io
