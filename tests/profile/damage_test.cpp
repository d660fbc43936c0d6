#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <random>
#include <span>

#include "tenure/profile/exports.h"
#include "tenure/profile/format.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/report.h"
#include "tenure/tenure.h"
#include "tests/profile/scratch.h"
#include "tests/support/share.h"
#include "tests/support/small_net.h"

// Files that are no recordings, or no longer: clear errors, and never a crash.

namespace tenure {
namespace {

using profile::History;
using profile::Recorded;
using test::ScratchFile;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A recording with something of everything.
std::string sample() {
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const Tensor w = full({8, 8}, 0.1);
    const auto model = function([&](const Tensor& x) { return tanh(matmul(x, w)); });
    for (int i = 0; i < 300; ++i) {
      const Scope scope("layer" + std::to_string(i % 3));
      Tensor x = ones({4, 8});
      x = relu(model(x));
      mark_step();
    }
    function(test::looped)(full({32, 32}, 0.01));
  }
  return read(file.path());
}

std::string error_of(const std::string& bytes) {
  const ScratchFile file;
  write(file.path(), bytes);
  try {
    const Recorded recorded(file.path());
    return "";
  } catch (const ProfileError& error) {
    return error.what();
  }
}

/// Asks for everything.
void use_all(const Recorded& recorded) {
  const History history(recorded, true);
  peak(history);
  timeline(history);
  growth(history);
  endings(history);
  plans(history);
  held_at_end(history);
  by_device(history);
  with_budget(history, 1000);
  difference(history, history);
  to_chrome_trace(history);
  to_pprof(history);
  to_speedscope(history);
  to_csv(history);
  report_data(history);
}

TEST(DamagedRecordings, AreToldFromOthers) {
  EXPECT_NE(error_of("").find("is not a recording"), std::string::npos);
  EXPECT_NE(error_of("PK\x03\x04 something else entirely").find("is not a recording"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(100000, 'x')).find("is not a recording"), std::string::npos);
  std::string bytes = sample();
  EXPECT_NE(error_of(bytes.substr(0, 40)).find("is cut off"), std::string::npos);
  std::string future = bytes;
  future[8] = 7;
  EXPECT_NE(error_of(future).find("has format 7"), std::string::npos);
  std::string header = bytes;
  header[60] ^= 1;
  EXPECT_NE(error_of(header).find("does not match its checksum"), std::string::npos);
  EXPECT_NE(error_of("").size(), 0u);
  EXPECT_THROW(Recorded("/nowhere/at/all"), ProfileError);
  EXPECT_THROW(Recorded("/tmp"), ProfileError) << "a folder";
}

/// Format 1 is format 2 without devices.
TEST(Recordings, OfTheFirstFormatAreRead) {
  std::string bytes = sample();
  profile::FileHeader head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  ASSERT_EQ(head.version, profile::kVersion);
  head.version = 1;
  head.head_check = profile::checksum(
      std::as_bytes(std::span(&head, 1)).first(offsetof(profile::FileHeader, head_check)));
  std::memcpy(bytes.data(), &head, sizeof head);
  const ScratchFile file;
  write(file.path(), bytes);
  const Recorded recorded(file.path());
  EXPECT_EQ(recorded.damaged, 0u);
  const History history(recorded, true);
  EXPECT_TRUE(history.devices == std::vector{cpu});
  EXPECT_EQ(history.steps.size(), 300u);
  bytes[8] = 0;
  EXPECT_NE(error_of(bytes).find("has format 0"), std::string::npos);
}

TEST(DamagedRecordings, TheReadableBeginningIsUsed) {
  const std::string bytes = sample();
  const ScratchFile file;
  write(file.path(), bytes);
  const Recorded whole(file.path());
  ASSERT_EQ(whole.damaged, 0u);
  std::uint64_t last = 0;
  for (const std::size_t part : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 1}) {
    write(file.path(), bytes.substr(0, part));
    const Recorded cut(file.path());
    EXPECT_GE(cut.events, last);
    EXPECT_LE(cut.events, whole.events);
    EXPECT_FALSE(cut.is_complete());
    last = cut.events;
    use_all(cut);
  }
  EXPECT_GT(last, 0u);
}

