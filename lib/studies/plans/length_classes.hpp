// Selects the lengths to compile, so that the kernels of all lengths are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnprobe::plans {

/// A length in a class, whose plans all have the same engine config.
struct ClassLength {
  int64_t tokens = 0;
  std::optional<std::string> kernel = {};  ///< identity; none: not compiled
};

/// How lengths are grouped.
enum class Grouping {
  /// A level is the largest power of two, up to 512, that divides a length. Two levels with the same kernel form one
  /// group with the levels between them, because kernels require multiples of some number.
  levels_that_agree,
  each_level,  ///< without groups, if a spot check contradicted them
};

/// The next lengths to compile, by index; none: kernels_of() infers the others. Lengths must ascend. In each group, the
/// first and the last 64 tokens are compiled. Between two lengths with different kernels, the neighbours of a multiple
/// of 64 are compiled first, then the length halfway, until the two are neighbours.
std::vector<size_t> next_to_compile(const std::vector<ClassLength>& lengths, Grouping grouping);

/// The kernel of each length. Precondition: next_to_compile() is empty, or compiling has ended.
std::vector<std::optional<std::string>> kernels_of(const std::vector<ClassLength>& lengths, Grouping grouping);

}  // namespace attnprobe::plans
