// The reference's kernels for operations on more than one element.
#ifndef ATTNPROBE_RUN_GRAPH_KERNELS
#define ATTNPROBE_RUN_GRAPH_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/pointwise_kernels.hpp"

namespace attnprobe::run::kernels {
#endif

/// Lengths are INT32, one per batch entry; null: the whole extent.
struct MatmulArgs {
  View a, b, c;
  const int *m, *n, *k;
  float unit;  ///< of the sums, relative to the magnitudes added
  float cut;   ///< of the result
};

ATTNPROBE_BOTH Index limit(const int* lengths, Index batch, Index extent) {
  if (lengths == nullptr) return extent;
  return lengths[batch] < extent ? lengths[batch] : extent;
}

/// The uncertainty of a sum of `depth` products, relative to the root of the sum of their squares. The sum of
/// magnitudes is at most sqrt(depth) times that root.
ATTNPROBE_BOTH Real sums_variance(const MatmulArgs& g, Index depth) {
  return square((Real)g.unit) * (Real)depth;
}

ATTNPROBE_BOTH void matmul(const MatmulArgs& g, Index thread, Index threads) {
  const Index count = elements(g.c);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(g.c, i);
    Place pa = p, pb = p;
    pa.i[1] = p.i[1] * g.a.dims[1] / g.c.dims[1];
    pb.i[1] = p.i[1] * g.b.dims[1] / g.c.dims[1];
    Real sum = 0, sum2 = 0, cut = (Real)g.cut;
    if (p.i[2] < limit(g.m, p.i[0], g.c.dims[2]) && p.i[3] < limit(g.n, p.i[0], g.c.dims[3])) {
      const Index depth = limit(g.k, p.i[0], g.a.dims[3]);
      const Real adding = sums_variance(g, depth);
      cut += truncation_unit() * (Real)depth;
      for (Index k = 0; k < depth; ++k) {
        pa.i[3] = k;
        pb.i[2] = k;
        const Real a = load(g.a, pa), b = load(g.b, pb);
        sum += a * b;
        sum2 += (variance(g.a, pa, a) + adding * a * a) * (b * b) + variance(g.b, pb, b) * (a * a);
      }
    }
    store(g.c, p, sum);
    store_variance(g.c, p, sum, sum2 + square(cut * sum));
  }
}

/// The terms of a sum, by their sign.
struct Signed {
  Real above, below;
};

/// Variances of a reduction are in these units, because squares of tiny deviations would underflow in f32.
ATTNPROBE_BOTH Real reduction_scale() {
  return (Real)4294967296.0;  // 2^32
}
ATTNPROBE_BOTH Real scaled_variance(const View& v, const Place& p, Real x) {
  return variance(v, p, x) * square(reduction_scale());
}

/// The combination of some elements of X.
struct Partial {
  Real value, variance;
  Signed terms;
};

/// An element of Y combines X's extent / Y's extent neighbours. Two steps: first `parts` partial results per element of
/// Y, then their combination. `keep`: added to Y's content, which is made of `before` elements of X.
struct ReduceArgs {
  View x, y;
  Partial* partial;
  Signed* kept;  ///< the terms of Y's content; null if the steps are one
  Index parts, before;
  int op, keep;
};

ATTNPROBE_BOTH Real reduce_start(int op) {
  switch (op) {
    case reduce_MUL:
    case reduce_MUL_NO_ZEROS:
      return 1;
    case reduce_MIN:
      return ATTNPROBE_INFINITY;
    case reduce_MAX:
      return -ATTNPROBE_INFINITY;
    default:
      return 0;
  }
}

ATTNPROBE_BOTH Real reduce_join(int op, Real a, Real b) {
  switch (op) {
    case reduce_MUL:
    case reduce_MUL_NO_ZEROS:
      return a * b;
    case reduce_MIN:
      return b < a ? b : a;
    case reduce_MAX:
    case reduce_AMAX:
      return b > a ? b : a;
    default:
      return a + b;
  }
}

ATTNPROBE_BOTH Real reduce_element(int op, Real x) {
  switch (op) {
    case reduce_AMAX:
    case reduce_NORM1:
      return fabs(x);
    case reduce_NORM2:
      return x * x;
    case reduce_MUL_NO_ZEROS:
      return x == 0 ? (Real)1 : x;
    default:
      return x;
  }
}