TEST(DamagedRecordings, WhereverItIsCutOffThatIsSaid) {
  const std::string bytes = sample();
  ASSERT_GT(bytes.size(), 4 * profile::kChunkBytes);
  const ScratchFile file;
  write(file.path(), bytes);
  EXPECT_TRUE(Recorded(file.path()).is_complete());
  std::vector<std::size_t> lengths;
  for (std::size_t at = profile::kChunkBytes; at < bytes.size(); at += profile::kChunkBytes) {
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}, sizeof(profile::ChunkHeader)}) {
      if (at + more < bytes.size()) lengths.push_back(at + more);
    }
  }
  for (const std::size_t length : lengths) {
    write(file.path(), bytes.substr(0, length));
    const Recorded cut(file.path());
    EXPECT_FALSE(cut.is_complete()) << length;
    EXPECT_GE(cut.damaged, (bytes.size() - length) / profile::kChunkBytes) << length;
    EXPECT_LE(cut.damaged, (bytes.size() - length) / profile::kChunkBytes + 2) << length;
  }
}

TEST(DamagedRecordings, ASealedChunkThatChangedIsLeftOut) {
  std::string bytes = sample();
  const ScratchFile file;
  write(file.path(), bytes);
  const std::uint64_t all = Recorded(file.path()).events;
  std::size_t at = profile::kChunkBytes;
  for (profile::ChunkHeader head{};; at += profile::kChunkBytes) {
    ASSERT_LT(at, bytes.size());
    std::memcpy(&head, bytes.data() + at, sizeof head);
    if (head.kind == profile::ChunkKind::events && head.committed > 5000) break;
  }
  bytes[at + sizeof(profile::ChunkHeader) + 5000] ^= 0x40;
  write(file.path(), bytes);
  const Recorded damaged(file.path());
  EXPECT_EQ(damaged.damaged, 1u);
  EXPECT_LT(damaged.events, all);
  use_all(damaged);
}

/// Makes checksums fit what was changed, so that what lies behind them is reached.
void mend(std::string& bytes) {
  const auto sum = [&](std::size_t begin, std::size_t length) {
    return profile::checksum({reinterpret_cast<const std::byte*>(bytes.data()) + begin, length});
  };
  const auto put = [&](std::size_t at, std::uint64_t value) {
    std::memcpy(bytes.data() + at, &value, 8);
  };
  for (std::size_t at = profile::kChunkBytes; at + sizeof(profile::ChunkHeader) <= bytes.size();
       at += profile::kChunkBytes) {
    profile::ChunkHeader head;
    std::memcpy(&head, bytes.data() + at, sizeof head);
    put(at + offsetof(profile::ChunkHeader, head_check),
        sum(at, offsetof(profile::ChunkHeader, head_check)));
    const std::size_t room = std::min(profile::kChunkBytes, bytes.size() - at) - sizeof head;
    if (head.committed <= room) {
      put(at + offsetof(profile::ChunkHeader, checksum), sum(at + sizeof head, head.committed));
    }
  }
}

/// A chunk of definitions, unsealed, as the n-th of a file.
std::string definitions(std::uint64_t n, const std::string& payload) {
  profile::ChunkHeader head{};
  head.magic = profile::kChunkMagic;
  head.kind = profile::ChunkKind::definitions;
  head.sequence = n;
  head.committed = static_cast<std::uint32_t>(payload.size());
  const auto bytes = std::as_bytes(std::span(&head, 1));
  head.head_check = profile::checksum(bytes.first(offsetof(profile::ChunkHeader, head_check)));
  std::string chunk(reinterpret_cast<const char*>(&head), sizeof head);
  chunk += payload;
  chunk.resize(profile::kChunkBytes);
  return chunk;
}

