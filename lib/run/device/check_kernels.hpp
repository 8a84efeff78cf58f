// Kernels that fill tensors before a run and check them after it.
#ifndef ATTNPROBE_RUN_CHECK_KERNELS
#define ATTNPROBE_RUN_CHECK_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/kernel_values.hpp"

namespace attnprobe::run::kernels {
#endif

enum Fills { fill_constant, fill_normal, fill_magnitude, fill_integers, fill_chance, fill_identity };

/// The kinds of filling:
///   constant: a
///   normal: mean a, standard deviation b
///   magnitude: sign of a times |normal| times |a|
///   integers: 4 in 5 are 0, else -2 … 2
///   chance: a with probability b, else 0
///   identity: 1 where the row is `start` + the column (of heads h with h % group == which), else 0
struct FillArgs {
  View y;
  const int* lengths;  ///< rows that each batch entry uses; null: all
  double a, b;
  double factor_of_unused;  ///< of the rows after `lengths`
  Bits64 seed;
  Index start, group, which;
  int kind, unused;
};

ATTNPROBE_BOTH Bits64 mixed(Bits64 x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

ATTNPROBE_BOTH double uniform(Bits64 seed, Bits64 index) {
  return ((double)(mixed(seed ^ mixed(index)) >> 11) + 0.5) / 9007199254740992.0;
}

ATTNPROBE_BOTH double normal(Bits64 seed, Bits64 index) {  // Box-Muller
  return sqrt(-2 * log(uniform(seed, 2 * index))) * cos(6.283185307179586 * uniform(seed, 2 * index + 1));
}

ATTNPROBE_BOTH void fill(const FillArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Bits64 n = (Bits64)i;
    double value = a.a;
    switch (a.kind) {
      case fill_normal:
        value = a.a + a.b * normal(a.seed, n);
        break;
      case fill_magnitude:
        value = a.a * fabs(normal(a.seed, n));
        break;
      case fill_integers:
        value = uniform(a.seed, 2 * n) < 0.8 ? 0 : floor(uniform(a.seed, 2 * n + 1) * 5) - 2;
        break;
      case fill_chance:
        value = uniform(a.seed, n) < a.b ? a.a : 0;
        break;
      case fill_identity:
        value = p.i[2] == a.start + p.i[3] && p.i[1] % a.group == a.which ? 1 : 0;
        break;
      default:
        break;
    }
    if (a.lengths != nullptr && p.i[2] >= a.lengths[p.i[0]]) value *= a.factor_of_unused;
    store(a.y, p, value);
  }
}

/// Reads a plan's dropout mask from an output whose other factor was an identity. Forward: mask[b, h, i, start + d] =
/// O[b, h, i, d] > 0. Backward: mask[b, h group + which, start + d, j] = dV[b, h, j, d] > 0. A dumped mask is read as
/// in forward. NaN counts as 0.
struct ReadMaskArgs {
  View from, mask;
  Index start, group, which;
  int backward, unused;
};

ATTNPROBE_BOTH void read_mask(const ReadMaskArgs& a, Index thread, Index threads) {
  const Index count = elements(a.from);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.from, i);
    Place q = p;
    if (a.backward != 0) {
      q.i[1] = p.i[1] * a.group + a.which;
      q.i[2] = a.start + p.i[3];
      q.i[3] = p.i[2];
    } else {
      q.i[3] = a.start + p.i[3];
    }
    if (q.i[2] < a.mask.dims[2] && q.i[3] < a.mask.dims[3]) store(a.mask, q, load(a.from, p) > 0 ? 1 : 0);
  }
}

// ---- checks---

enum Marks { mark_not_of_tensor, mark_must_be_written, mark_free };

/// Marks the elements of a tensor in a map of its memory; elements after the sequence may have any content.
struct CoverArgs {
  View y;
  unsigned char* map;  ///< of Y's first element
  const int* lengths;  ///< null: every row counts
  int sequence_axis;
  int free;  ///< whether elements may stay unwritten
};

ATTNPROBE_BOTH bool counts(const CoverArgs& a, const Place& p) {
  return a.lengths == nullptr || p.i[a.sequence_axis] < a.lengths[p.i[0]];
}

ATTNPROBE_BOTH void cover(const CoverArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index at = locate(a.y, p);
    if (at >= 0) a.map[at] = a.free == 0 && counts(a, p) ? mark_must_be_written : mark_free;
  }
}