ATTNPROBE_BOTH void add_term(Signed& terms, Real x) {
  if (x > 0) terms.above += rounded_size(x);
  if (x < 0) terms.below += rounded_size(x);
}

/// The roundings of the partial sums of `count` terms: kernels accumulate dBias in its own type, even near its smallest
/// numbers. Atomics add in any order, at worst the largest terms of one sign first.
ATTNPROBE_BOTH Real partial_sums_variance(const ReduceArgs& a, const Signed& terms, Index count) {
  const Real largest = terms.above > terms.below ? terms.above : terms.below;
  if (a.op != reduce_ADD || largest == 0 || count < 2) return (Real)0;
  const Real scale = reduction_scale();
  return (Real)(count - 1) * (square(scale * (Real)a.x.unit * largest) + square(scale * (Real)a.x.smallest));
}

/// Whether the result is one of the inputs, so that it has no roundings of its own.
ATTNPROBE_BOTH bool picks(int op) {
  return op == reduce_MAX || op == reduce_MIN || op == reduce_AMAX;
}

/// A maximum is as uncertain as its most uncertain input; a sum adds the variances.
ATTNPROBE_BOTH Real reduce_join_variance(int op, Real a, Real b) {
  return picks(op) ? (b > a ? b : a) : a + b;
}

ATTNPROBE_BOTH void reduce_parts(const ReduceArgs& a, Index thread, Index threads) {
  Index factor[4], per = 1;
  for (int axis = 0; axis < 4; ++axis) {
    factor[axis] = a.x.dims[axis] / a.y.dims[axis];
    per *= factor[axis];
  }
  // The rows of dSink may be equal; then the roundings of their running sum add up.
  const Real roundings = picks(a.op) ? (Real)0 : factor[2] > 1 ? square((Real)per) : (Real)per;
  const Index count = elements(a.y) * a.parts;
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i / a.parts);
    Partial sum = {reduce_start(a.op), 0, {0, 0}};
    for (Index k = i % a.parts; k < per; k += a.parts) {
      Place q;
      Index rest = k;
      for (int axis = 3; axis >= 0; --axis) {
        q.i[axis] = p.i[axis] * factor[axis] + rest % factor[axis];
        rest /= factor[axis];
      }
      const Real x = load(a.x, q);
      sum.value = reduce_join(a.op, sum.value, reduce_element(a.op, x));
      if (a.y.error == 0 || !is_number(x)) continue;
      sum.variance = reduce_join_variance(
          a.op, sum.variance, scaled_variance(a.x, q, x) + roundings * square(reduction_scale() * f32_unit() * x));
      add_term(sum.terms, x);
    }
    a.partial[i] = sum;
  }
}

ATTNPROBE_BOTH void reduce_join_parts(const ReduceArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  Index per = 1;
  for (int axis = 0; axis < 4; ++axis) per *= a.x.dims[axis] / a.y.dims[axis];
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    Real value = a.keep != 0 ? load(a.y, p) : reduce_start(a.op);
    Real variances = a.keep != 0 ? scaled_variance(a.y, p, value) : (Real)0;
    Signed terms = {0, 0};
    if (a.keep != 0 && a.kept != nullptr) terms = a.kept[i];
    variances -= partial_sums_variance(a, terms, a.before);
    if (variances < 0) variances = 0;
    for (Index part = 0; part < a.parts; ++part) {
      const Partial& one = a.partial[i * a.parts + part];
      value = reduce_join(a.op, value, one.value);
      variances = reduce_join_variance(a.op, variances, one.variance);
      terms.above += one.terms.above;
      terms.below += one.terms.below;
    }
    variances += partial_sums_variance(a, terms, a.before + per);
    if (a.kept != nullptr) a.kept[i] = terms;
    if (a.op == reduce_AVG) {
      value /= (Real)per;
      variances /= square((Real)per);
    }
    if (a.op == reduce_NORM2) value = sqrt(value);
    store(a.y, p, value);
    store_deviation(a.y, p, value, sqrt(variances) / reduction_scale());
  }
}

/// Y[b, h, token, d] = container[table[b, token / block], h, token % block, d]; zero after the sequence.
struct PagedArgs {
  View container, table, y;
  const int* lengths;
  int transposed;  ///< Y is {b, h, d, token}
};

