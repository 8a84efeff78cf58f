// The operations of graphs, element by element: what the reference computes.
#ifndef ATTNPROBE_RUN_GRAPH_KERNELS
#define ATTNPROBE_RUN_GRAPH_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/kernel_values.hpp"

namespace attnprobe::run::kernels {
#endif

struct PointwiseArgs {
  View x, b, t, y;  ///< dy of a backward mode is b
  int mode, axis;
  Index origin;  ///< of GEN_INDEX: the index of the first element along the axis
};

ATTNPROBE_BOTH Real gelu_tanh_argument(Real x) {
  return (Real)0.7978845608028654 * (x + (Real)0.044715 * x * x * x);
}

/// The slope of an activation at x.
ATTNPROBE_BOTH Real slope(int mode, Real x) {
  const Real one = 1;
  switch (mode) {
    case mode_RELU_BWD:
      return x > 0 ? one : (Real)0;
    case mode_TANH_BWD:
      return one - tanh(x) * tanh(x);
    case mode_SIGMOID_BWD: {
      const Real s = one / (one + exp(-x));
      return s * (one - s);
    }
    case mode_ELU_BWD:
      return x > 0 ? one : exp(x);
    case mode_SOFTPLUS_BWD:
      return one / (one + exp(-x));
    case mode_SWISH_BWD: {
      const Real s = one / (one + exp(-x));
      return s + x * s * (one - s);
    }
    case mode_GELU_BWD:
      return (Real)0.5 * (one + erf(x * (Real)0.7071067811865476)) + x * exp(-x * x / 2) * (Real)0.3989422804014327;
    default: {  // GELU_APPROX_TANH_BWD
      const Real t = tanh(gelu_tanh_argument(x));
      const Real inner = (Real)0.7978845608028654 * (one + 3 * (Real)0.044715 * x * x);
      return (Real)0.5 * (one + t) + (Real)0.5 * x * (one - t * t) * inner;
    }
  }
}

/// A row that is masked whole has no softmax; cuDNN gives zeros, so here -inf - -inf is -inf and 0 / 0 is 0.
ATTNPROBE_BOTH Real pointwise_value(int mode, Real x, Real b, Real t) {
  const Real one = 1;
  switch (mode) {
    case mode_ADD:
      return x + b;
    case mode_ADD_SQUARE:
      return x + b * b;
    case mode_SUB:
      return x == b && x < 0 && x == -ATTNPROBE_INFINITY ? x : x - b;
    case mode_MUL:
      return x * b;
    case mode_DIV:
      return x == 0 && b == 0 ? (Real)0 : x / b;
    case mode_MAX:
      return x > b ? x : b;
    case mode_MIN:
      return x < b ? x : b;
    case mode_MOD:
      return fmod(x, b);
    case mode_POW:
      return pow(x, b);
    case mode_ABS:
      return fabs(x);
    case mode_CEIL:
      return ceil(x);
    case mode_COS:
      return cos(x);
    case mode_EXP:
      return exp(x);
    case mode_FLOOR:
      return floor(x);
    case mode_LOG:
      return log(x);
    case mode_NEG:
      return -x;
    case mode_RSQRT:
      return one / sqrt(x);
    case mode_SIN:
      return sin(x);
    case mode_SQRT:
      return sqrt(x);
    case mode_TAN:
      return tan(x);
    case mode_ERF:
      return erf(x);
    case mode_IDENTITY:
      return x;
    case mode_RECIPROCAL:
      return one / x;
    case mode_ATAN2:
      return atan2(x, b);
    case mode_RELU_FWD:
      return x > 0 ? x : (Real)0;
    case mode_TANH_FWD:
      return tanh(x);
    case mode_SIGMOID_FWD:
      return one / (one + exp(-x));
    case mode_ELU_FWD:
      return x > 0 ? x : exp(x) - one;
    case mode_GELU_FWD:
      return (Real)0.5 * x * (one + erf(x * (Real)0.7071067811865476));
    case mode_SOFTPLUS_FWD:
      return x > 20 ? x : log1p(exp(x));
    case mode_SWISH_FWD:
      return x / (one + exp(-x));
    case mode_GELU_APPROX_TANH_FWD:
      return (Real)0.5 * x * (one + tanh(gelu_tanh_argument(x)));
    case mode_CMP_EQ:
      return x == b ? one : (Real)0;
    case mode_CMP_NEQ:
      return x != b ? one : (Real)0;
    case mode_CMP_GT:
      return x > b ? one : (Real)0;
    case mode_CMP_GE:
      return x >= b ? one : (Real)0;
    case mode_CMP_LT:
      return x < b ? one : (Real)0;
    case mode_CMP_LE:
      return x <= b ? one : (Real)0;
    case mode_LOGICAL_AND:
      return x != 0 && b != 0 ? one : (Real)0;
    case mode_LOGICAL_OR:
      return x != 0 || b != 0 ? one : (Real)0;
    case mode_LOGICAL_NOT:
      return x == 0 ? one : (Real)0;
    case mode_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      return b * slope(mode, x);
  }
}

ATTNPROBE_BOTH void pointwise(const PointwiseArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    Real value = 0;
    if (a.mode == mode_GEN_INDEX)
      value = (Real)(p.i[a.axis] + a.origin);
    else
      value = pointwise_value(a.mode, load(a.x, p), a.b.data != nullptr ? load(a.b, p) : (Real)0,
                              a.t.data != nullptr ? load(a.t, p) : (Real)0);
    store(a.y, p, value);
  }
}

