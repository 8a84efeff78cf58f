#include "studies/plans/length_classes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace attnprobe::plans {
namespace {

using Indices = std::vector<size_t>;

constexpr int64_t tile = 64;

// 0 for an odd length, 8 for a multiple of 256, for which B200 has its own kernels.
int level_of(int64_t tokens) {
  constexpr int64_t most = 512;
  return std::countr_zero(static_cast<uint64_t>(std::gcd(tokens, most)));
}

// Lengths by level; each level is represented by its longest.
std::map<int, Indices> levels_of(const std::vector<ClassLength>& lengths) {
  std::map<int, Indices> levels;
  for (size_t i = 0; i < lengths.size(); ++i) levels[level_of(lengths[i].tokens)].push_back(i);
  return levels;
}

// Representatives to compile, until neighbours either agree or are adjacent.
Indices next_representatives(const std::vector<ClassLength>& lengths, const std::map<int, Indices>& levels) {
  std::vector<std::pair<int, size_t>> all;
  all.reserve(levels.size());
  for (const auto& [level, members] : levels) all.emplace_back(level, members.back());
  Indices wanted;
  for (const size_t end : {all.front().second, all.back().second})
    if (!lengths[end].kernel && (wanted.empty() || wanted.front() != end)) wanted.push_back(end);
  if (!wanted.empty()) return wanted;
  std::optional<size_t> before;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!lengths[all[i].second].kernel) continue;
    if (before && i - *before > 1 && lengths[all[*before].second].kernel != lengths[all[i].second].kernel) {
      // Kernels differ most often between tiles and parts of tiles.
      const bool is_tile = (int64_t{1} << all[i].first) >= tile;
      wanted.push_back(all[is_tile ? i - 1 : (*before + i) / 2].second);
    }
    before = i;
  }
  return wanted;
}

// Precondition: next_representatives() is empty, or compiling has ended.
std::vector<Indices> groups_of(const std::vector<ClassLength>& lengths, Grouping grouping) {
  std::vector<Indices> groups;
  std::optional<std::string> kernel;
  for (const auto& [level, members] : levels_of(lengths)) {
    const auto& own = lengths[members.back()].kernel;
    const bool agrees = !own || own == kernel;
    if (groups.empty() || grouping == Grouping::each_level || !agrees) groups.emplace_back();
    if (own) kernel = own;
    groups.back().insert(groups.back().end(), members.begin(), members.end());
  }
  for (auto& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

// The length to compile between two compiled neighbours with different kernels.
size_t between(const std::vector<ClassLength>& lengths, const Indices& group, size_t low, size_t high) {
  const auto tokens = [&](size_t i) { return lengths[group[i]].tokens; };
  std::optional<size_t> found;
  int roundness = -1;
  for (int64_t bound = (tokens(low) + tile - 1) / tile * tile; bound < tokens(high); bound += tile) {
    size_t last = low;  // up to the bound
    const auto above = std::upper_bound(group.begin() + static_cast<std::ptrdiff_t>(low),
                                        group.begin() + static_cast<std::ptrdiff_t>(high), bound,
                                        [&](int64_t value, size_t i) { return value < lengths[i].tokens; });
    last = static_cast<size_t>(above - group.begin()) - 1;
    if (last == low && last + 1 == high) continue;
    const int own = std::countr_zero(static_cast<uint64_t>(bound));
    if (own <= roundness) continue;
    roundness = own;
    found = last > low ? last : last + 1;
  }
  return found.value_or((low + high) / 2);
}

void add_next(const std::vector<ClassLength>& lengths, const Indices& group, Indices& wanted) {
  if (!lengths[group.front()].kernel) wanted.push_back(group.front());
  std::optional<size_t> before;
  for (size_t i = 0; i < group.size(); ++i) {
    const auto& kernel = lengths[group[i]].kernel;
    if (!kernel) continue;
    if (before && i - *before > 1 && lengths[group[*before]].kernel != kernel)
      wanted.push_back(group[between(lengths, group, *before, i)]);
    before = i;
  }
  const auto end_of_tile = [](int64_t tokens) { return (tokens + tile - 1) / tile * tile; };
  const int64_t last = lengths[group.back()].tokens;
  if (group.size() > 1 && (!before || end_of_tile(lengths[group[*before]].tokens) < last))
    wanted.push_back(group.back());
}

}  // namespace

std::vector<size_t> next_to_compile(const std::vector<ClassLength>& lengths, Grouping grouping) {
  Indices wanted;
  if (lengths.empty()) return wanted;
  if (grouping == Grouping::levels_that_agree) wanted = next_representatives(lengths, levels_of(lengths));
  if (!wanted.empty()) return wanted;
  for (const auto& group : groups_of(lengths, grouping)) add_next(lengths, group, wanted);
  return wanted;
}

std::vector<std::optional<std::string>> kernels_of(const std::vector<ClassLength>& lengths, Grouping grouping) {
  std::vector<std::optional<std::string>> kernels(lengths.size());
  for (const auto& group : groups_of(lengths, grouping)) {
    std::optional<std::string> last;
    for (const size_t i : group) {
      if (lengths[i].kernel) last = lengths[i].kernel;
      kernels[i] = last;
    }
  }
  return kernels;
}

}  // namespace attnprobe::plans
