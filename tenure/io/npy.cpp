#include "tenure/io/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "tenure/base/units.h"
#include "tenure/io/npy_format.h"
#include "tenure/memory/threads/call.h"

namespace tenure::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
/// In front of the header of version 1: magic, version, and the header's length.
constexpr std::size_t kFront = 10;

/// NumPy's name of an element type, without the byte order. Of the narrow floats it knows one.
std::string type_name(DType dtype) {
  const bool is_known = !is_narrow_float(dtype) || dtype == DType::float16;
  const char kind = dtype == DType::boolean ? 'b'
                    : is_floating(dtype)    ? (is_known ? 'f' : 'V')
                    : is_unsigned(dtype)    ? 'u'
                                            : 'i';
  return fmt::format("{}{}", kind, size_of(dtype));
}

/// Reads the header: a literal of Python's, {'descr': '<f4', 'fortran_order': False, 'shape': ()}.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const ByteSource& source, std::uint64_t begin)
      : text_(text), source_(source), begin_(begin) {}

  FileLayout read();

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw FormatError(source_.path(), begin_ + at_, problem);
  }
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size());
    return at_ == text_.size() ? '\0' : text_[at_];
  }
  bool skip(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!skip(c)) fail(fmt::format("`{}` is missing in the header", c));
  }
  std::string_view read_string();
  bool read_bool();
  Shape read_shape();
  void read_type(FileLayout& layout);

  std::string_view text_;
  const ByteSource& source_;
  std::uint64_t begin_;
  std::size_t at_ = 0;
};

std::string_view HeaderReader::read_string() {
  const char quote = peek();
  const std::size_t end = text_.find(quote, at_ + 1);
  if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
    fail("the header has no string where one is expected");
  }
  const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return value;
}

bool HeaderReader::read_bool() {
  peek();
  for (const std::string_view word : {"True"sv, "False"sv}) {
    if (text_.substr(at_, word.size()) != word) continue;
    at_ += word.size();
    return word == "True";
  }
  fail("fortran_order is neither True nor False");
}

Shape HeaderReader::read_shape() {
  Shape shape;
  expect('(');
  while (!skip(')')) {
    std::int64_t size = 0;
    peek();
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
    if (error != std::errc() || size < 0) fail("the shape has a size that is none");
    if (shape.size() == kMaxRank) fail(fmt::format("the shape has more than {} axes", kMaxRank));
    shape.push_back(size);
    at_ += static_cast<std::size_t>(end - begin);
    if (peek() != ')') expect(',');
  }
  return shape;
}

void HeaderReader::read_type(FileLayout& layout) {
  if (peek() == '[') fail("arrays of records are not supported");
  const std::string_view type = read_string();
  const std::size_t size = type.size();
  for (int i = 0; i < kDTypes && size == 3; ++i) {
    if (type.substr(1) != type_name(static_cast<DType>(i))) continue;
    layout.dtype = static_cast<DType>(i);
    layout.big_endian = type[0] == '>';
    if (type[0] == '<' || type[0] == '>' || type[0] == '|' || type[0] == '=') return;
  }
  fail(fmt::format("elements of type '{}' are not supported", type));
}

FileLayout HeaderReader::read() {
  FileLayout layout;
  bool has_type = false;
  bool has_order = false;
  bool has_shape = false;
  const auto first = [this](bool& seen) {
    if (seen) fail("the header says a thing twice");
    seen = true;
  };
  expect('{');
  while (!skip('}')) {
    const std::string_view key = read_string();
    expect(':');
    if (key == "descr") {
      first(has_type);
      read_type(layout);
    } else if (key == "fortran_order") {
      first(has_order);
      layout.fortran_order = read_bool();
    } else if (key == "shape") {
      first(has_shape);
      layout.shape = read_shape();
    } else {
      fail(fmt::format("the header has an unknown key '{}'", key));
    }
    if (peek() != '}') expect(',');
  }
  if (peek() != '\0') fail("text follows the header's end");
  if (!has_type || !has_order || !has_shape) fail("the header lacks descr, fortran_order or shape");
  return layout;
}

std::string read_text(ByteSource& source, std::size_t size, const char* what) {
  std::string text(size, '\0');
  source.read_all(std::as_writable_bytes(std::span(text)), what);
  return text;
}

}  // namespace

Tensor read_npy(ByteSource& source, Origin origin) {
  const std::uint64_t begin = source.offset();
  const std::string front = read_text(source, kMagic.size() + 2, "the first bytes");
  if (front.substr(0, kMagic.size()) != kMagic) {
    throw FormatError(source.path(), begin, "this is no array of NumPy's: \\x93NUMPY is missing");
  }
  const int version = static_cast<unsigned char>(front[kMagic.size()]);
  if (version < 1 || version > 3) {
    throw FormatError(source.path(), begin,
                      fmt::format("version {} of the format is unknown", version));
  }
  const std::string length = read_text(source, version == 1 ? 2 : 4, "the header's length");
  std::size_t size = 0;
  for (std::size_t i = length.size(); i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(length[i]);
  }
  // Far more than a shape and a type need; else a few bytes could ask for gigabytes.
  constexpr std::size_t kLongest = 64 * KiB;
  if (size > kLongest) {
    throw FormatError(source.path(), source.offset(),
                      fmt::format("a header of {} bytes is too long", size));
  }
  const std::uint64_t header = source.offset();
  const std::string text = read_text(source, size, "the header");
  const FileLayout layout = HeaderReader(text, source, header).read();
  Tensor tensor = read_elements(source, layout, origin);
  source.expect_end("the array");
  return tensor;
}

std::string npy_header(DType dtype, const Shape& shape, bool fortran_order) {
  std::string axes;
  for (const std::int64_t size : shape) axes += fmt::format("{}{}", axes.empty() ? "" : ", ", size);
  if (shape.size() == 1) axes += ',';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': ({}), }}",
                                   size_of(dtype) == 1 ? '|' : '<', type_name(dtype),
                                   fortran_order ? "True" : "False", axes);
  if (!shape.empty()) {
    // Room for the growing axis in place, as NumPy leaves it.
    constexpr std::size_t kDigits = 21;
    header.append(kDigits - std::to_string(fortran_order ? shape.back() : shape[0]).size(), ' ');
  }
  constexpr std::size_t kAlignment = 64;
  header.append(kAlignment - (kFront + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  const std::size_t size = header.size();
  return std::string(kMagic) + '\1' + '\0' + static_cast<char>(size & 0xff) +
         static_cast<char>(size >> 8) + header;
}

}  // namespace tenure::io

namespace tenure {

Tensor load_npy(const std::string& path, Site site) try {
  const InputFile file(path);
  io::FilePart source(file, 0, file.size());
  return io::read_npy(source, {.op = "load_npy", .site = site});
} catch (Error& error) {
  mem::name_call(error, "load_npy", site);
  throw;
}

void save_npy(const std::string& path, const Tensor& tensor, Site site) try {
  const io::WrittenElements elements(tensor, true, {.op = "save_npy", .site = site});
  AtomicFile file(path);
  file.write(io::npy_header(tensor.dtype(), tensor.shape(), elements.is_fortran_order()));
  file.write(elements.bytes());
  file.commit();
} catch (Error& error) {
  mem::name_call(error, "save_npy", site);
  throw;
}

}  // namespace tenure