std::string definition(profile::DefinitionKind kind, std::uint32_t number, std::string payload,
                       std::uint32_t body = 0) {
  const profile::DefinitionHead head{kind, number, static_cast<std::uint32_t>(payload.size()),
                                     body};
  payload.resize((payload.size() + 7) / 8 * 8);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + payload;
}

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A file with these definitions alone, as a format wrote it.
std::string file_of(const std::string& payload, std::uint32_t version = profile::kVersion) {
  profile::FileHeader head{};
  const std::string whole = sample();
  std::memcpy(&head, whole.data(), sizeof head);
  head.version = version;
  head.file_bytes = 0;
  const auto checked = std::as_bytes(std::span(&head, 1));
  head.head_check = profile::checksum(checked.first(offsetof(profile::FileHeader, head_check)));
  std::string file = bytes_of(head);
  file.resize(profile::kChunkBytes);
  return file + definitions(1, payload);
}

/// A program of so many steps, and no buffer.
std::string program_of(std::uint64_t id, std::uint32_t steps, std::uint32_t body = 0) {
  std::string all =
      bytes_of(profile::PlanStepsHead{.id = id, .resident = 0, .first = 0, .steps = steps});
  for (std::uint32_t i = 0; i < steps; ++i) {
    profile::PlanStep step{};
    step.unit = i;
    all += bytes_of(step);
  }
  return definition(profile::DefinitionKind::plan_steps, 0, all, body);
}

TEST(OldRecordings, BuffersOfFormat2HaveNoLayout) {
  using profile::DefinitionKind;
  struct OldBuffer {
    std::uint32_t op, first, last, flags;
    std::int64_t offset, bytes;
  };
  const std::string buffers = bytes_of(profile::PlanHead{7, 300, 300, 0, 2}) +
                              bytes_of(OldBuffer{1, 0, 1, profile::kBufferSaved, 0, 100}) +
                              bytes_of(OldBuffer{1, 1, 1, 0, 128, 172});
  const ScratchFile file;
  write(file.path(), file_of(definition(DefinitionKind::string, 1, "matmul") + program_of(7, 2) +
                                 definition(DefinitionKind::plan, 0, buffers),
                             2));
  const Recorded recorded(file.path());
  EXPECT_EQ(recorded.damaged, 0u);
  ASSERT_EQ(recorded.plans().size(), 1u);
  const profile::RecordedPlan& plan = recorded.plans()[0];
  ASSERT_EQ(plan.buffers.size(), 2u);
  EXPECT_EQ(plan.buffers[0].op, "matmul");
  EXPECT_TRUE(plan.buffers[0].is_saved);
  EXPECT_EQ(plan.buffers[1].offset, 128);
  EXPECT_EQ(plan.buffers[1].bytes, 172);
  for (const auto& buffer : plan.buffers) {
    EXPECT_TRUE(buffer.layout.empty());
    EXPECT_TRUE(buffer.is_shown);
  }
}

TEST(HostileRecordings, BodiesAreInWhatCameBefore) {
  using profile::DefinitionKind;
  const auto body = [](std::uint32_t number, std::uint32_t around, std::uint32_t step) {
    return definition(DefinitionKind::plan_body, 0,
                      bytes_of(profile::PlanBody{7, 0, around, step, 0, 0}), number) +
           program_of(7, 2, number);
  };
  const auto bodies_in = [&](const std::string& bodies) {
    const ScratchFile file;
    write(file.path(), file_of(program_of(7, 2) +
                               definition(DefinitionKind::plan, 0,
                                          bytes_of(profile::PlanHead{7, 300, 300, 0, 0})) +
                               bodies));
    const Recorded recorded(file.path());
    use_all(recorded);
    return recorded.plans().at(0).bodies.size();
  };
  EXPECT_EQ(bodies_in(body(1, 0, 0) + body(2, 1, 1)), 2u);
  EXPECT_EQ(bodies_in(body(1, 1, 0)), 0u) << "in itself";
  EXPECT_EQ(bodies_in(body(1, 0, 0) + body(2, 3, 0) + body(3, 1, 0)), 1u) << "in a later one";
  EXPECT_EQ(bodies_in(body(1, 0, 2)), 0u) << "of a step that is not there";
  EXPECT_EQ(bodies_in(body(1, 0, 0) + body(3, 1, 0)), 1u) << "one is missing";
  EXPECT_EQ(bodies_in(body(0x80000001, 0x80000000, 0)), 0u);
  std::string deep;
  for (std::uint32_t i = 1; i <= 200; ++i) deep += body(i, i - 1, 0);
  EXPECT_LT(bodies_in(deep), 100u);
}

