#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/recurrent/cell_arguments.h"

// A thread for each unit of each row, which has all of its gates.

namespace tenure::kernels::cuda {

/// What belongs to one unit of one row.
template <class T>
struct CellUnit {
  using V = Compute<T>;
  const CellArguments& a;
  std::int64_t row;
  std::int64_t unit;

  V in(int i, int gate = 0) const {
    const CellMatrix& m = a.in[i];
    return static_cast<V>(
        static_cast<const T*>(m.data)[row * m.row + (gate * a.units + unit) * m.column]);
  }
  void out(int o, V value, int gate = 0) const {
    const CellMatrix& m = a.out[o];
    static_cast<T*>(m.data)[row * m.row + (gate * a.units + unit) * m.column] =
        static_cast<T>(value);
  }
};

template <class T, class F>
inline void for_each_unit(const CellArguments& a, const F& f) {
  const auto n = static_cast<std::uint64_t>(a.rows * a.units);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const auto at = static_cast<std::int64_t>(i);
    f(CellUnit<T>{a, at / a.units, at % a.units});
  }
}

template <class V>
inline V gate_of(V x) {
  return V(1) / (V(1) + std::exp(-x));
}

template <class V>
struct LstmGates {
  V i, f, g, o;
};
template <class T, class V = Compute<T>>
inline LstmGates<V> lstm_gates(const CellUnit<T>& u) {
  return {gate_of(u.in(0) + u.in(1)), gate_of(u.in(0, 1) + u.in(1, 1)),
          V(tanh(u.in(0, 2) + u.in(1, 2))), gate_of(u.in(0, 3) + u.in(1, 3))};
}

template <class T>
inline void lstm_cell(const CellArguments& a) {
  using V = Compute<T>;
  for_each_unit<T>(a, [](const CellUnit<T>& u) {
    const LstmGates<V> gates = lstm_gates(u);
    const V c = std::fma(gates.f, u.in(2), gates.i * gates.g);
    u.out(0, gates.o * V(tanh(c)));
    u.out(1, c);
  });
}

template <class T>
inline void lstm_cell_gradient(const CellArguments& a) {
  using V = Compute<T>;
  for_each_unit<T>(a, [](const CellUnit<T>& u) {
    const V one = 1;
    const LstmGates<V> gates = lstm_gates(u);
    const V c = u.in(2);
    const V dh = u.in(3);
    const V t = V(tanh(std::fma(gates.f, c, gates.i * gates.g)));
    const V dc = u.in(4) + dh * gates.o * (one - t * t);
    u.out(0, dc * gates.g * gates.i * (one - gates.i));
    u.out(0, dc * c * gates.f * (one - gates.f), 1);
    u.out(0, dc * gates.i * (one - gates.g * gates.g), 2);
    u.out(0, dh * t * gates.o * (one - gates.o), 3);
    u.out(1, dc * gates.f);
  });
}

template <class V>
struct GruGates {
  V r, z, h, n;
};
template <class T, class V = Compute<T>>
inline GruGates<V> gru_gates(const CellUnit<T>& u) {
  GruGates<V> gates;
  gates.r = gate_of(u.in(0) + u.in(1));
  gates.z = gate_of(u.in(0, 1) + u.in(1, 1));
  gates.h = u.in(1, 2);
  gates.n = V(tanh(std::fma(gates.r, gates.h, u.in(0, 2))));
  return gates;
}

template <class T>
inline void gru_cell(const CellArguments& a) {
  using V = Compute<T>;
  for_each_unit<T>(a, [](const CellUnit<T>& u) {
    const GruGates<V> gates = gru_gates(u);
    u.out(0, std::fma(gates.z, u.in(2) - gates.n, gates.n));
  });
}

template <class T>
inline void gru_cell_gradient(const CellArguments& a) {
  using V = Compute<T>;
  for_each_unit<T>(a, [](const CellUnit<T>& u) {
    const V one = 1;
    const GruGates<V> gates = gru_gates(u);
    const V d = u.in(3);
    const V dn = d * (one - gates.z) * (one - gates.n * gates.n);
    const V dz = d * (u.in(2) - gates.n) * gates.z * (one - gates.z);
    const V dr = dn * gates.h * gates.r * (one - gates.r);
    u.out(0, dr);
    u.out(0, dz, 1);
    u.out(0, dn, 2);
    u.out(1, dr);
    u.out(1, dz, 1);
    u.out(1, dn * gates.r, 2);
    u.out(2, d * gates.z);
  });
}

}  // namespace tenure::kernels::cuda
