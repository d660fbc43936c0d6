#include "tenure/kernels/cpu/recurrent/cell_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/recurrent/cell_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

/// Reads and writes what belongs to the units from `at` on: a vector of them, or the rest.
template <class T>
struct Units {
  std::int64_t at;
  std::int64_t rest;  ///< 0: a full vector
  HWY_INLINE Vec<T> read(const T* row) const {
    return rest == 0 ? load(row + at) : load_some(row + at, rest);
  }
  HWY_INLINE void write(Vec<T> value, T* row) const {
    if (rest == 0) return store(value, row + at);
    store_some(value, row + at, rest);
  }
};

template <class T, class F>
HWY_INLINE void for_units(std::int64_t n, const F& f) {
  for_each_vector<T>(
      n,
      [&](std::int64_t i) HWY_ATTR {
        f(Units<T>{i, 0});
      },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        f(Units<T>{i, rest});
      });
}

template <class T>
struct LstmGates {
  Vec<T> i, f, g, o;
  HWY_INLINE LstmGates(const Units<T>& u, const T* x, const T* h, std::int64_t n)
      : i(sigmoid(u.read(x) + u.read(h))),
        f(sigmoid(u.read(x + n) + u.read(h + n))),
        g(tanh(u.read(x + 2 * n) + u.read(h + 2 * n))),
        o(sigmoid(u.read(x + 3 * n) + u.read(h + 3 * n))) {}
};

template <class T>
void lstm(const T* const* in, T* const* out, std::int64_t n) {
  for_units<T>(n, [&](const Units<T>& u) HWY_ATTR {
    const LstmGates<T> gates(u, in[0], in[1], n);
    const Vec<T> c = fma(gates.f, u.read(in[2]), gates.i * gates.g);
    u.write(gates.o * tanh(c), out[0]);
    u.write(c, out[1]);
  });
}

template <class T>
void lstm_gradient(const T* const* in, T* const* out, std::int64_t n) {
  for_units<T>(n, [&](const Units<T>& u) HWY_ATTR {
    const Vec<T> one(1);
    const LstmGates<T> gates(u, in[0], in[1], n);
    const Vec<T> c = u.read(in[2]);
    const Vec<T> dh = u.read(in[3]);
    const Vec<T> t = tanh(fma(gates.f, c, gates.i * gates.g));
    const Vec<T> dc = u.read(in[4]) + dh * gates.o * (one - t * t);
    u.write(dc * gates.g * gates.i * (one - gates.i), out[0]);
    u.write(dc * c * gates.f * (one - gates.f), out[0] + n);
    u.write(dc * gates.i * (one - gates.g * gates.g), out[0] + 2 * n);
    u.write(dh * t * gates.o * (one - gates.o), out[0] + 3 * n);
    u.write(dc * gates.f, out[1]);
  });
}

template <class T>
struct GruGates {
  Vec<T> r, z, h, n;
  HWY_INLINE GruGates(const Units<T>& u, const T* x, const T* hidden, std::int64_t size)
      : r(sigmoid(u.read(x) + u.read(hidden))),
        z(sigmoid(u.read(x + size) + u.read(hidden + size))),
        h(u.read(hidden + 2 * size)),
        n(tanh(fma(r, h, u.read(x + 2 * size)))) {}
};

template <class T>
void gru(const T* const* in, T* const* out, std::int64_t n) {
  for_units<T>(n, [&](const Units<T>& u) HWY_ATTR {
    const GruGates<T> gates(u, in[0], in[1], n);
    u.write(fma(gates.z, u.read(in[2]) - gates.n, gates.n), out[0]);
  });
}

template <class T>
void gru_gradient(const T* const* in, T* const* out, std::int64_t n) {
  for_units<T>(n, [&](const Units<T>& u) HWY_ATTR {
    const Vec<T> one(1);
    const GruGates<T> gates(u, in[0], in[1], n);
    const Vec<T> d = u.read(in[3]);
    const Vec<T> dn = d * (one - gates.z) * (one - gates.n * gates.n);
    const Vec<T> dz = d * (u.read(in[2]) - gates.n) * gates.z * (one - gates.z);
    const Vec<T> dr = dn * gates.h * gates.r * (one - gates.r);
    u.write(dr, out[0]);
    u.write(dz, out[0] + n);
    u.write(dn, out[0] + 2 * n);
    u.write(dr, out[1]);
    u.write(dz, out[1] + n);
    u.write(dn * gates.r, out[1] + 2 * n);
    u.write(d * gates.z, out[2]);
  });
}

template <class T>
constexpr CellRows<T> kCellRows{lstm<T>, lstm_gradient<T>, gru<T>, gru_gradient<T>};

const CellRows<float>* float_cell_rows() { return &kCellRows<float>; }
const CellRows<double>* double_cell_rows() { return &kCellRows<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(float_cell_rows);
HWY_EXPORT(double_cell_rows);

const CellRows<float>& find_cell_rows(float) { return *HWY_DYNAMIC_DISPATCH(float_cell_rows)(); }
const CellRows<double>& find_cell_rows(double) { return *HWY_DYNAMIC_DISPATCH(double_cell_rows)(); }

}  // namespace tenure::kernels
#endif
