#include "gpu/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_targets;
}

namespace attnprobe::gpu {
namespace {

// The part of a name that identifies the GPU: 4090 in "NVIDIA GeForce RTX 4090", "rtx4090" and "RTX 4090".
std::string core_of(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view maker : {"nvidia", "geforce", "tesla", "quadro", "rtx"})
    if (const size_t at = text.find(maker); at != std::string::npos && text.size() > maker.size())
      text.erase(at, maker.size());
  return text;
}

bool is_called(const Target& target, const std::string& core) {
  const auto is_it = [&](const std::string& name) { return core_of(name) == core; };
  return is_it(target.id) || is_it(target.name) || is_it(target.properties.value("deviceName", "")) ||
         std::any_of(target.aliases.begin(), target.aliases.end(), is_it);
}

// The compute capability in "sm_89", "sm89" or "8.9"; 0 for any other word.
int sm_of(const std::string& word) {
  std::string digits = word.starts_with("sm_") ? word.substr(3) : word.starts_with("sm") ? word.substr(2) : "";
  if (const size_t dot = word.find('.'); digits.empty() && dot != std::string::npos && dot + 2 == word.size())
    digits = word.substr(0, dot) + word.substr(dot + 1);
  return parse_number<int>(digits).value_or(0);
}

// The targets of a compute capability or an architecture ("hopper").
std::vector<Target> family(const std::string& word) {
  const int sm = sm_of(word);
  std::vector<Target> members;
  for (const Target& target : catalogue())
    if (target.sm == sm || (!target.architecture.empty() && core_of(target.architecture) == core_of(word)))
      members.push_back(target);
  return members;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names{"all", "representative", "each-sm", "device:0", "device:all"};
  for (const auto& t : catalogue()) {
    names.push_back(t.id);
    names.insert(names.end(), t.aliases.begin(), t.aliases.end());
  }
  return names;
}

bool is_file(const std::string& word) {
  const auto ends = [&](const char* ending) { return word.ends_with(ending); };
  return word.find('/') != std::string::npos || ends(".json") || ends(".json.gz") || ends(".json.xz");
}

// One target per compute capability: the representative target, otherwise the first by id. GPUs of one compute
// capability have the same or almost the same answers (docs/guide.md), and each additional GPU costs time.
std::vector<Target> one_of_each_sm() {
  std::vector<Target> some;
  for (const Target& target : catalogue()) {
    if (some.empty() || some.back().sm != target.sm)
      some.push_back(target);
    else if (target.representative)
      some.back() = target;
  }
  return some;
}

// Whether both are the same GPU for cuDNN and reports; ignores the sources of the numbers.
bool same_gpu(const Target& a, const Target& b) {
  return a.kind == b.kind && a.name == b.name && a.sm == b.sm && a.uuid == b.uuid &&
         nlohmann::json(a.properties) == nlohmann::json(b.properties) && a.matmul_rates == b.matmul_rates;
}

std::string place_of(const Target& target) {
  if (!target.file.empty()) return target.file;
  return target.kind == Kind::device ? "this machine's GPU" : "attnprobe's own";
}

std::vector<Target> selected(const std::string& word) {
  if (is_file(word)) return {load_target(word)};
  if (word == "all") return catalogue();
  if (word == "representative") {
    std::vector<Target> some;
    std::copy_if(catalogue().begin(), catalogue().end(), std::back_inserter(some),
                 [](const Target& t) { return t.representative; });
    return some;
  }
  if (word == "each-sm") return one_of_each_sm();
  if (const Target* known = find(word)) return {*known};
  if (auto members = family(word); !members.empty()) return members;
  throw Error(
      ErrorKind::usage,
      fmt::format(
          "--target: \"{}\" is not a target{}; allowed: device:0, device:all, all, representative, each-sm, a GPU of "
          "`attnprobe targets list`, an architecture or sm_90, or a .json file",
          word, did_you_mean(word, known_names())));
}

}  // namespace

const std::vector<Target>& catalogue() {
  static const std::vector<Target> all = [] {
    std::vector<Target> targets;
    for (const auto& [name, text] : embedded_targets) {
      targets.push_back(parse_target(text, "configs/targets/" + std::string(name)));
      targets.back().file.clear();
    }
    std::sort(targets.begin(), targets.end(),
              [](const Target& a, const Target& b) { return std::tie(a.sm, a.id) < std::tie(b.sm, b.id); });
    return targets;
  }();
  return all;
}

const Target* find(const std::string& id) {
  for (const auto& t : catalogue())
    if (t.id == id || std::find(t.aliases.begin(), t.aliases.end(), id) != t.aliases.end()) return &t;
  // Accepts a loose spelling if only one GPU matches. An id takes precedence over another board with the same name in
  // the driver ("Orin").
  const std::string core = core_of(id);
  for (const auto& t : catalogue())
    if (!core.empty() && core_of(t.id) == core) return &t;
  const Target* found = nullptr;
  for (const auto& t : catalogue()) {
    if (core.empty() || !is_called(t, core)) continue;
    if (found != nullptr) return nullptr;
    found = &t;
  }
  return found;
}

const Target* twin(const Target& target) {
  if (const Target* same = find(target.id)) return same;
  for (const auto& t : catalogue())
    if (target.kind == Kind::device && t.properties["deviceName"] == target.name) return &t;
  return nullptr;
}

std::string id_or_name(const Target& target) {
  const Target* same = twin(target);
  return same != nullptr ? same->id : target.name;
}

std::map<std::string, int> matmul_rates(const std::string& name, int sm) {
  const auto is_geforce = [](const std::string& board) { return board.find("GeForce") != std::string::npos; };
  const auto reported = [](const Target& t) { return t.properties.value("deviceName", t.name); };
  const Target* same_chip = nullptr;
  for (const Target& t : catalogue()) {
    if (t.sm != sm || t.matmul_rates.empty()) continue;
    if (reported(t) == name) return t.matmul_rates;
    const bool better = same_chip == nullptr || (is_geforce(reported(*same_chip)) != is_geforce(name) &&
                                                 is_geforce(reported(t)) == is_geforce(name));
    if (better) same_chip = &t;
  }
  if (same_chip == nullptr) return {};
  std::map<std::string, int> rates = same_chip->matmul_rates;
  const bool halved = is_geforce(reported(*same_chip));
  if (is_geforce(name) != halved)
    for (auto& [type, rate] : rates)
      if (type != "f32") rate = halved ? rate * 2 : rate / 2;
  return rates;
}

void add_target(std::vector<Target>& targets, Target target) {
  const auto known =
      std::find_if(targets.begin(), targets.end(), [&](const Target& have) { return have.id == target.id; });
  if (known == targets.end()) {
    targets.push_back(std::move(target));
    return;
  }
  if (same_gpu(*known, target)) return;
  const std::string& file = target.file.empty() ? known->file : target.file;
  throw Error(ErrorKind::usage,
              fmt::format("--target: two targets are called \"{}\" and differ: {} and {}; give {} a different \"id\"",
                          target.id, place_of(*known), place_of(target), file));
}

std::vector<Target> simulated_targets(const std::string& selection) {
  std::vector<Target> targets;
  for (const auto& word : split(selection, ','))
    for (auto& t : selected(word)) add_target(targets, std::move(t));
  return targets;
}

}  // namespace attnprobe::gpu
