// A made-up training run for tests and measurements: layers, steps, a pool with best fit, and a
// line that leaks if asked. The same seed gives the same report.

const FILES = ['src/model/attention.cpp', 'src/model/mlp.cpp', 'src/train.cpp', 'src/loss.cpp', 'src/data/batch.cpp'];
const OPS = ['', 'matmul', 'add', 'softmax', 'relu', 'layer_norm', 'transpose', 'mul', 'sum', 'concat', 'cast',
  'gelu', 'take', 'full', 'uniform', 'exp', 'sub'];

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/** First fit over a list of free pieces, so that the map looks like that of a pool. */
class Pool {
  free = [{ at: 0, size: 2 ** 40 }];
  take(size) {
    const piece = this.free.find((each) => each.size >= size);
    const { at } = piece;
    piece.at += size;
    piece.size -= size;
    return at;
  }
  give(at, size) {
    let i = this.free.findIndex((piece) => piece.at > at);
    if (i < 0) i = this.free.length;
    const before = this.free[i - 1];
    const after = this.free[i];
    if (before && before.at + before.size === at) {
      before.size += size;
      if (after && before.at + before.size === after.at) {
        before.size += after.size;
        this.free.splice(i, 1);
      }
    } else if (after && at + size === after.at) {
      after.at = at;
      after.size += size;
    } else {
      this.free.splice(i, 0, { at, size });
    }
    this.free = this.free.filter((piece) => piece.size > 0);
  }
}

export function synthesize({ steps = 24, layers = 6, opsPerLayer = 6, leaks = true, seed = 1 } = {}) {
  const next = random(seed);
  const pool = new Pool();
  const strings = ['', 'float32[32, 512]', 'float32[512, 512]', 'float32[32, 8, 64, 64]', 'float32[512]',
    'float32[32, 1000]', 'float32[]', 'user, made by uniform at train.cpp:40',
    'tape, made by relu at mlp.cpp:52\nuser, made by relu at mlp.cpp:52'];
  const sites = [{ file: '', line: 0 }];
  for (const file of FILES) {
    for (let line = 12; line < 100; line += 9) sites.push({ file, line });
  }
  const scopes = ['', 'step', 'data'];
  for (let layer = 0; layer < layers; layer++) {
    scopes.push(`model/block${layer}/attention`, `model/block${layer}/mlp`);
  }
  scopes.push('loss', 'optimizer');
  const rows = [];
  let now = 0;
  const allocate = (bytes, category, op, site, scope, shape, name = 0) => {
    now += 200 + Math.floor(next() * 1500);
    const size = Math.ceil(bytes / 64) * 64;
    rows.push({ birth: now, death: Infinity, bytes, address: pool.take(size), size, category, op: op + 1, site: site + 1, scope,
      shape, name, disposed: -1, used: now, thread: category === 4 ? 1 : 0 });
    return rows[rows.length - 1];
  };
  const release = (row, disposed = -1) => {
    now += 60 + Math.floor(next() * 300);
    row.death = now;
    row.disposed = disposed < 0 ? -1 : disposed + 1;
    pool.give(row.address, row.size);
  };

  const parameters = [];
  for (let layer = 0; layer < layers; layer++) {
    for (let part = 0; part < 2; part++) {
      strings.push(`block${layer}.w${part}`);
      parameters.push(allocate(512 * 256 * 4, 0, 13, 2 + part, 3 + layer * 2 + part, 2, strings.length - 1));
    }
  }
  for (const { scope } of parameters) allocate(512 * 256 * 4, 2, 12, 30, scope, 2);

  const marks = [];
  const shapes = [[1, 262144], [3, 1048576], [1, 524288], [4, 65536], [1, 786432]];
  for (let step = 0; step < steps; step++) {
    const batch = allocate(32 * 512 * 4, 5, 11, 46, 2, 1);
    const saved = [];
    for (let layer = 0; layer < layers; layer++) {
      for (let i = 0; i < opsPerLayer; i++) {
        const [shape, bytes] = shapes[i % shapes.length];
        const scope = 3 + layer * 2 + (i * 2 >= opsPerLayer ? 1 : 0);
        const row = allocate(Math.floor(bytes * (0.6 + 0.8 * next())), 3, i % OPS.length, (i * 3 + (scope % 2) * 11) % 22, scope, shape);
        if (i % 3 === 2) {
          const workspace = allocate(bytes / 2, 4, 0, 5, scope, shape);
          release(workspace);
        }
        if (i % 2 === 0) saved.push(row);
        else release(row, 8);
      }
    }
    const logits = allocate(32 * 1000 * 4, 3, 2, 35, scopes.length - 2, 5);
    const gradients = [];
    for (let layer = layers - 1; layer >= 0; layer--) {
      gradients.push(allocate(512 * 256 * 4, 1, 0, 14, 3 + layer * 2, 2), allocate(512 * 256 * 4, 1, 6, 17, 4 + layer * 2, 2));
      for (const row of saved.splice(-Math.ceil(opsPerLayer / 2))) {
        row.used = now;
        release(row);
      }
    }
    for (const gradient of gradients) release(gradient, 28);
    release(logits, 27);
    now += 20000; // the batch waits for nobody
    release(batch, 29);
    if (leaks && step > 1) allocate(48 * 1024, 3, 7, 24, 1, 6);
    marks.push((now += 5000));
  }
  now += 10000;

  const column = (Type, of) => Type.from(rows, of);
  const most = rows.reduce((top, row) => Math.max(top, row.address + row.size), 0);
  const header = {
    version: 1, program: 'train --steps 24 --layers 6', created: '2026-01-31T12:00:00Z', duration_ns: now,
    complete: true, dropped: 0, damaged: 0, base_bytes: 0,
    strings, sites, scopes, ops: OPS,
    op_counts: { reused: OPS.map((_, i) => i * 7), viewed: OPS.map((name) => (name === 'transpose' ? 90 : 0)) },
    categories: ['parameter', 'gradient', 'optimizer', 'activation', 'workspace', 'cache'],
    dtypes: ['float32', 'int64'], threads: 2, steps: marks.map((t) => ({ t, name: 'train' })),
    growth: leaks && steps > 3
      ? [{ site: 25, op: 8, scope: 1, bytes_per_step: 48 * 1024, count_per_step: 1, steps: steps - 2,
          callers: ['log_metrics at src/metrics.cpp:16', 'main at src/train.cpp:61'] }] : [],
    plans: [plan('forward(float32[32, 512])', 14, next), plan('loss(float32[32, 1000])', 6, next, 4096)],
    budgets: [{ name: 'training', limit: 2 ** 25, begin_ns: 0, end_ns: -1, limits: [[0, 2 ** 25]], peak: 2 ** 24, refusals: 1,
      charged: { t_ns: [0, now * 0.3, now * 0.6], bytes: [2 ** 20, 2 ** 24, 2 ** 23] } }],
    refusals: [{ t: Math.round(now * 0.4), bytes: 2 ** 25, used: 2 ** 24, cause: 'budget', budget: 1, op: 3, site: 4,
      holders: [{ op: 14, site: 3, bytes: 2 ** 23, storages: 12 }] }],
    segments: [{ address: 0, bytes: 2 ** Math.ceil(Math.log2(most)), birth: 0, death: -1, device: 0, unit: 64 }],
    slabs: [],
    holder_kinds: ['user', 'view', 'tape'],
    time: {
      op: spent(OPS.length, 1e6), site: spent(sites.length, 3e5), scope: spent(scopes.length, 8e5),
    },
    misses: [{ times: 2, disposed_site: 9, used_site: 12, used_op: 3 }],
    held: [{ times: 5, site: 28 }],
    pool: {
      t_ns: [0, now * 0.02, now * 0.05], reserved: [most * 0.5, most * 0.8, most], cached: [0, 0, 0],
      fragmentation: [0, 0.1, 0.25],
    },
  };
  const columns = {
    birth_ns: column(Float64Array, (row) => row.birth),
    death_ns: column(Float64Array, (row) => row.death),
    bytes: column(Float64Array, (row) => row.bytes),
    address: column(Float64Array, (row) => row.address),
    category: column(Uint8Array, (row) => row.category),
    op: column(Uint32Array, (row) => row.op),
    site: column(Uint32Array, (row) => row.site),
    scope: column(Uint32Array, (row) => row.scope),
    thread: column(Uint8Array, (row) => row.thread),
    shape: column(Uint32Array, (row) => row.shape),
    dtype: column(Uint8Array, (row) => (row.category === 4 ? 255 : 0)),
    tensors: column(Uint32Array, (row) => 1 + (row.op % 3)),
    disposed_site: column(Int32Array, (row) => row.disposed),
    last_use_ns: column(Float64Array, (row) => Math.max(row.used, Math.min(row.death, now) * 0.999)),
    holders: column(Uint32Array, (row) => (row.death === Infinity ? 7 : 8)),
    name: column(Uint32Array, (row) => row.name),
    ...sharers(rows),
  };
  return { header, columns };
}

