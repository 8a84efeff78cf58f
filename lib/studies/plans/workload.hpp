// The shapes that a program uses: configs, or one config at many lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/question.hpp"
#include "attention/config.hpp"

namespace attnprobe::plans {

/// A length in tokens and how often it occurs.
struct Length {
  int64_t tokens = 0;
  int64_t count = 1;
  bool operator==(const Length&) const = default;
};

/// Reads "512", "4k", ranges as in a config ("101:220", "64:8192:64", "1k:64k:x2"), a comma-separated list of these, or
/// a file. A file has one such word per line, with an optional count after it, and comments after "#"; "-" is standard
/// input. Ascending, without duplicates, at most 100,000 lengths. Throws Error(usage) naming option, file, line and
/// what is allowed.
std::vector<Length> read_lengths(const std::string& words);

/// A shape of the workload. Each has its own plan, because cuDNN builds plans for exact sizes.
struct Shape {
  attention::AttentionSpec spec;
  Length length;  ///< length of the keys, and of the queries if they also vary; 0 tokens: no length varies
  std::optional<answer::GivenGraph> given = {};  ///< a program's own graph, asked unchanged
};

/// The plans in a log.
struct BuiltPlans {
  int64_t plans = 0;
  double seconds = 0;  ///< time from start to end of finalize
};

/// The shapes of one program.
struct Workload {
  std::string name = {};  ///< description of the config with varying lengths; "": the shapes are configs or graphs
  std::vector<Shape> shapes;
  std::optional<BuiltPlans> built = {};
  std::vector<std::string> notes = {};  ///< parts of a log that were skipped, one sentence each
};

/// Equal for shapes that differ only in the varying length.
std::string family_of(const Shape& shape);

/// The config at each length. If the config has as many queries as keys, both lengths vary. Otherwise, as in a decoding
/// step (one query), only the key length varies.
std::vector<Shape> shapes_of(const attention::AttentionSpec& spec, const std::vector<Length>& lengths);

/// The shape with its length rounded up to `tokens`. The padded tokens must be masked, so a padding mask is added,
/// unless the mask is causal with as many queries as keys. None if the mask cannot be combined with padding.
std::optional<Shape> padded(const Shape& shape, int64_t tokens);

/// A way to round lengths up.
struct Bucketing {
  std::string name;              ///< "multiples of 64", "powers of two", "4 lengths"
  std::vector<int64_t> lengths;  ///< remaining lengths, ascending
  std::vector<Shape> shapes;     ///< remaining plans; families that cannot be padded are unchanged
  bool adds_padding = false;     ///< a mask also changes
  double work = 1;               ///< operations relative to the exact lengths
};

/// Lengths rounded up to multiples of 64 to 512, to powers of two, and to the 2, 4 and 8 cheapest lengths of each
/// family. Omits ways that change nothing or equal another. Precondition: families are in order of length.
std::vector<Bucketing> bucketings(const std::vector<Shape>& shapes);

}  // namespace attnprobe::plans