ATTNPROBE_BOTH void paged_load(const PagedArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y), block = a.container.dims[2];
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index token = p.i[a.transposed != 0 ? 3 : 2], d = p.i[a.transposed != 0 ? 2 : 3];
    Real value = 0;
    if (token < limit(a.lengths, p.i[0], token + 1)) {
      const Place page{{p.i[0], 0, token / block, 0}};
      const Place from{{(Index)load(a.table, page), p.i[1], token % block, d}};
      value = load(a.container, from);
    }
    store(a.y, p, value);
  }
}

/// Y = X times the scale of its block of 32 along `axis`. Scales have cuDNN's F8_128x4 order: tiles of 128 rows (the
/// other axis) by 4 blocks, in which rows 32 apart are adjacent.
struct DequantizeArgs {
  View x, y;
  const char* scales;
  Index rows, columns;  ///< of one matrix's scales, padded
  Index block;
  int axis, scale_type;
};

ATTNPROBE_BOTH void dequantize(const DequantizeArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index row = p.i[5 - a.axis], column = p.i[a.axis] / a.block;
    const Index tile = row / 128 * (a.columns / 4) + column / 4;
    const Index inside = row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
    const Index matrix = (p.i[0] * a.y.dims[1] + p.i[1]) * a.rows * a.columns;
    store(a.y, p, load(a.x, p) * load(a.scales, a.scale_type, matrix + tile * 512 + inside));
  }
}

/// Scores of tiles with an unset bit become -inf. One bit per tile of 128 x 128, lowest first.
struct BlockMaskArgs {
  View x, bits, y;
};

ATTNPROBE_BOTH void block_mask(const BlockMaskArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index tile = p.i[3] / 128;
    const Place byte{{p.i[0], p.i[1], p.i[2] / 128, tile / 8}};
    const bool visible = ((Index)load(a.bits, byte) >> (tile % 8) & 1) != 0;
    const Real x = visible ? load(a.x, p) : -ATTNPROBE_INFINITY;
    store(a.y, p, x);
    store_variance(a.y, p, x, visible ? variance(a.x, p, x) : (Real)0);
  }
}

/// Y = scale X, with the last `dim` elements of a head rotated. Element r of their first half is rotated with element r
/// of the second. The angles {s, 1, 1, dim} have the same positions (docs.nvidia.com/cudnn/operations/RoPE.md) and an
/// error of a few units in the last place. Y is rounded to `type`, because plans store it in memory.
struct RopeArgs {
  View x, angles, y;
  double scale;
  Index dim;
  int type, unused;
};

/// A value within `own` of another rounds to the same number, or sometimes to the neighbour at distance 2 unit x.
ATTNPROBE_BOTH void store_rounded(const View& y, const Place& p, int type, Real value, Real own) {
  Real units = 0;
  double memory = 0;
  if (type == type_f16 || type == type_bf16) {
    store((char*)&memory, type, 0, value);
    units = type == type_f16 ? (Real)9.765625e-4 : (Real)7.8125e-3;  // 2^-10, 2^-7
    value = load((const char*)&memory, type, 0);
  }
  store(y, p, value);
  store_variance(y, p, value, own + units * fabs(value) * sqrt(own));
}

ATTNPROBE_BOTH void rope(const RopeArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y), first = a.y.dims[3] - a.dim, half = a.dim / 2;
  const Real scale = (Real)a.scale;
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Real x = load(a.x, p);
    if (p.i[3] < first) {
      // An unscaled value is exact.
      const Real scaling = scale == (Real)1 ? (Real)0 : square(f32_unit() * x);
      store_rounded(a.y, p, a.type, scale * x, square(scale) * (variance(a.x, p, x) + scaling));
      continue;
    }
    const bool low = p.i[3] - first < half;
    Place q = p;
    q.i[3] += low ? half : -half;
    const Place at{{p.i[2], 0, 0, p.i[3] - first}};
    const Real other = load(a.x, q), angle = load(a.angles, at), c = cos(angle), s = low ? -sin(angle) : sin(angle);
    const Real value = scale * (x * c + other * s);
    const Real turned = square(f32_unit() * ((Real)1 + fabs(angle))) * (square(x) + square(other));
    const Real carried = square(c) * variance(a.x, p, x) + square(s) * variance(a.x, q, other);
    store_rounded(a.y, p, a.type, value, square(scale) * (carried + turned));
  }
}

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
