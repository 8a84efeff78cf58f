#include "studies/plans/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <set>

#include "attention/fields.hpp"
#include "attention/range.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace attnprobe::plans {
namespace {

constexpr int64_t most_tokens = int64_t{1} << 31;
constexpr size_t most_lengths = 100'000;

[[noreturn]] void fail(const std::string& where, std::string_view word) {
  throw Error(ErrorKind::usage,
              fmt::format("{}: \"{}\" is not a length; allowed: 512, 101:220, 64:8192:64, from 1 to {}", where,
                          cut(std::string(word)), most_tokens));
}

int64_t number(const std::string& word, const std::string& where) {
  const auto value = parse_size(word);
  if (!value || *value < 1 || *value > most_tokens) fail(where, word);
  return *value;
}

attention::Range range_in(const std::string& word, const std::string& where) try {
  return attention::read_range({Json(word), JsonSource{where, " at ", false}});
} catch (const Error&) {
  fail(where, word);
}

void check_count(size_t count, const std::string& where) {
  if (count > most_lengths) throw Error(ErrorKind::usage, fmt::format("{}: more than {} lengths", where, most_lengths));
}

void add_word(std::map<int64_t, int64_t>& counts, const std::string& word, int64_t count, const std::string& where) {
  if (!attention::looks_like_range(word)) {
    counts[number(word, where)] += count;
  } else {
    const attention::Range range = range_in(word, where);
    if (range.first < 1 || range.last > most_tokens) fail(where, word);
    check_count(attention::count_of(range), where);
    for (const int64_t tokens : attention::values_of(range)) counts[tokens] += count;
  }
  check_count(counts.size(), where);
}

void add_lines(std::map<int64_t, int64_t>& counts, std::istream& in, const std::string& file) {
  std::string line;
  for (size_t at = 1; std::getline(in, line); ++at) {
    const std::string where = fmt::format("--lengths {}:{}", file, at);
    std::vector<std::string> words;
    for (auto& word : split(line.substr(0, line.find('#')), ' '))
      if (const auto bare = trim(word); !bare.empty()) words.emplace_back(bare);
    if (words.empty()) continue;
    if (words.size() > 2) fail(where, line);
    const int64_t count = words.size() == 2 ? number(words[1], where) : 1;
    for (const auto& word : split(words[0], ',')) add_word(counts, word, count, where);
  }
}

bool is_of_lengths(const std::string& words) {
  const auto all = split(words, ',');
  return std::all_of(all.begin(), all.end(),
                     [](const auto& word) { return attention::looks_like_range(word) || parse_size(word); });
}

bool has_query_lengths(const attention::AttentionSpec& spec) {
  return spec.seqlen_q == spec.seqlen_kv && spec.seqlen_q != 1;
}

// Multiplications of the two products; the backward pass has five.
double work_at(const Shape& shape, int64_t tokens) {
  const auto& spec = shape.spec;
  const auto keys = static_cast<double>(tokens);
  const double queries = has_query_lengths(spec) ? keys : static_cast<double>(spec.seqlen_q);
  const double products = spec.pass == attention::Pass::bprop ? 2.5 : 1;
  return products * static_cast<double>(spec.batch * spec.heads_q * (spec.head_dim_qk + spec.head_dim_v)) * queries *
         keys;
}

int64_t next_multiple(int64_t tokens, int64_t of) {
  return (tokens + of - 1) / of * of;
}

int64_t next_power_of_two(int64_t tokens) {
  int64_t power = 1;
  while (power < tokens) power *= 2;
  return power;
}

using Family = std::vector<Shape>;
using Rule = std::function<std::set<int64_t>(const Family&)>;

struct Families {
  std::vector<Family> varied;  // families of several lengths that can be padded
  std::vector<Shape> fixed;
};

Families families_of(const std::vector<Shape>& shapes) {
  std::map<std::string, Family> all;
  for (const auto& shape : shapes) all[family_of(shape)].push_back(shape);
  Families families;
  for (auto& [key, family] : all) {
    const bool varies = family.size() > 1 && padded(family.front(), family.front().length.tokens);
    if (varies)
      families.varied.push_back(std::move(family));
    else
      families.fixed.insert(families.fixed.end(), family.begin(), family.end());
  }
  return families;
}

Bucketing bucketing(std::string name, const Families& families, const Rule& rule) {
  Bucketing found{std::move(name), {}, families.fixed};
  double exact = 0, rounded = 0;
  const auto add_work = [&](const Shape& shape, int64_t tokens) {
    const auto count = static_cast<double>(shape.length.count);
    exact += count * work_at(shape, shape.length.tokens);
    rounded += count * work_at(shape, tokens);
  };
  std::set<int64_t> lengths;
  for (const auto& shape : families.fixed) add_work(shape, shape.length.tokens);
  for (const auto& family : families.varied) {
    const std::set<int64_t> kept = rule(family);
    std::set<int64_t> used;
    for (const auto& shape : family) {
      const int64_t to = *kept.lower_bound(shape.length.tokens);
      add_work(shape, to);
      if (!used.insert(to).second) continue;
      found.shapes.push_back(*padded(shape, to));
      if (found.shapes.back().spec.mask.padding && !shape.spec.mask.padding) found.adds_padding = true;
    }
    lengths.insert(used.begin(), used.end());
  }
  found.lengths.assign(lengths.begin(), lengths.end());
  found.work = exact > 0 ? rounded / exact : 1;
  return found;
}

// The `most` lengths with the least work, by dynamic programming over the shapes in order of length. The last shape of
// each group determines the group's length.
std::set<int64_t> cheapest(const Family& shapes, size_t most) {
  const size_t count = shapes.size();
  std::vector<double> weight(count + 1, 0);
  for (size_t i = 0; i < count; ++i) weight[i + 1] = weight[i] + static_cast<double>(shapes[i].length.count);
  const auto group = [&](size_t first, size_t last) {
    return (weight[last + 1] - weight[first]) * work_at(shapes[last], shapes[last].length.tokens);
  };
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(most + 1, std::vector<double>(count + 1, none));
  std::vector<std::vector<size_t>> from(most + 1, std::vector<size_t>(count + 1, 0));
  best[0][0] = 0;
  for (size_t groups = 1; groups <= most; ++groups)
    for (size_t end = 1; end <= count; ++end)
      for (size_t begin = groups - 1; begin < end; ++begin) {
        const double work = best[groups - 1][begin] + group(begin, end - 1);
        if (work < best[groups][end]) {
          best[groups][end] = work;
          from[groups][end] = begin;
        }
      }
  std::set<int64_t> kept;
  size_t end = count;
  for (size_t groups = std::min(most, count); groups > 0; --groups) {
    kept.insert(shapes[end - 1].length.tokens);
    end = from[groups][end];
  }
  return kept;
}

}  // namespace