/// Lengths are INT32, one a batch entry; null: the whole extent.
struct MatmulArgs {
  View a, b, c;
  const int *m, *n, *k;
};

ATTNPROBE_BOTH Index limit(const int* lengths, Index batch, Index extent) {
  if (lengths == nullptr) return extent;
  return lengths[batch] < extent ? lengths[batch] : extent;
}

ATTNPROBE_BOTH void matmul(const MatmulArgs& g, Index thread, Index threads) {
  const Index count = elements(g.c);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(g.c, i);
    Place pa = p, pb = p;
    pa.i[1] = p.i[1] * g.a.dims[1] / g.c.dims[1];
    pb.i[1] = p.i[1] * g.b.dims[1] / g.c.dims[1];
    Real sum = 0;
    if (p.i[2] < limit(g.m, p.i[0], g.c.dims[2]) && p.i[3] < limit(g.n, p.i[0], g.c.dims[3])) {
      const Index depth = limit(g.k, p.i[0], g.a.dims[3]);
      for (Index k = 0; k < depth; ++k) {
        pa.i[3] = k;
        pb.i[2] = k;
        sum += load(g.a, pa) * load(g.b, pb);
      }
    }
    store(g.c, p, sum);
  }
}

/// Where Y's extent is smaller, it stands for X's extent / Y's extent neighbours. In two steps: `parts` partial results
/// an element of Y, then one of them; `keep`: on top of what Y holds.
struct ReduceArgs {
  View x, y;
  Real* partial;
  Index parts;
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

ATTNPROBE_BOTH void reduce_parts(const ReduceArgs& a, Index thread, Index threads) {
  Index factor[4], per = 1;
  for (int axis = 0; axis < 4; ++axis) {
    factor[axis] = a.x.dims[axis] / a.y.dims[axis];
    per *= factor[axis];
  }
  const Index count = elements(a.y) * a.parts;
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i / a.parts);
    Real value = reduce_start(a.op);
    for (Index k = i % a.parts; k < per; k += a.parts) {
      Place q;
      Index rest = k;
      for (int axis = 3; axis >= 0; --axis) {
        q.i[axis] = p.i[axis] * factor[axis] + rest % factor[axis];
        rest /= factor[axis];
      }
      value = reduce_join(a.op, value, reduce_element(a.op, load(a.x, q)));
    }
    a.partial[i] = value;
  }
}

ATTNPROBE_BOTH void reduce_join_parts(const ReduceArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  Index per = 1;
  for (int axis = 0; axis < 4; ++axis) per *= a.x.dims[axis] / a.y.dims[axis];
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    Real value = a.keep != 0 ? load(a.y, p) : reduce_start(a.op);
    for (Index part = 0; part < a.parts; ++part) value = reduce_join(a.op, value, a.partial[i * a.parts + part]);
    if (a.op == reduce_AVG) value /= (Real)per;
    if (a.op == reduce_NORM2) value = sqrt(value);
    store(a.y, p, value);
  }
}

/// Y[b, h, token, d] = container[table[b, token / block], h, token % block, d]; zero behind the sequence.
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

/// Y = X times the scale of its block of 32 along `axis`. Scales lie in cuDNN's F8_128x4 order: tiles of 128 rows (the
/// other axis) by 4 blocks, in each of which rows 32 apart stand side by side.
struct DequantizeArgs {
  View x, y;
  const char* scales;
  Index rows, columns;  ///< of the scales of one matrix, padded
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

/// Scores of tiles whose bit is not set become -inf: one bit a tile of 128 x 128, the lowest first.
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
    store(a.y, p, visible ? load(a.x, p) : -ATTNPROBE_INFINITY);
  }
}

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
