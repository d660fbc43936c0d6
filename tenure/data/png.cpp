#include "tenure/data/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <exception>

#include "tenure/base/error.h"
#include "tenure/base/file.h"
#include "tenure/io/elements.h"
#include "tenure/io/library_memory.h"
#include "tenure/memory/threads/call.h"
#include "tenure/tensor/pending.h"

namespace tenure::data {
namespace {

// Note: errors in libpng
//
// libpng reports an error by a call that must not return; it jumps to where setjmp was called. So
// functions that call setjmp, and callbacks, have no objects with destructors that a jump would
// pass by. Exceptions wait in the state meanwhile.

/// What the callbacks share.
struct State {
  io::LibraryMemory memory{};
  const InputFile* input = nullptr;
  AtomicFile* output = nullptr;
  std::uint64_t offset = 0;
  std::exception_ptr failure{};
  char problem[128] = "";

  /// Throws what made libpng give up.
  [[noreturn]] void fail(const std::string& path) const {
    memory.rethrow_refusal();
    if (failure != nullptr) std::rethrow_exception(failure);
    throw FormatError(path, offset, fmt::format("this is no valid PNG image: {}", problem));
  }
};

void on_error(png_structp png, png_const_charp text) {
  auto& state = *static_cast<State*>(png_get_error_ptr(png));
  std::size_t i = 0;
  for (; i + 1 < sizeof(state.problem) && text[i] != '\0'; ++i) state.problem[i] = text[i];
  state.problem[i] = '\0';
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

png_voidp on_allocate(png_structp png, png_alloc_size_t bytes) {
  return static_cast<State*>(png_get_mem_ptr(png))->memory.allocate(bytes);
}
void on_free(png_structp, png_voidp memory) { io::LibraryMemory::free(memory); }

bool transfer(State& state, png_bytep bytes, std::size_t size) noexcept {
  try {
    const std::span<std::byte> place(reinterpret_cast<std::byte*>(bytes), size);
    if (state.input != nullptr) {
      state.input->read_at(state.offset, place);
    } else {
      state.output->write(place);
    }
    state.offset += size;
    return true;
  } catch (...) {
    state.failure = std::current_exception();
    return false;
  }
}
void on_transfer(png_structp png, png_bytep bytes, std::size_t size) {
  if (!transfer(*static_cast<State*>(png_get_io_ptr(png)), bytes, size)) png_error(png, "");
}
void on_flush(png_structp) {}

/// libpng's structures, for reading or for writing.
struct Structures {
  Structures(State& state, bool reads) : reads(reads) {
    png = reads ? png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning,
                                           &state, on_allocate, on_free)
                : png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning,
                                            &state, on_allocate, on_free);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      destroy();
      state.fail("");
    }
    if (reads) {
      png_set_read_fn(png, &state, on_transfer);
    } else {
      png_set_write_fn(png, &state, on_transfer, on_flush);
    }
  }
  ~Structures() { destroy(); }
  Structures(const Structures&) = delete;
  Structures& operator=(const Structures&) = delete;

  void destroy() {
    if (reads) {
      png_destroy_read_struct(&png, &info, nullptr);
    } else {
      png_destroy_write_struct(&png, &info);
    }
  }

  bool reads;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

bool read_size(const Structures& s) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  // Passes by all that is not pixels, palette or transparency: texts and colour profiles may be
  // compressed a thousandfold, and libpng would keep them.
  png_set_keep_unknown_chunks(s.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(s.png, s.info);
  return true;
}

/// Asks for 8 bits and so many channels.
bool convert(const Structures& s, int channels) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  const bool is_color = (png_get_color_type(s.png, s.info) & PNG_COLOR_MASK_COLOR) != 0;
  png_set_expand(s.png);
  png_set_scale_16(s.png);
  if (channels == 1 && is_color) png_set_rgb_to_gray_fixed(s.png, PNG_ERROR_ACTION_NONE, -1, -1);
  if (channels != 1 && !is_color) png_set_gray_to_rgb(s.png);
  if (channels == 4) {
    png_set_add_alpha(s.png, 0xff, PNG_FILLER_AFTER);
  } else {
    png_set_strip_alpha(s.png);
  }
  return true;
}