std::vector<Length> read_lengths(const std::string& words) {
  std::map<int64_t, int64_t> counts;
  if (is_of_lengths(words)) {
    for (const auto& word : split(words, ',')) add_word(counts, word, 1, "--lengths");
  } else if (words == "-") {
    add_lines(counts, std::cin, "-");
  } else {
    std::ifstream file(words);
    if (!file)
      throw Error(ErrorKind::usage,
                  fmt::format("--lengths {}: neither lengths (512, 101:220, 64:8192:64) nor a file that can be read",
                              cut(words)));
    add_lines(counts, file, words);
  }
  std::vector<Length> lengths;
  lengths.reserve(counts.size());
  for (const auto& [tokens, count] : counts) lengths.push_back({tokens, count});
  if (lengths.empty()) throw Error(ErrorKind::usage, fmt::format("--lengths {}: no lengths in it", cut(words)));
  return lengths;
}

std::vector<Shape> shapes_of(const attention::AttentionSpec& spec, const std::vector<Length>& lengths) {
  std::vector<Shape> shapes;
  shapes.reserve(lengths.size());
  for (const auto& length : lengths) {
    Shape shape{spec, length};
    if (has_query_lengths(spec)) shape.spec.seqlen_q = length.tokens;
    shape.spec.seqlen_kv = length.tokens;
    shape.spec.name = fmt::format("{}{}", spec.name.empty() ? "length " : spec.name + " ", length.tokens);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::optional<Shape> padded(const Shape& shape, int64_t tokens) {
  Shape longer = shapes_of(shape.spec, {{tokens, shape.length.count}}).front();
  auto& mask = longer.spec.mask;
  // Queries do not see later keys, so real queries see only real keys.
  const bool hides_padding =
      mask.window_right == 0 && mask.alignment == attention::Alignment::top_left && has_query_lengths(shape.spec);
  if (!hides_padding) {
    if (mask.has_diagonal() && mask.alignment == attention::Alignment::bottom_right) return std::nullopt;
    mask.padding = true;
  }
  return longer;
}

std::string family_of(const Shape& shape) {
  if (shape.given && !shape.given->is_recognised) return shape.spec.name;
  attention::AttentionSpec spec = shape.spec;
  spec.name.clear();
  if (shape.length.tokens > 0) {
    if (has_query_lengths(spec)) spec.seqlen_q = 0;
    spec.seqlen_kv = 0;
  }
  return attention::to_json(spec).dump();
}

std::vector<Bucketing> bucketings(const std::vector<Shape>& shapes) {
  const Families families = families_of(shapes);
  std::vector<Bucketing> all;
  std::set<std::vector<std::string>> seen;
  const auto add = [&](std::string name, const Rule& rule) {
    Bucketing found = bucketing(std::move(name), families, rule);
    std::vector<std::string> names;
    for (const auto& shape : found.shapes) names.push_back(family_of(shape) + std::to_string(shape.length.tokens));
    if (found.shapes.size() < shapes.size() && seen.insert(std::move(names)).second) all.push_back(std::move(found));
  };
  const auto each = [](int64_t (*round_up)(int64_t tokens, int64_t of), int64_t of) {
    return [round_up, of](const Family& family) {
      std::set<int64_t> kept;
      for (const auto& shape : family) kept.insert(round_up(shape.length.tokens, of));
      return kept;
    };
  };
  for (const int64_t of : {64, 128, 256, 512}) add(fmt::format("multiples of {}", of), each(next_multiple, of));
  add("powers of two", each([](int64_t tokens, int64_t) { return next_power_of_two(tokens); }, 0));
  // The search is quadratic in the lengths.
  constexpr size_t most_searched = 2000;
  size_t longest = 0;
  for (const auto& family : families.varied) longest = std::max(longest, family.size());
  if (longest > most_searched) return all;
  for (const size_t most : {size_t{2}, size_t{4}, size_t{8}})
    if (most < longest)
      add(fmt::format("{} lengths", most), [most](const Family& family) { return cheapest(family, most); });
  return all;
}

}  // namespace attnprobe::plans