/** Made-up nanoseconds and calls for each entry of a list; of the first, which stands for none, none. */
function spent(count, scale) {
  const of = (each) => Array.from({ length: count }, (_, i) => (i === 0 ? 0 : each(i)));
  return { ns: of((i) => scale / i), calls: of((i) => i) };
}

/** The second parameter is shared by a transposed view, which came later and goes sooner. */
function sharers(rows) {
  const { birth } = rows[1];
  return {
    holder_row: Uint32Array.of(1, 1),
    holder_op: Uint32Array.of(14, 6),
    holder_site: Uint32Array.of(4, 50),
    holder_kind: Uint8Array.of(0, 1),
    holder_birth_ns: Float64Array.of(birth, birth + 5000),
    holder_end_ns: Float64Array.of(Infinity, birth + 90000),
  };
}

function plan(name, count, next, surplus = 0) {
  const buffers = [];
  const pool = new Pool();
  const live = [];
  for (let step = 0; step < count; step++) {
    for (const each of live.filter(({ last }) => last < step)) {
      pool.give(each.offset, each.bytes);
      live.splice(live.indexOf(each), 1);
    }
    const bytes = 1024 * (8 + Math.floor(next() * 56));
    const last = Math.min(count - 1, step + 1 + Math.floor(next() * 3));
    const buffer = { op: OPS[1 + (step % 15)], offset: pool.take(bytes), bytes, first: step, last };
    buffers.push(buffer);
    live.push(buffer);
  }
  const arena = buffers.reduce((top, { offset, bytes }) => Math.max(top, offset + bytes), 0);
  return { name, predicted: arena, measured: arena + surplus, arena, runs: 24, buffers };
}
