#include "run/fixed_values.hpp"

#include <cmath>

namespace attnprobe::run {
namespace {

// Powers of two, so that scaling and unscaling are exact. P is at most 1, or 2 if dropout keeps half, and e4m3's
// largest number is 448. With standard normal data, outputs and gradients are well below 8; with many keys, gradients
// through dP are below 1.
constexpr double scale_of_p = 128, scale_of_outputs = 32, scale_of_d_p = 128;

}  // namespace

double factor_of(graph::Role role, double keep) {
  using graph::Role;
  switch (role) {
    case Role::dropout_scale:
      return 1 / keep;
    case Role::dropout_scale_inverse:
      return keep;
    case Role::scale_s:
      return scale_of_p;
    case Role::descale_s:
      return 1 / scale_of_p;
    case Role::scale_dp:
      return scale_of_d_p;
    case Role::descale_dp:
      return 1 / scale_of_d_p;
    case Role::descale_o:
      return 1 / scale_of_outputs;
    case Role::scale_o:
    case Role::scale_dq:
    case Role::scale_dk:
    case Role::scale_dv:
      return scale_of_outputs;
    default:
      return 1;  // Q, K, V and dO are not scaled
  }
}

std::vector<double> alibi_slopes(int64_t heads) {
  int64_t n = 1;
  while (2 * n <= heads) n *= 2;
  std::vector<double> slopes;
  for (int64_t i = 0; i < heads; ++i) {
    const double power = i < n ? -8.0 * static_cast<double>(i + 1) / static_cast<double>(n)
                               : -8.0 * (2.0 * static_cast<double>(i - n) + 1) * 0.5 / static_cast<double>(n);
    slopes.push_back(std::exp2(power));
  }
  return slopes;
}

std::vector<int64_t> document_ids(int64_t tokens) {
  constexpr int64_t length = 48;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < tokens; ++i) ids.push_back(i / length + 1);
  return ids;
}

std::vector<double> rope_angles(int64_t tokens, int64_t dim) {
  constexpr double base = 10000;
  const int64_t half = dim / 2;
  std::vector<double> angles;
  angles.reserve(static_cast<size_t>(tokens * dim));
  for (int64_t s = 0; s < tokens; ++s)
    for (int64_t i = 0; i < dim; ++i)
      angles.push_back(static_cast<double>(s) *
                       std::pow(base, -2 * static_cast<double>(i % half) / static_cast<double>(dim)));
  return angles;
}

std::vector<int64_t> prefix_sums(const std::vector<int32_t>& lengths) {
  std::vector<int64_t> sums{0};
  for (const int32_t n : lengths) sums.push_back(sums.back() + n);
  return sums;
}

}  // namespace attnprobe::run
