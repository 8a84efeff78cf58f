// Reads the GPUs of a text, by their names and by compute capability.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/placed_facts.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::explain {

namespace {

// "T4: we know it can't, ignore it."
bool is_set_aside(std::string_view text, size_t at) {
  static const RE2 set_aside(
      "^[^.;\\n]{0,80}\\b(?:ignore (?:it|that|them|those)|(?:leave|left|put|set) (?:it|that|them) aside|taken (?:it |them )?out|out of scope)\\b",
      any_case());
  return has_words(text.substr(at), set_aside);
}

}  // namespace

bool is_left_behind(const PlacedFacts& place, size_t at) {
  static const RE2 from("\\b(?:from|swapp(?:ed|ing)|replac(?:ed|ing)) (?:an? |the |our |my )?(?:\\d+ ?x ?|cudnn )?$",
                        any_case());
  static const RE2 of_others(
      "\\b(?:colleagues?|friends?|co-?workers?|teammates?|neighbou?r|brother|someone(?: else)?|people say|docs?|documentation|blog|article|paper)\\b(?:'s?)? (?:\\w+ ){0,3}(?:with |only |even )?(?:an? |the )?$",
      any_case());
  return is_contrast(place.text, at) || has_words(letters_before(place.text, at, 24), from) ||
         has_words(letters_before(place.text, at, 56), of_others);
}