/// The counts of one thread.
struct MemoryCount {
  Index unwritten, outside, first_outside;
};

/// Before the run, the memory had only 1 bits (a NaN in every floating type).
struct CheckMemoryArgs {
  const unsigned char* memory;
  const unsigned char* map;
  Index count;  ///< elements
  MemoryCount* counts;
  int element_size, unused;
};

ATTNPROBE_BOTH void check_memory(const CheckMemoryArgs& a, Index thread, Index threads) {
  MemoryCount found = {0, 0, -1};
  for (Index i = thread; i < a.count; i += threads) {
    bool poison = true;
    for (int k = 0; k < a.element_size; ++k) poison = poison && a.memory[i * a.element_size + k] == 0xff;
    if (a.map[i] == mark_must_be_written && poison) ++found.unwritten;
    if (a.map[i] == mark_not_of_tensor && !poison && found.outside++ == 0) found.first_outside = i;
  }
  a.counts[thread] = found;
}

struct CompareCount {
  double error2, variance, reference2, max_abs, max_rel;
  double most, allowed, reference;  ///< largest error relative to its limit; then that limit and the reference value
  Index elements, nan, inf, wrong, first_wrong;
};

/// The reference has an error for each value; reading rounds it to the output's type.
struct CompareArgs {
  View out, reference;
  const int* lengths;
  double times;    ///< allowed standard deviations
  double largest;  ///< the output type's largest finite number
  CompareCount* counts;
  int sequence_axis, unused;
};

ATTNPROBE_BOTH bool is_finite(double x) {
  return x - x == 0;
}

/// From the output's rounding and all earlier roundings; in double, because squares of tiny numbers would underflow.
ATTNPROBE_BOTH double deviation(const View& reference, Index at, double x) {
  const double own = reference.error == 0 ? 0 : ((const Real*)(reference.data + reference.error))[at];
  const double rounding = reference.unit * fabs(x);
  return sqrt(own * own + rounding * rounding) + reference.smallest;
}

ATTNPROBE_BOTH void compare(const CompareArgs& a, Index thread, Index threads) {
  CompareCount found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1};
  const Index count = elements(a.out);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.out, i);
    if (a.lengths != nullptr && p.i[a.sequence_axis] >= a.lengths[p.i[0]]) continue;
    const Index at = locate(a.out, p), at_reference = locate(a.reference, p);
    if (at < 0) continue;
    const double out = load(a.out.data, a.out.type, at);
    double reference = load(a.reference.data, a.reference.type, at_reference);
    ++found.elements;
    bool right = true;
    if (!is_finite(reference)) {
      right = out == reference || (out != out && reference != reference);
    } else {
      const double sigma = deviation(a.reference, at_reference, reference), allowed = a.times * sigma;
      // Beyond its type's range, an output may be the largest number or infinite.
      const bool beyond = fabs(reference) + allowed >= a.largest;
      if (fabs(reference) > a.largest) reference = reference < 0 ? -a.largest : a.largest;
      if (!is_finite(sigma)) continue;  // any number, infinity or NaN is correct
      if (!is_finite(out)) {
        right = out == out && beyond && (out < 0) == (reference < 0);
        found.nan += out != out ? 1 : 0;
        found.inf += out == out && !right ? 1 : 0;
      } else {
        const double error = fabs(out - reference), size = fabs(reference);
        right = error <= allowed;
        found.error2 += error * error;
        found.variance += sigma * sigma;
        found.reference2 += size * size;
        if (error > found.max_abs) found.max_abs = error;
        if (size > allowed && error / size > found.max_rel) found.max_rel = error / size;
        if (error > found.most * allowed || found.allowed == 0) {
          found.most = error == 0 ? 0 : error / allowed;
          found.allowed = allowed;
          found.reference = size;
        }
      }
    }
    if (!right && found.wrong++ == 0) found.first_wrong = i;
  }
  a.counts[thread] = found;
}

/// Counts the words in which two memories differ.
struct DifferenceArgs {
  const unsigned* a;
  const unsigned* b;
  Index count;
  Index* counts;
};

ATTNPROBE_BOTH void difference(const DifferenceArgs& a, Index thread, Index threads) {
  Index found = 0;
  for (Index i = thread; i < a.count; i += threads) found += a.a[i] != a.b[i] ? 1 : 0;
  a.counts[thread] = found;
}

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
