#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

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
