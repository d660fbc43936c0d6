#include "tenure/base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include "tenure/base/error.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

namespace tenure {
namespace {

using test::expect_throws;
using test::read_file;
using test::Scratch;

void replace(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// No file of this process may grow past a size while it lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(InputFile, ReadsAnyPart) {
  const Scratch scratch;
  const InputFile file(scratch.file("a", "0123456789"));
  EXPECT_EQ(file.size(), 10u);
  std::string text(4, ' ');
  file.read_at(3, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "3456");
  expect_throws<FormatError>([&] { file.read_at(7, std::as_writable_bytes(std::span(text))); },
                             {"/a\", byte 10: the file ends, and 1 more bytes are expected"});
}

TEST(InputFile, SaysWhyItCannotOpen) {
  const Scratch scratch;
  expect_throws<FileError>([&] { InputFile(scratch / "none"); },
                           {"cannot open", "/none\": No such file or directory"});
  expect_throws<FileError>([&] { InputFile(scratch / ""); }, {"Is a directory"});
  expect_throws<FileError>([] { InputFile("/dev/null"); }, {"cannot read \"/dev/null\""});
  ASSERT_EQ(mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(InputFile(scratch / "pipe"), FileError);
  try {
    InputFile(scratch / "none");
  } catch (const FileError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_EQ(error.path(), scratch / "none");
  }
}

TEST(InputFile, NoticesThatAFileBecameShorter) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "0123456789");
  const InputFile file(path);
  ASSERT_EQ(truncate(path.c_str(), 5), 0);
  std::string text(8, ' ');
  expect_throws<FormatError>([&] { file.read_at(0, std::as_writable_bytes(std::span(text))); },
                             {"byte 5: the file became shorter while it was read"});
}

TEST(MappedFile, WritesStayInTheProcess) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "0123456789");
  const MappedFile mapped{InputFile(path)};
  ASSERT_EQ(mapped.bytes().size(), 10u);
  mapped.bytes()[0] = std::byte{'x'};
  EXPECT_EQ(read_file(path), "0123456789");
  EXPECT_TRUE(MappedFile(InputFile(scratch.file("empty", ""))).bytes().empty());
}

TEST(AtomicFile, ReplacesAsAWhole) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  replace(path, "old");
  {
    AtomicFile file(path);
    file.write("new and longer");
    file.overwrite(0, std::as_bytes(std::span("N", 1)));
    EXPECT_EQ(read_file(path), "old");
    file.commit();
    EXPECT_EQ(read_file(path), "New and longer");
  }
  EXPECT_EQ(scratch.size(), 1) << "nothing is left beside it";
}

TEST(AtomicFile, DropsWhatIsNotCommitted) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "old");
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(scratch.size(), 1);
}

TEST(AtomicFile, ADiskThatFillsUpAtAnyByteLosesNothing) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "old");
  const std::string text = "the new content, in three writes";
  for (rlim_t limit = 0; limit < text.size(); ++limit) {
    const FileLimit full(limit);
    try {
      AtomicFile file(path);
      file.write(text.substr(0, 5));
      file.write(text.substr(5, 15));
      file.write(text.substr(20));
      file.commit();
      FAIL() << "limit " << limit;
    } catch (const FileError& error) {
      EXPECT_EQ(error.code(), EFBIG);
      EXPECT_EQ(error.path(), path);
    }
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(scratch.size(), 1);
  }
  const FileLimit enough(text.size());
  replace(path, text);
  EXPECT_EQ(read_file(path), text);
}

