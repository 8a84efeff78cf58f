// GPU-only code: the entry points of kernels.hpp's kernels, a matrix product in shared memory, and kernels for
// measurements. NVRTC compiles it at run time, after kernels.hpp.

#define ATTNPROBE_ENTRY(name, Args)                                                        \
  extern "C" __global__ void entry_##name(Args args) {                                     \
    name(args, (Index)blockIdx.x * blockDim.x + threadIdx.x, (Index)gridDim.x * blockDim.x); \
  }
ATTNPROBE_KERNELS(ATTNPROBE_ENTRY)

// A block of 256 threads computes 64 x 64 elements of C, 16 of the depth at a time; gridDim.z: batch x head. A
// product's variance is var(a) b^2 + a^2 var(b); most factors are exact and have none.
typedef Real Tile[16][65];

template <bool errors, bool a_exact, bool b_exact>
__device__ void tiled(const MatmulArgs& g, Tile& tile_a, Tile& tile_b, Tile& rough_a, Tile& rough_b) {
  const Index heads = g.c.dims[1];
  const Index row0 = (Index)blockIdx.y * 64, column0 = (Index)blockIdx.x * 64;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (Index z = blockIdx.z; z < g.c.dims[0] * heads; z += gridDim.z) {
    const Index batch = z / heads, head = z % heads;
    const Index ha = head * g.a.dims[1] / heads, hb = head * g.b.dims[1] / heads;
    const Index rows = limit(g.m, batch, g.c.dims[2]), columns = limit(g.n, batch, g.c.dims[3]);
    const Index depth = limit(g.k, batch, g.a.dims[3]);
    const Real adding = sums_variance(g, depth);
    Real sum[4][4] = {}, sum2[4][4] = {};
    if (row0 < rows && column0 < columns) {
      const bool a_along_k = g.a.strides[3] <= g.a.strides[2], b_along_k = g.b.strides[2] < g.b.strides[3];
      for (Index k0 = 0; k0 < depth; k0 += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
          // Neighbouring threads read neighbouring memory, whether the matrix is transposed or not.
          const int ak = a_along_k ? i % 16 : i / 64, ar = a_along_k ? i / 16 : i % 64;
          const int bk = b_along_k ? i % 16 : i / 64, bc = b_along_k ? i / 16 : i % 64;
          const Place pa = {{batch, ha, row0 + ar, k0 + ak}};
          const Place pb = {{batch, hb, k0 + bk, column0 + bc}};
          const bool in_a = row0 + ar < rows && k0 + ak < depth, in_b = column0 + bc < columns && k0 + bk < depth;
          const Real a = in_a ? load(g.a, pa) : (Real)0, b = in_b ? load(g.b, pb) : (Real)0;
          tile_a[ak][ar] = a;
          tile_b[bk][bc] = b;
          if (!a_exact) rough_a[ak][ar] = in_a ? variance(g.a, pa, a) + adding * a * a : (Real)0;
          if (!b_exact) rough_b[bk][bc] = in_b ? variance(g.b, pb, b) : (Real)0;
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
          Real a[4], b[4], va[4], vb[4];
          for (int i = 0; i < 4; ++i) a[i] = tile_a[k][ty + 16 * i];
          for (int i = 0; i < 4; ++i) b[i] = tile_b[k][tx + 16 * i];
          for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) sum[i][j] += a[i] * b[j];
          if (!errors) continue;
          for (int i = 0; i < 4; ++i) va[i] = a_exact ? adding * a[i] * a[i] : rough_a[k][ty + 16 * i];
          for (int i = 0; i < 4; ++i) vb[i] = b_exact ? (Real)0 : rough_b[k][tx + 16 * i];
          for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) {
              sum2[i][j] += va[i] * (b[j] * b[j]);
              if (!b_exact) sum2[i][j] += vb[j] * (a[i] * a[i]);
            }
        }
        __syncthreads();
      }
    }
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const Place p = {{batch, head, row0 + ty + 16 * i, column0 + tx + 16 * j}};
        if (p.i[2] >= g.c.dims[2] || p.i[3] >= g.c.dims[3]) continue;
        const bool inside = p.i[2] < rows && p.i[3] < columns;
        store(g.c, p, inside ? sum[i][j] : (Real)0);
        if (errors) store_variance(g.c, p, sum[i][j], inside ? sum2[i][j] + square((Real)g.cut * sum[i][j]) : (Real)0);
      }
  }
}

// Separate entry points, because NVRTC compiles them in parallel; CudaDevice::launch_matmul chooses one.
#define ATTNPROBE_MATMUL(name, errors, a_exact, b_exact)    \
  extern "C" __global__ void name(MatmulArgs g) {           \
    __shared__ Tile a, b, rough_a, rough_b;                 \
    tiled<errors, a_exact, b_exact>(g, a, b, rough_a, rough_b); \
  }
ATTNPROBE_MATMUL(matmul_values, false, true, true)
ATTNPROBE_MATMUL(matmul_both_exact, true, true, true)
ATTNPROBE_MATMUL(matmul_b_exact, true, false, true)
ATTNPROBE_MATMUL(matmul_inexact, true, false, false)

// ---- measuring -----------------------------------------------------------------------------------

__device__ Bits64 nanoseconds() {
  Bits64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Blocks the stream until the host sets the flag, so that all later work is queued before it starts. Has a time limit,
// because a plan that waits for the GPU while it is queued would otherwise never return.
extern "C" __global__ void hold(volatile int* release, volatile int* gave_up, Bits64 limit_ns) {
  const Bits64 start = nanoseconds();
  while (*release == 0)
    if (nanoseconds() - start > limit_ns) {
      *gave_up = 1;
      __threadfence_system();
      return;
    }
}

// An empty kernel, to measure the time of the events around a kernel.
extern "C" __global__ void nothing() {}

// Time and cycles of multiprocessor 0; launched with one block per multiprocessor.
extern "C" __global__ void stamp(Bits64* out) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor != 0) return;
  out[0] = nanoseconds();
  out[1] = (Bits64)clock64();
}