void add_gpus(PlacedFacts& place) {
  static const RE2 names(
      "\\b(?:\\d{1,4} ?x ?)?((?:RTX|GTX) ?(?:PRO |A)?\\d{4}(?: ?Ti| ?SUPER| D| Ada)*|GB?[23]00|[2345]0[678]0 ?Ti(?: ?SUPER)?|GH200|H[128]00|H20|B[123]00|A[18]00|L40S?|Orin(?: NX)?|"
      "GB10|DGX Spark|Jetson (?:AGX )?Thor|Thor (?:devkit|dev kit|developer kit))s?\\b",
      any_case());
  // Short names also have other meanings, so they count only after the vendor's name or an article.
  static const RE2 short_names(
      "(?:NVIDIA|Tesla|\\b[Ee]in(?:e[rmn]?)?|\\b[Dd]e[rmn]|\\b[Aa]uf|\\b[Ss]ur|\\b[Uu]ne?|\\xe3\\x81\\xae|\\b[Oo]n|\\b[Aa]n?|[Gg][Pp][Uu]:?|\\b[Mm]y|\\b[Oo]ur|\\b[Tt]he|\\b[Nn]ew|\\b[Tt]o|\\bColab-?|\\bGB|[.,(|/;:]|(?:^|\\n)|\\d ?x) ?((?:[ALTV]\\d{1,3}G?|[345]0[5-9]0(?: Ti)?)\\b)",
      exact_case());
  static const RE2 family(
      "\\b(?:[Oo]n|[Mm]y|[Oo]ur|[Aa]n?) (?:an? )?(Volta|Turing|Ampere|Ada|Hopper)\\b|\\b(Volta|Turing|Ampere|Ada|Hopper|volta|turing|ampere|ada|hopper) (?:card|GPU|gpu|node|machine|device)s?\\b",
      exact_case());
  static constexpr std::pair<std::string_view, const char*> one_of_family[] = {
      {"Volta", "v100"}, {"Turing", "t4"}, {"Ampere", "a100"}, {"Ada", "l40s"}, {"Hopper", "h100"}};
  // GPUs that are not in the catalogue.
  static const Worded<int> series[] = {
      {61, "\\b(GTX ?10\\d\\d|10[678]0 ?Ti|Quadro P\\d{3,4}|Tesla P40|P40)\\b"},
      {60, "\\b((?:Tesla )?P100|GP100)\\b"},
      {53, "\\b(Jetson (?:Nano|TX1))\\b"},
      {72, "\\b((?:Jetson )?(?:AGX )?Xavier)\\b"},
      {75, "\\b((?:GTX|RTX) ?(?:16|20)\\d\\d(?: ?Ti| ?SUPER)*|20[678]0 ?Ti|TITAN RTX|Quadro RTX \\d{4})\\b"},
      {86, "\\b(RTX ?30\\d\\d(?: ?Ti| ?SUPER)*|RTX A\\d{4}|A(?:2000|4000|4500|5000|5500|6000|10G|16))\\b"},
      {89, "\\b(RTX ?40\\d\\d(?: ?Ti| ?SUPER| ?D)*)\\b"},
      {120, "\\b((?:RTX ?)?50[5-9]0(?: ?Ti| ?D| ?SUPER)*)\\b"}};
  struct NamedGpu {
    size_t at;
    std::string id;
    bool is_left;
  };
  std::vector<NamedGpu> found;
  const auto add = [&](size_t at, const std::string& id) {
    if (!is_set_aside(place.text, at)) found.push_back({at, id, is_left_behind(place, at)});
  };
  const auto take = [&](const std::string* words, size_t at) {
    std::string name = words[1];
    if (name.find("Thor") != std::string::npos) name = "thor";
    const gpu::Target* target = gpu::find(name);
    const size_t begin = at + words[0].size() - words[1].size();
    if (target != nullptr && !is_demanded(place.text, begin)) add(begin, target->id);
  };
  each_match(names, place.text, take);
  each_match(short_names, place.text, take);
  const bool has_names = !found.empty() || std::ranges::any_of(series, [&](const Worded<int>& one) {
    return has_words(place.text, one.words);
  });
  each_match(family, place.text, [&](const std::string* words, size_t at) {
    if (has_names) return;
    // Those of a release note: "supported on Hopper GPUs".
    if (words[0].ends_with(" GPUs") || place.text.substr(at + words[0].size()).starts_with(" GPUs")) return;
    const std::string named = in_small_letters(first_group(words));
    for (const auto& [name, target] : one_of_family)
      if (named == in_small_letters(name) && !is_demanded(place.text, at)) add(at, target);
  });
  std::ranges::stable_sort(found, {}, &NamedGpu::at);
  // A question that names one GPU is about it, whatever GPU the text names before.
  std::set<std::string> asked, present;
  for (const auto& [at, id, is_left] : found) {
    if (is_left) continue;
    present.insert(id);
    static const RE2 why("\\b(?:why|how come|because|since)\\b", any_case());
    const std::string_view sentence = sentence_at(place.text, at);
    if (sentence.ends_with('?') && !has_words(sentence, why)) asked.insert(id);
  }
  if (asked.size() == 1)
    std::stable_partition(found.begin(), found.end(), [&](const auto& one) { return asked.contains(one.id); });
  place.facts.asks_on_nvidia = place.facts.asks_on_nvidia || !asked.empty();
  place.facts.has_several_gpus = place.facts.has_several_gpus || (asked.size() != 1 && present.size() > 1);
  for (const auto& [at, id, is_left] : found) place.add(is_left ? place.gpus : place.facts.gpus, id, at);
  for (const Worded<int>& one : series)
    each_match(one.words, place.text, [&](const std::string* name, size_t at) {
      if (gpu::find(name[1]) != nullptr || is_demanded(place.text, at) || is_left_behind(place, at)) return;
      add_fact(place.facts.sms, one.key);
      place.facts.has_several_gpus = place.facts.has_several_gpus || !present.empty();
    });
  static const RE2 others(
      "\\b(ZLUDA|(?:AMD )?Radeon(?: (?:RX|Pro|VII))?(?: \\d{3,4}(?: ?XTX?| ?GRE)?)?|(?:RX ?)?[5-9]\\d00 ?XTX?|RX ?[5-9]\\d00|gfx\\d{3,4}[a-z]?|Instinct|"
      "hip(?:Error\\w+|DNN)|(?i:mi[123]\\d\\dx?)|(?i:amd instinct)|Radeon Pro W\\d{4}|W7[89]00|Intel (?:Data Center )?(?:GPU )?Max|Enflame|T-Head|PPU|Moore Threads|MTT S\\d+|MUSA|Biren|Hygon|Iluvatar|Cambricon|MLU\\d{3}|Kunlun|TPU ?v\\d\\w?|Trainium|Inferentia|Adreno|MetaX|HIP error|MIOpen|Apple (?:M\\d|Silicon)|MPS backend|Intel Arc|torch\\.xpu|Gaudi|Ascend|Ascend ?910[A-C]?|torch_npu|aclnn\\w*|XPU|torch-xpu-ops)\\b",
      exact_case());
  // Titles, sources, and collect_env's lines for other builds.
  static const Worded<const char*> builds[] = {
      {"ROCm",
       "\\A[^\\n]*\\bROCm\\b|\\bROCM used to build PyTorch: \\d|\\bHIP runtime version: \\d|/transformers/hip/"},
      {"macOS",
       "\\bOS: macOS\\b|\\bmacOS \\d|\\bM[1-5] (?:Pro|Max|Ultra)\\b|\\b(?:device(?:\\(| ?= ?)|\\.to\\()['\"]mps['\"]|\\bon mps\\b|\\bdevice [`'\"]?mps\\b"},
      {"Ascend", "\\xe6\\x98\\x87\\xe8\\x85\\xbe|\\b910B\\b"},
      {"XPU", "_xpu_|(?:\\bdevice(?:\\(| ?= ?)|\\.to\\()['\"]xpu['\"]|--device xpu\\b"},
      {"PyTorch without CUDA", "\\bCUDA used to build PyTorch: (?:None|Could not collect)"}};
  size_t first = std::string_view::npos;
  for (const NamedGpu& one : found)
    if (!one.is_left) first = std::min(first, one.at);
  const auto add_other = [&](const std::string& name, size_t at) {
    place.add(place.facts.other_gpus, name, at);
    place.facts.is_other_gpu_first =
        place.facts.is_other_gpu_first || (at < first && !is_left_behind(place, at) && !is_demanded(place.text, at));
  };
  for (const Worded<const char*>& build : builds)
    each_match(build.words, place.text,
               [&](const std::string* words, size_t at) { add_other(build.key, at + words[0].size() - 1); });
  // PyTorch's collect_env has lines for AMD on every machine.
  static const RE2 not_here("^[^\\n:]{0,40}: N/A", exact_case());
  each_match(others, place.text, [&](const std::string* words, size_t at) {
    if (!has_words(place.text.substr(at, 64), not_here)) add_other(words[1], at);
  });
  static const RE2 zluda("zluda", any_case());
  each_match(zluda, place.text, [&](const std::string*, size_t at) { place.add(place.facts.other_gpus, "ZLUDA", at); });
}

