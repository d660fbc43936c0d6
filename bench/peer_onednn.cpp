#include "bench/peer_onednn.h"

#include <fmt/format.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace tenure::bench {
namespace {

using dnnl::memory;

struct Product {
  Product(std::int64_t m, std::int64_t n, std::int64_t k)
      : a(make({m, k})), b(make({k, n})), c(make({m, n})) {
    const dnnl::matmul::desc description(a.get_desc(), b.get_desc(), c.get_desc());
    primitive = dnnl::matmul(dnnl::matmul::primitive_desc(description, engine));
    arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  }

  memory make(const memory::dims& shape) const {
    memory made({shape, memory::data_type::f32, memory::format_tag::ab}, engine);
    auto* const elements = static_cast<float*>(made.get_data_handle());
    for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) {
      elements[i] = static_cast<float>(i % 7) - 3;
    }
    return made;
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  memory a, b, c;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

}  // namespace

Work onednn_matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  return [product = std::make_shared<Product>(m, n, k)](std::int64_t calls) {
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