TEST(HostileRecordings, WhatManyReferToIsThereOnce) {
  using profile::DefinitionKind;
  const std::uint32_t numbers[] = {1, 1, 7, 1};  // op, file, line and scope
  const std::string origin(reinterpret_cast<const char*>(numbers), sizeof numbers);
  const std::string name = definition(DefinitionKind::string, 1, std::string(60'000, 'n'));
  std::string many;
  for (std::uint32_t i = 1; i <= 2000; ++i) many += definition(DefinitionKind::origin, i, origin);
  const std::uint32_t rank[] = {static_cast<std::uint32_t>(DType::float32), 1000};
  const std::string shape = definition(
      DefinitionKind::layout, 1,
      std::string(reinterpret_cast<const char*>(rank), sizeof rank) + std::string(8000, '\x7f'));
  const ScratchFile file;
  std::string header = sample().substr(0, profile::kChunkBytes);
  const std::size_t length = offsetof(profile::FileHeader, file_bytes);
  header.replace(length, sizeof(std::uint64_t), sizeof(std::uint64_t),
                 '\0');  // other chunks follow
  write(file.path(), header + definitions(1, name) + definitions(2, many) + definitions(3, shape));
  const Recorded recorded(file.path());
  EXPECT_EQ(recorded.damaged, 1U);  // no tensor has so many dimensions
  EXPECT_TRUE(recorded.layout(1).shape.empty());
  ASSERT_EQ(recorded.origins(), 2001U);
  const profile::Origin& first = recorded.origin(1);
  EXPECT_EQ(first.scope.size(), profile::kLongestString);
  for (std::uint32_t i = 1; i <= 2000; ++i) {
    const profile::Origin& other = recorded.origin(i);
    EXPECT_EQ(static_cast<const void*>(other.op.data()), first.scope.data());
    EXPECT_EQ(static_cast<const void*>(other.file.data()), first.scope.data());
    EXPECT_EQ(static_cast<const void*>(other.scope.data()), first.scope.data());
  }
}

TEST(DamagedRecordings, NoMutationCrashes) {
  const std::string bytes = sample();
  std::mt19937 random(1);
  const ScratchFile file;
  int readable = 0;
  for (int round = 0; round < test::rounds(300); ++round) {
    std::string mutated = bytes;
    const int changes = 1 + static_cast<int>(random() % 20);
    for (int i = 0; i < changes; ++i) {
      const std::size_t chunk = random() % (bytes.size() / profile::kChunkBytes);
      // Half of them within headers.
      const std::size_t at =
          chunk * profile::kChunkBytes + random() % (random() % 2 == 0 ? 64 : 4096);
      if (at + 8 >= mutated.size()) continue;
      if (random() % 2 == 0) {
        mutated[at] = static_cast<char>(random());
      } else {
        const std::uint64_t values[] = {0, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0xffffffff};
        std::memcpy(mutated.data() + at, &values[random() % 4], 8);
      }
    }
    if (random() % 4 == 0) mutated.resize(random() % mutated.size());
    if (random() % 2 == 0) mend(mutated);
    write(file.path(), mutated);
    try {
      const Recorded recorded(file.path());
      use_all(recorded);
      ++readable;
    } catch (const ProfileError&) {  // said so
    }
  }
  EXPECT_GT(readable, test::rounds(300) / 4) << "mutations that are refused at once test little";
}

}  // namespace
}  // namespace tenure