bool read_pixels(const Structures& s, png_bytep pixels, png_uint_32 height, std::size_t row_bytes) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  const int passes = png_set_interlace_handling(s.png);
  png_read_update_info(s.png, s.info);
  if (png_get_rowbytes(s.png, s.info) != row_bytes) png_error(s.png, "rows of another size");
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) png_read_row(s.png, pixels + y * row_bytes, nullptr);
  }
  png_read_end(s.png, nullptr);
  return true;
}

bool write_pixels(const Structures& s, png_const_bytep pixels, png_uint_32 width,
                  png_uint_32 height, int channels) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  const int color = channels == 1   ? PNG_COLOR_TYPE_GRAY
                    : channels == 3 ? PNG_COLOR_TYPE_RGB
                                    : PNG_COLOR_TYPE_RGB_ALPHA;
  png_set_IHDR(s.png, s.info, width, height, 8, color, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(s.png, s.info);
  for (png_uint_32 y = 0; y < height; ++y) {
    png_write_row(s.png, pixels + std::size_t{y} * width * static_cast<unsigned>(channels));
  }
  png_write_end(s.png, s.info);
  return true;
}

}  // namespace

Tensor read_png(const std::string& path, const PngOptions& options, Site site) try {
  if (options.channels != 1 && options.channels != 3 && options.channels != 4) {
    throw ValueError(
        fmt::format("read_png: {} channels; 1, 3 and 4 are possible", options.channels));
  }
  const InputFile file(path);
  State state;
  state.input = &file;
  const Structures structures(state, true);
  if (!read_size(structures)) state.fail(path);
  const png_uint_32 width = png_get_image_width(structures.png, structures.info);
  const png_uint_32 height = png_get_image_height(structures.png, structures.info);
  if (std::int64_t{width} * height > options.max_pixels) {
    throw FormatError(path, 16,
                      fmt::format("the image claims {} x {} pixels; at most {} are read", width,
                                  height, options.max_pixels));
  }
  if (!convert(structures, options.channels)) state.fail(path);
  const Shape shape{height, width, options.channels};
  PendingTensor pixels(mem::this_thread(), cpu, DType::uint8, shape);
  if (!read_pixels(structures, static_cast<png_bytep>(pixels.data()), height,
                   std::size_t{width} * static_cast<unsigned>(options.channels))) {
    state.fail(path);
  }
  return pixels.finish("read_png", site);
} catch (Error& error) {
  mem::name_call(error, "read_png", site);
  throw;
}

void write_png(const std::string& path, const Tensor& image, Site site) try {
  const Shape shape = image.shape(site);
  const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
  if (image.dtype() != DType::uint8) {
    throw DTypeError("write_png",
                     fmt::format("an image has uint8, not {}", name_of(image.dtype())));
  }
  constexpr std::int64_t kLongest = 1'000'000;  // libpng's own limit
  if (shape.size() < 2 || shape.size() > 3 || (channels != 1 && channels != 3 && channels != 4) ||
      std::min(shape[0], shape[1]) < 1 || std::max(shape[0], shape[1]) > kLongest) {
    throw ShapeError("write_png",
                     fmt::format("{} is no image: [height, width] or [height, width, 1, 3 or 4]",
                                 to_string(shape)),
                     {shape.to_vector()});
  }
  const io::WrittenElements elements(image, false, {.op = "write_png", .site = site});
  AtomicFile file(path);
  State state;
  state.output = &file;
  const Structures structures(state, false);
  if (!write_pixels(structures, reinterpret_cast<png_const_bytep>(elements.bytes().data()),
                    static_cast<png_uint_32>(shape[1]), static_cast<png_uint_32>(shape[0]),
                    static_cast<int>(channels))) {
    state.fail(path);
  }
  file.commit();
} catch (Error& error) {
  mem::name_call(error, "write_png", site);
  throw;
}

}  // namespace tenure::data
