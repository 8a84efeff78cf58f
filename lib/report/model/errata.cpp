#include "report/model/errata.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/version.hpp"
#include "cudnn/library_info.hpp"
#include "probe/steps.hpp"

namespace attnprobe::report {
namespace {

constexpr std::array forms{TagForm::names, TagForm::underscores};

/// None for operations that cudnn-frontend adds as raw descriptors.
std::optional<std::string> operation_tag(const graph::Operation& operation) {
  if (const auto* pointwise = std::get_if<graph::Pointwise>(&operation)) return std::string(name_of(pointwise->mode));
  if (std::holds_alternative<graph::Matmul>(operation)) return "Matmul";
  if (std::holds_alternative<graph::Reduction>(operation)) return "Reduction";
  if (std::holds_alternative<graph::Reshape>(operation)) return "Reshape";
  if (std::holds_alternative<graph::Rng>(operation)) return "Rng";
  if (std::holds_alternative<graph::PagedCacheLoad>(operation)) return "";
  return std::nullopt;
}

/// A knob missing from the headers has its number as name.
int64_t knob_number(const std::string& name) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number;
  return static_cast<int64_t>(probe::knob_type(name));
}

/// "k14=2", "k24=31": in ascending order, as cuDNN returns the knobs of its heuristics' engine configs.
std::vector<std::string> knob_texts(const probe::Knobs& knobs) {
  std::map<int64_t, int64_t> by_number;
  for (const auto& [name, value] : knobs) by_number[knob_number(name)] = value;
  std::vector<std::string> texts;
  texts.reserve(by_number.size());
  for (const auto& [number, value] : by_number) texts.push_back(fmt::format("k{}={}", number, value));
  return texts;
}

struct Fault {
  std::string status, message;
};

bool crashed_at(const answer::Answer& result, const probe::EngineConfigFindings& config) {
  using probe::Step;
  return result.verdict == answer::Verdict::crashed && result.crash &&
         (result.crash->stage.is_at(Step::plan, config) || result.crash->stage.is_at(Step::run, config));
}

std::optional<Fault> fault_of(const answer::Answer& result, const probe::EngineConfigFindings& config) {
  using probe::RunStatus;
  constexpr std::array faults{RunStatus::crashed, RunStatus::timeout, RunStatus::wrong_result, RunStatus::cuda_error};
  if (config.run && std::find(faults.begin(), faults.end(), config.run->status) != faults.end())
    return Fault{std::string(name_of(config.run->status)), config.run->message};
  if (config.plan && outcome_of(*config.plan) == probe::PlanOutcome::crashed)
    return Fault{"crashed", "when the plan was built"};
  if (crashed_at(result, config)) return Fault{"crashed", result.crash->how + " at " + result.crash->stage.text};
  return std::nullopt;
}

/// One failed engine config, on graphs of one tag, with one cuDNN, on one SM.
struct Faulty {
  std::array<std::string, forms.size()> tags;
  int64_t engine = 0;
  probe::Knobs knobs;
  CudnnVersion cudnn_version;
  int sm = 0;
  std::vector<std::string> statuses;  ///< without duplicates
  Json seen = Json::array();