TEST(AtomicFile, AKilledProgramLeavesTheOldOrTheNew) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  const std::string a(300'000, 'a');
  const std::string b(200'000, 'b');
  replace(path, a);
  bool has_seen_b = false;
  for (int round = 0; round < 60 || !has_seen_b; ++round) {  // each may live a little longer
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      for (int i = 0;; ++i) replace(path, i % 2 == 0 ? b : a);
    }
    usleep(static_cast<useconds_t>(173 * round % (100 + 50 * round)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const std::string now = read_file(path);
    has_seen_b = has_seen_b || now == b;
    ASSERT_TRUE(now == a || now == b) << now.size() << " bytes in round " << round;
  }
}

TEST(AtomicFile, KeepsRightsAndLinks) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(symlink("a", (scratch / "link").c_str()), 0);
  replace(scratch / "link", "new");
  EXPECT_EQ(read_file(path), "new");
  struct stat status {};
  ASSERT_EQ(lstat((scratch / "link").c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

mode_t rights_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(AtomicFile, KeepsTheGroupOrGivesItsRightsToNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  constexpr gid_t kGroup = 12345;
  const Scratch scratch;
  const std::string path = scratch.file("shared", "old");
  ASSERT_EQ(chown(path.c_str(), 23456, kGroup), 0);
  const auto replaced = [&](mode_t mode) {
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    replace(path, "new");
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status;
  };
  const struct stat kept = replaced(0640);
  EXPECT_EQ(kept.st_mode & 07777, 0640u);
  EXPECT_EQ(kept.st_gid, kGroup);
  EXPECT_EQ(kept.st_uid, 23456u);
  EXPECT_EQ(replaced(06755).st_mode & 07777, 0755u);  // what was a program's is not the data's
  EXPECT_EQ(chmod(path.c_str(), 0664), 0);
  std::filesystem::permissions(std::filesystem::path(path).parent_path(),
                               std::filesystem::perms::all);
  const pid_t child = fork();
  if (child == 0) {  // another user, who may write to the folder, but not give the group away
    if (setgid(34567) != 0 || setuid(34567) != 0) _exit(1);
    try {
      replace(path, "newer");
    } catch (const Error&) {
      _exit(2);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  struct stat given {};
  ASSERT_EQ(stat(path.c_str(), &given), 0);
  EXPECT_EQ(given.st_gid, 34567u);
  EXPECT_EQ(given.st_mode & 07777, 0644u);
}

TEST(AtomicFile, NobodyElseLooksIntoAPrivateFileAtAnyMoment) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const mode_t mask = umask(0);
  AtomicFile file(path);
  file.write("secret");
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "")) {
    EXPECT_EQ(rights_of(entry.path().string()), 0600u) << entry.path();
  }
  umask(mask);
  file.commit();
  EXPECT_EQ(rights_of(path), 0600u);
  replace(scratch / "new", "anybody's");
  EXPECT_EQ(rights_of(scratch / "new"), 0666u & ~mask);
}

TEST(AtomicFile, NamesAsLongAsTheSystemTakes) {
  const Scratch scratch;
  for (const std::size_t length : {240u, 250u, 255u}) {
    const std::string path = scratch / std::string(length, 'n');
    replace(path, "old");
    replace(path, "new");
    EXPECT_EQ(read_file(path), "new") << length;
  }
  EXPECT_EQ(scratch.size(), 3);
  expect_throws<FileError>([&] { AtomicFile(scratch / std::string(256, 'n')); },
                           {"File name too long"});
}

TEST(AtomicFile, WhatKilledWritersLeaveIsRemoved) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "old");
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      AtomicFile file(path);
      file.write("half of");
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_LE(scratch.size(), 2) << "they do not pile up";
  }
  replace(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(scratch.size(), 1);
}

TEST(AtomicFile, WritersOfOneFileDoNotMeet) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  {
    AtomicFile first(path);
    AtomicFile second(path);
    AtomicFile third(path);
    first.write("first");
    second.write("second");
    second.commit();
    EXPECT_EQ(read_file(path), "second");
    first.commit();
    EXPECT_EQ(read_file(path), "first");
    third.write("third");
  }
  EXPECT_EQ(read_file(path), "first");
  EXPECT_EQ(scratch.size(), 1);
}

TEST(AtomicFile, WhatOthersLaidInItsWayStays) {
  const Scratch scratch;
  const std::string victim = scratch.file("victim", "mine");
  ASSERT_EQ(symlink(victim.c_str(), (scratch / ".a.new-0").c_str()), 0);
  ASSERT_EQ(mkfifo((scratch / ".a.new-1").c_str(), 0600), 0);
  replace(scratch / "a", "new");
  EXPECT_EQ(read_file(scratch / "a"), "new");
  EXPECT_EQ(read_file(victim), "mine");
  EXPECT_EQ(scratch.size(), 4);
}

TEST(AtomicFile, AProgramWithoutStandardOutputPrintsIntoNoFile) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    for (const int standard : {0, 1, 2}) close(standard);
    AtomicFile file(path);
    file.write("0123456789");
    static_cast<void>(!write(1, "printed", 7));
    static_cast<void>(!write(2, "printed", 7));
    file.commit();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(read_file(path), "0123456789");
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const Scratch scratch;
  expect_throws<FileError>([] { AtomicFile("/dev/full"); }, {"cannot replace \"/dev/full\""});
  expect_throws<FileError>([&] { AtomicFile(scratch / ""); }, {"Is a directory"});
  expect_throws<FileError>([&] { AtomicFile(scratch / "none/a"); },
                           {"cannot write", "No such file or directory"});
  ASSERT_EQ(symlink("nowhere", (scratch / "link").c_str()), 0);
  expect_throws<FileError>([&] { AtomicFile(scratch / "link"); }, {"cannot follow the link"});
}

}  // namespace
}  // namespace tenure