void add_sms(PlacedFacts& place) {
  static const RE2 of_engines("smVersion[\"']*\\s*[:=]\\s*(\\d{3,4})\\b", any_case());
  each_match(of_engines, place.text, [&](const std::string* words, size_t) {
    add_fact(place.facts.sms, static_cast<int>(number_in(words[1]) / 10));
  });
  // From messages about the present GPU, not about a requirement.
  static const RE2 of_gpus(
      "(?:Attempting to run on a sm ?|with CUDA capability sm_|Current SM version: |device_compute_capability\\W{1,4}|"
      "compute[_ ]capability[^\\w<>!]{1,5})(?:sm_?)?(\\d\\d?)[., ]{0,2}(\\d)\\b",
      any_case());
  each_match(of_gpus, place.text, [&](const std::string* words, size_t at) {
    constexpr int least = 30;  // older GPUs ran no cuDNN of this decade
    const int sm = static_cast<int>(number_in(words[1]) * 10 + number_in(words[2]));
    static const RE2 is_least("^ ?(?:or (?:higher|newer|above|later)|\\+|(?:is |are )?(?:required|needed))",
                              any_case());
    if (!is_demanded(place.text, at) && !has_words(place.text.substr(at + words[0].size(), 24), is_least) &&
        sm >= least)
      add_fact(place.facts.sms, sm);
  });
  // "GPU: RTX 4080 SUPER, sm_89 (Ada)", "fails on sm_120".
  static const RE2 of_prose(
      "(?:\\b(?:fails?|crash\\w*|works?|run(?:s|ning)?|tested|seen|refus\\w+) on (?:an? )?|\\bGPU\\b[^\\n.;]{0,40}[ (,:]|\\b(?:RTX|GTX|GB10|Spark|Thor|Orin)\\b[^\\n.;]{0,40}[ (,:])sm_?(\\d{2,3})a?\\b",
      any_case());
  each_match(of_prose, place.text, [&](const std::string* words, size_t at) {
    if (!is_demanded(place.text, at)) add_fact(place.facts.sms, static_cast<int>(number_in(words[1])));
  });
  // Without a GPU's name: "On SM100 the path skips pages", but not "is supported on SM100".
  static const RE2 there("\\bon (?:an? |the )?sm_?(\\d{2,3})[af]?\\b", any_case()),
      support(
          "\\b(?:support\\w*|available|enabled|disabled|skipped|limited|added|new|kernels?|wheels?|code|binary|binaries) $",
          any_case());
  const auto take = [&](const std::string* words, size_t at) {
    if (place.facts.all_sms().empty() && !is_demanded(place.text, at) && !is_contrast(place.text, at) &&
        !has_words(letters_before(place.text, at, 16), support))
      add_fact(place.facts.sms, static_cast<int>(number_in(words[1])));
  };
  each_match(there, place.text, take);
  // "SM100, d128 bf16", "(SM 10.0)"
  static const RE2 bare("(?m)(?:^|[(,] ?)sm_?(\\d{2,3})[af]?(?:[,)]| boards?\\b| GPUs?\\b)", any_case());
  each_match(bare, place.text, take);
}

}  // namespace attnprobe::explain
