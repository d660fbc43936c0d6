#include <algorithm>
#include <bit>

#include "tenure/kernels/cpu/fft/fft.h"

namespace tenure::kernels::fft {

Plan::Plan(std::int64_t n) : points(n), length(n) {
  if (factorize(n)) return;
  length = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1)));
  factorize(length);
}

bool Plan::factorize(std::int64_t n) {
  stages = 0;
  // Fours first: their first stage goes in vectors even where one line is transformed alone.
  for (const std::int64_t radix : {4, 2, 3, 5}) {
    for (; n % radix == 0; n /= radix) {
      radices[static_cast<std::size_t>(stages++)] = static_cast<std::uint8_t>(radix);
    }
  }
  for (std::int64_t radix = 7; radix <= kLargestRadix; radix += 2) {
    for (; n % radix == 0; n /= radix) {
      radices[static_cast<std::size_t>(stages++)] = static_cast<std::uint8_t>(radix);
    }
  }
  return n == 1;
}

Job::Job(const ops::FftCall& made, DType type)
    : call(made),
      dtype(type),
      halves(call.kind != ops::FftKind::pairs && call.points % 2 == 0),
      plan(halves ? call.points / 2 : call.points),
      together(1),
      blocks(call.inner),
      groups(call.lines()) {
  constexpr std::int64_t kBytes = 64;  // of the widest vectors, on every machine
  if (call.kind != ops::FftKind::pairs || call.inner == 1 || groups == 0) return;
  together = std::min(call.inner, kBytes / static_cast<std::int64_t>(size_of(dtype)));
  blocks = (call.inner + together - 1) / together;
  groups = call.outer * blocks;
}

template <class T>
Job::Tables<T>::Tables(const Job& job, Rooms& rooms) {
  const std::int64_t length = job.plan.length;
  const std::int64_t turns = job.halves ? job.plan.points / 2 + 1 : 0;
  const std::int64_t chirp = job.plan.is_convolution() ? job.plan.points : 0;
  const std::int64_t filter = job.plan.is_convolution() ? length : 0;
  for (T** const to : {&roots_re, &roots_im}) *to = rooms.take<T>(length);
  for (T** const to : {&turns_re, &turns_im}) *to = rooms.take<T>(turns);
  for (T** const to : {&chirp_re, &chirp_im}) *to = rooms.take<T>(chirp);
  for (T** const to : {&filter_re, &filter_im}) *to = rooms.take<T>(filter);
  // Four arrays of the length, or the roots of twice as many points, which are shorter.
  scratch = rooms.take<T>(4 * filter);
}

template <class T>
Job::Buffers<T>::Buffers(const Job& job, Rooms& rooms) {
  const std::int64_t half = job.call.points / 2 + 1;
  const bool is_real = job.call.kind != ops::FftKind::pairs;
  const std::int64_t each =
      std::max(job.plan.length, is_real ? half : std::int64_t{1}) * job.together;
  for (T** const to : {&a_re, &a_im, &b_re, &b_im}) *to = rooms.take<T>(each);
  const std::int64_t line = is_real && job.call.inner > 1 ? 2 * half : 0;
  for (T** const to : {&this->line, &made}) *to = rooms.take<T>(line);
}

template struct Job::Tables<float>;
template struct Job::Tables<double>;
template struct Job::Buffers<float>;
template struct Job::Buffers<double>;

std::size_t Job::table_bytes() const {
  Rooms rooms;
  if (dtype == DType::float32) {
    Tables<float>(*this, rooms);
  } else {
    Tables<double>(*this, rooms);
  }
  return rooms.used();
}

std::size_t Job::group_bytes() const {
  Rooms rooms;
  if (dtype == DType::float32) {
    Buffers<float>(*this, rooms);
  } else {
    Buffers<double>(*this, rooms);
  }
  return rooms.used();
}

double Job::work() const {
  const double passes = plan.is_convolution() ? 2 * plan.stages + 3 : plan.stages + 2;
  return static_cast<double>(plan.length * together) * 2 * passes;
}

std::size_t workspace_bytes(const Job& job) {
  Rooms rooms;
  rooms.take<std::byte>(static_cast<std::int64_t>(job.table_bytes()));
  linalg::MatrixRooms(rooms, job.groups, job.group_bytes());
  return rooms.used();
}

}  // namespace tenure::kernels::fft
