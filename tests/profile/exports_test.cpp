#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tenure/profile/exports.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/report.h"
#include "tenure/profile/text.h"
#include "tenure/tenure.h"
#include "tests/profile/read_recording.h"

// The forms that recordings are exported in.

namespace tenure {
namespace {

using test::Recording;

std::string unpacked(const std::string& bytes) {
  std::string result(std::size_t{1} << 24, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 32), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

TEST(Exports, HostileNamesAreEscaped) {
  const std::string name = "\"</script><b>\x01\xff\n'";
  const Recording r(
      [&] {
        const NameScope scope(name);
        const Tensor x = relu(ones({3}));
      },
      true);
  for (const std::string& text : {to_chrome_trace(r.history), to_speedscope(r.history)}) {
    EXPECT_EQ(text.find('\x01'), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    EXPECT_NE(text.find("\\\""), std::string::npos);
  }
  const std::string page = report_page(r.history, "<i>@TENURE_REPORT@</i>");
  EXPECT_EQ(page.find("</script>"), std::string::npos);
  EXPECT_TRUE(page.starts_with("<i>e")) << "a zlib stream begins with 0x78";
  EXPECT_THROW(report_page(r.history, "no place"), InternalError);
  EXPECT_EQ(plain("a\x1b[2Jb\xc2\x9b"), "a?[2Jb?");
  EXPECT_EQ(json_string("\xf0\x9f\x98\x80\xc0\xaf"), "\"\xf0\x9f\x98\x80\\ufffd\\ufffd\"");
}

/// The texts of a pprof profile: field 6 of its message.
std::vector<std::string> pprof_strings(std::string_view bytes) {
  std::vector<std::string> texts;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (!bytes.empty()) {
    const std::uint64_t tag = varint();
    const std::uint64_t value = varint();
    if ((tag & 7) != 2) continue;
    if (tag >> 3 == 6) texts.emplace_back(bytes.substr(0, value));
    bytes.remove_prefix(value);
  }
  return texts;
}

TEST(Exports, AreUtf8WhateverNamesAre) {
  const std::string name = "a\xff\xc3(\xed\xa0\x80\xf0\x9f\x98";
  static Tensor kept;
  const Recording r(
      [&] {
        const NameScope scope(name);
        const Budget budget(name, 1 << 20);
        kept = relu(ones({3}));
        kept.set_name(name);
        const auto f = function([](const Tensor& x) { return tanh(x); }, {.name = name});
        f(kept);
        mark_step(name);
      },
      true);
  std::vector<std::string> texts = pprof_strings(unpacked(to_pprof(r.history)));
  ASSERT_GT(texts.size(), 10u);
  texts.push_back(to_chrome_trace(r.history));
  texts.push_back(to_speedscope(r.history));
  texts.push_back(to_csv(r.history));
  const std::string data = report_data(r.history);
  std::uint32_t length = 0;
  std::memcpy(&length, data.data(), 4);
  texts.push_back(data.substr(4, length));
  for (const std::string& text : texts) EXPECT_EQ(find_invalid_utf8(text), std::string::npos);
  EXPECT_NE(to_csv(r.history).find("a\ufffd"), std::string::npos);
  kept = Tensor();
}

/// What a program may do with time: ops, scopes, runs, loops in runs, alone and in each other.
void any_work(std::mt19937& random, const Tensor& x, int depth) {
  static const auto plain_function = function([](const Tensor& t) { return tanh(t * 2.0) + 1.0; });
  static const auto looping = function([](const Tensor& t) {
    return while_loop([](const Tensor& s) { return sum(s) < 50.0; },
                      [](const Tensor& s) { return s + 1.0; }, t);
  });
  for (int i = 0; i < 4; ++i) {
    switch (random() % (depth > 0 ? 6 : 4)) {
      case 0:
        relu(x + 1.0);
        break;
      case 1:
        plain_function(x);
        break;
      case 2:
        looping(x);
        break;
      case 3:
        topk(x, 2);
        break;
      case 4: {
        const NameScope scope("inner");
        any_work(random, x, depth - 1);
        break;
      }
      default:
        tidy([&] { any_work(random, x, depth - 1); });
    }
  }
}

TEST(Exports, SpansOfAThreadNest) {
  const Recording r(
      [] {
        std::mt19937 random(1);
        const Tensor x = ones({4});
        for (int i = 0; i < 30; ++i) any_work(random, x, 3);
      },
      true);
  std::vector<profile::Span> spans = r.history.spans;
  std::sort(spans.begin(), spans.end(), [](const profile::Span& a, const profile::Span& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  bool has_kind[4] = {};
  std::int64_t crossing = 0;
  std::vector<profile::Span> open;  // one thread computes
  for (const profile::Span& span : spans) {
    has_kind[static_cast<int>(span.kind)] = true;
    while (!open.empty() && open.back().end_ns <= span.begin_ns) open.pop_back();
    if (!open.empty() && span.end_ns > open.back().end_ns) ++crossing;
    open.push_back(span);
  }
  EXPECT_TRUE(std::all_of(has_kind, has_kind + 4, [](bool has) { return has; }));
  EXPECT_EQ(crossing, 0);
  std::int64_t spent = 0;
  for (const auto& [origin, time] : r.history.time_spent) spent += time.ns;
  EXPECT_GT(spent, 0);
  EXPECT_LE(spent, r.history.end_ns);
}

TEST(Exports, CsvHasARowPerStorage) {
  const Recording r([] {
    for (int i = 0; i < 5; ++i) const Tensor x = ones({2, 3});
  });
  const std::string text = to_csv(r.history);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(r.history.storages.size() + 1));
  EXPECT_NE(text.find("\"float32[2, 3]\""), std::string::npos);
}

TEST(Exports, PprofIsGzipOfAProfile) {
  const Recording r([] {
    const NameScope scope("model");
    const Tensor x = ones({2, 3});
  });
  const std::string bytes = unpacked(to_pprof(r.history));
  for (const char* const text :
       {"inuse_space", "alloc_objects", "model", "ones exports_test.cpp:"}) {
    EXPECT_NE(bytes.find(text), std::string::npos) << text;
  }
}

TEST(Report, HasAHeaderAndColumns) {
  static Tensor kept;
  const Recording r([] {
    kept = ones({4});
    kept.set_name("weights");
    const Tensor x = relu(kept);
    mark_step();
  });
  const std::string data = report_data(r.history);
  std::uint32_t length = 0;
  std::memcpy(&length, data.data(), 4);
  ASSERT_LT(4 + length, data.size());
  const std::string head = data.substr(4, length);
  EXPECT_EQ((4 + length) % 8, 0u);
  EXPECT_NE(head.find(R"("version":1)"), std::string::npos);
  EXPECT_NE(head.find("user weights, made by ones"), std::string::npos);
  EXPECT_NE(head.find(R"("rows":)" + std::to_string(r.history.storages.size())), std::string::npos);
  const std::size_t at = head.find(R"("name":"bytes","type":"f64","offset":)");
  ASSERT_NE(at, std::string::npos);
  const std::size_t offset = std::stoul(head.substr(at + 37));
  double bytes = 0;
  const std::size_t last = r.history.storages.size() - 1;
  std::memcpy(&bytes, data.data() + offset + 8 * last, 8);
  EXPECT_EQ(bytes, static_cast<double>(r.history.storages[last].bytes));
  EXPECT_NE(head.find(R"({"name":"name","type":"u32")"), std::string::npos);
  EXPECT_NE(head.find(R"(,"weights")"), std::string::npos) << "a string of its own";
  kept = Tensor();
}

}  // namespace
}  // namespace tenure