  bool same_as(const Faulty& other) const {
    return tags == other.tags && engine == other.engine && knobs == other.knobs &&
           cudnn_version == other.cudnn_version && sm == other.sm;
  }
};

struct RanRight {
  std::array<std::string, forms.size()> tags;
  std::string name;
  CudnnVersion cudnn_version;
};

struct Sorted {
  std::vector<Faulty> faulty;
  std::vector<RanRight> right;
};

std::array<std::string, forms.size()> tags_of(const graph::OpGraph& graph) {
  std::array<std::string, forms.size()> tags;
  for (size_t i = 0; i < forms.size(); ++i) tags[i] = tag_of(graph, forms[i]);
  return tags;
}

void add_fault(std::vector<Faulty>& all, Faulty faulty, const Fault& fault, const answer::Answer& result) {
  auto found = std::find_if(all.begin(), all.end(), [&](const Faulty& other) { return faulty.same_as(other); });
  if (found == all.end()) found = all.insert(all.end(), std::move(faulty));
  if (std::find(found->statuses.begin(), found->statuses.end(), fault.status) == found->statuses.end())
    found->statuses.push_back(fault.status);
  found->seen.push_back({{"status", fault.status},
                         {"message", fault.message},
                         {"config", result.config.spec.name},
                         {"target", result.target.id},
                         {"gpu", result.target.name},
                         {"reproduce", result.reproduce}});
}

Sorted sort_out(const Results& results) {
  Sorted sorted;
  for (const auto* result : results) {
    const auto tags = tags_of(result->graph.graph);
    for (const auto& config : result->findings.engine_configs) {
      if (const auto fault = fault_of(*result, config))
        add_fault(sorted.faulty, {tags, config.engine, config.knobs, result->cudnn_version, result->target.sm, {}},
                  *fault, *result);
      else if (config.run && config.run->status == probe::RunStatus::ok)
        sorted.right.push_back({tags, plan_name(config.engine, config.knobs), result->cudnn_version});
    }
  }
  return sorted;
}

/// Decides like check_rule() of cudnn_frontend_Errata.h.
bool blocks(const std::string& operation, const Faulty& faulty, const std::string& plan_tag) {
  if (!(plan_tag + "_").starts_with(fmt::format("{}_eng{}_", operation, faulty.engine))) return false;
  const auto knobs = knob_texts(faulty.knobs);
  return std::all_of(knobs.begin(), knobs.end(),
                     [&](const std::string& knob) { return plan_tag.find(knob) != std::string::npos; });
}

std::string rule_id(const Faulty& faulty) {
  return fmt::format("{}: {}, sm_{}, cuDNN {}", plan_name(faulty.engine, faulty.knobs),
                     fmt::join(faulty.statuses, ", "), faulty.sm, faulty.cudnn_version.text());
}

Json for_people(const Faulty& faulty) {
  return {{"arch", fmt::format("sm_{}", faulty.sm)},
          {"plan_name", plan_name(faulty.engine, faulty.knobs)},
          {"seen", faulty.seen}};
}

Json rule(const Faulty& faulty, size_t form, const std::vector<RanRight>& right) {
  const std::string operation = faulty.tags[form].substr(0, faulty.tags[form].size() - 1);
  Json json = {
      {"rule_id", rule_id(faulty) + (forms[form] == TagForm::names ? ", tag with names" : ", tag without names")},
      {"operation", operation},
      {"engine", faulty.engine},
      {"knob", knob_texts(faulty.knobs)},
      {"cudnn_version_start", faulty.cudnn_version.number()},
      {"cudnn_version_end", faulty.cudnn_version.number() + 1}};
  json.update(for_people(faulty));
  json["also_blocks"] = Json::object();
  for (const auto& ran : right)
    if (ran.cudnn_version == faulty.cudnn_version && blocks(operation, faulty, ran.tags[form] + ran.name))
      json["also_blocks"][ran.name] = json["also_blocks"].value(ran.name, 0) + 1;
  return json;
}

Json not_expressible(const Faulty& faulty) {
  Json json = {{"rule_id", rule_id(faulty)}};
  json.update(for_people(faulty));
  return json;
}

}  // namespace

std::string tag_of(const graph::OpGraph& graph, TagForm form) {
  std::string tag;
  for (const auto& operation : graph.operations)
    if (const auto name = operation_tag(operation)) tag += (form == TagForm::names ? *name : "") + "_";
  return tag;
}

std::string plan_name(int64_t engine, const probe::Knobs& knobs) {
  std::string name = fmt::format("eng{}", engine);
  for (const auto& knob : knob_texts(knobs)) name += "_" + knob;
  return name;
}

Json errata(const Results& results) {
  const Sorted sorted = sort_out(results);
  Json json = {{"version", 1}, {"rules", Json::array()}, {"not_expressible", Json::array()}};
  for (const auto& faulty : sorted.faulty) {
    if (faulty.tags.front().empty())
      json["not_expressible"].push_back(not_expressible(faulty));
    else
      for (size_t form = 0; form < forms.size(); ++form) json["rules"].push_back(rule(faulty, form, sorted.right));
  }
  return json;
}

}  // namespace attnprobe::report
