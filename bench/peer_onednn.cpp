#include "bench/peer_onednn.h"

#include <fmt/format.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace tenure::bench {
namespace {

using dnnl::memory;

memory::data_type type_of(DType dtype) {
  if (dtype == int8) return memory::data_type::s8;
  if (dtype == int32) return memory::data_type::s32;
  return dtype == bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

struct Product {
  explicit Product(const ProductShape& p)
      : a(make(p, p.dtype, p.m, p.k, p.turned_a)),
        b(make(p, p.dtype, p.k, p.n, p.turned_b)),
        c(make(p, p.dtype == int8 ? int32 : p.dtype, p.m, p.n, false)) {
    const dnnl::matmul::desc description(a.get_desc(), b.get_desc(), c.get_desc());
    primitive = dnnl::matmul(dnnl::matmul::primitive_desc(description, engine));
    arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  }

  memory make(const ProductShape& p, DType dtype, std::int64_t rows, std::int64_t columns,
              bool turned) const {
    memory::dims shape{rows, columns};
    memory::dims strides{turned ? 1 : columns, turned ? rows : 1};
    if (p.batch > 1) {
      shape.insert(shape.begin(), p.batch);
      strides.insert(strides.begin(), rows * columns);
    }
    memory made({shape, type_of(dtype), strides}, engine);
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      auto* const elements = static_cast<T*>(made.get_data_handle());
      for (std::int64_t i = 0; i < p.batch * rows * columns; ++i) {
        elements[i] = static_cast<T>(static_cast<float>(i % 7) - 3);
      }
    });
    return made;
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  memory a, b, c;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

}  // namespace

Work onednn_matmul(const ProductShape& shape) {
  std::shared_ptr<Product> product;
  try {
    product = std::make_shared<Product>(shape);
  } catch (const dnnl::error&) {
    return {};
  }
  return [product](std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) {
      product->primitive.execute(product->stream, product->arguments);
    }
    product->stream.wait();
  };
}

std::string onednn_description() {
  const dnnl_version_t* const version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace tenure::bench
