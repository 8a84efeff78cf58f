#include "frameworks/transformer_engine/call_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "base/version.hpp"
#include "probe/findings.hpp"

namespace attnprobe::frameworks {
namespace {

using answer::Answer;
using answer::Verdict;

// The only possible backend for a call of this type.
std::string backend_of(const TransformerEngineQuery& query) {
  return is_fp8(query) ? "FP8" : "F16_arbitrary_seqlen";
}

// Transformer Engine asks heuristic mode A whether any of its engine configs passes the support check.
const probe::EngineConfigFindings* first_of_mode_a(const Answer& result) {
  for (const auto& config : result.findings.engine_configs)
    if (config.check.supported && std::find(config.modes.begin(), config.modes.end(), "A") != config.modes.end())
      return &config;
  return nullptr;
}

bool answered(const Answer& result) {
  return !result.environment_broken && result.verdict != Verdict::crashed && result.verdict != Verdict::timeout &&
         result.verdict != Verdict::error;
}

// cuDNN's reason for not supporting one pass.
std::string reason_of(const Answer& result) {
  if (result.verdict == Verdict::supported)
    return "mode A has no engine config that works; other modes do, but Transformer Engine asks only A";
  if (!result.root_cause) return std::string(name_of(result.verdict));
  const auto& cause = *result.root_cause;
  const std::string words = cause.reason.substr(0, cause.reason.find(" at: "));
  return fmt::format("{}{}{}", cause.status, cause.status.empty() || words.empty() ? "" : ": ",
                     words.empty() && cause.status.empty() ? cause.explanation : words);
}

// cuDNN's own answer for a pass that cudnn-frontend refuses.
std::string own_words(const Answer& result) {
  if (!answered(result)) return "gave no answer";
  if (const auto* engine = first_of_mode_a(result)) return fmt::format("would run it, by engine {}", engine->engine);
  return fmt::format("refuses too: {}", reason_of(result));
}

// In Transformer Engine's order: its own rules, then for each pass cudnn-frontend and cuDNN.
void conclude(TransformerEngineAnswer& answer) {
  answer.backend = "No_Backend";
  if (!answer.refusals.empty()) {
    const auto& first = answer.refusals.front();
    answer.why =
        fmt::format("{}{}Transformer Engine refuses: {}", first.pass, first.pass.empty() ? "" : ", ", first.reason);
    return;
  }
  std::string engines;
  for (const auto& [pass, config, result] : answer.passes) {
    if (result != nullptr && result->frontend && result->frontend->refuses) {
      answer.why = fmt::format("{}, cudnn-frontend {} refuses: {} (cuDNN itself {})", pass, result->frontend->version,
                               result->frontend->message, own_words(*result));
      return;
    }
    if (result == nullptr || !answered(*result)) {
      answer.backend = "unknown";
      answer.why = fmt::format("{}, cuDNN gave no answer: {}", pass,
                               result == nullptr ? std::string("not asked") : reason_of(*result));
      return;
    }
    const auto* engine = first_of_mode_a(*result);
    if (engine == nullptr) {
      answer.why = fmt::format("{}, cuDNN refuses: {}", pass, reason_of(*result));
      return;
    }
    engines += fmt::format("{}{} by engine {}", engines.empty() ? "" : ", ", pass, engine->engine);
  }
  answer.backend = backend_of(*answer.query);
  answer.why = engines;
}

Json pass_json(const TransformerEnginePass& pass) {
  Json json = {{"pass", pass.pass}, {"config", pass.config}};
  if (pass.result == nullptr) return json;
  json["verdict"] = name_of(pass.result->verdict);
  json["mode_a"] = first_of_mode_a(*pass.result) != nullptr;
  json["frontend"] = pass.result->frontend ? Json(*pass.result->frontend) : Json();
  json["root_cause"] = pass.result->root_cause ? Json(*pass.result->root_cause) : Json();
  return json;
}

std::string origin_text(const TransformerEngineQuery& query) {
  const bool line = !query.logged_on.empty();
  std::string text = fmt::format("{}{}{}", query.origin.file,
                                 query.origin.pointer.empty() ? ""
                                 : line                       ? ":"
                                                              : ": ",
                                 query.origin.pointer);
  if (line) text += fmt::format("; logged on {}", query.logged_on);
  if (query.times > 1) text += fmt::format("; {} times", query.times);
  return text;
}

// Groups fields with the same note.
void add_notes(std::string& out, const std::string& title, const std::vector<TransformerEngineNote>& notes,
               size_t width) {
  if (notes.empty()) return;
  out += fmt::format("  {}\n", title);
  std::vector<std::pair<std::string, std::string>> lines;  // reason, fields
  for (const auto& note : notes) {
    auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == note.why; });
    if (line == lines.end()) line = lines.insert(lines.end(), {note.why, ""});
    line->second += fmt::format("{}{} = {}", line->second.empty() ? "" : ", ", note.field, note.value);
  }
  for (const auto& [why, fields] : lines) out += report::wrapped(fmt::format("{}: {}", fields, why), 4, width);
}

// Prints each note on the graphs once for all targets that share it.
void add_graph_notes(std::string& out, const std::vector<const TransformerEngineAnswer*>& answers, size_t width) {
  struct Kind {
    std::string notes;
    std::vector<const TransformerEngineAnswer*> members;
  };
  std::vector<Kind> kinds;
  for (const auto* answer : answers) {
    const std::string notes = json_text(Json{answer->changed, answer->not_seen});
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.notes == notes; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{notes, {}});
    kind->members.push_back(answer);
  }
  for (const auto& [notes, members] : kinds) {
    std::string where;
    for (const auto* member : members) where += (where.empty() ? " on " : ", ") + member->target;
    if (kinds.size() == 1) where.clear();
    add_notes(out, fmt::format("different in the graphs{}", where), members.front()->changed, width);
    add_notes(out, fmt::format("not passed to cuDNN{}", where), members.front()->not_seen, width);
  }
}

void add_query(std::string& out, const std::vector<const TransformerEngineAnswer*>& answers, size_t width) {
  const TransformerEngineQuery& query = *answers.front()->query;
  out += fmt::format("{} ({})\n", query.name, origin_text(query));
  size_t target_width = 0, backend_width = 0;
  for (const auto* answer : answers) {
    target_width = std::max(target_width, answer->target.size());
    backend_width = std::max(backend_width, answer->backend.size());
  }
  for (const auto* answer : answers) {
    const std::string head =
        fmt::format("  {:<{}}  {:<{}}  ", answer->target, target_width, answer->backend, backend_width);
    std::string why = report::wrapped(answer->why, head.size(), width);
    out += head + why.substr(std::min(head.size(), why.size()));
  }
  add_notes(out, "not given", query.defaults, width);
  add_graph_notes(out, answers, width);
  add_notes(out, "in the dump, but not a field of the call", query.outside, width);
  out += "\n";
}

}  // namespace

std::vector<TargetGroup> transformer_engine_groups(const std::vector<TransformerEngineQuery>& queries,
                                                   const std::vector<gpu::Target>& targets,
                                                   CudnnVersion cudnn_version) {
  const bool any_ragged = std::any_of(queries.begin(), queries.end(),
                                      [](const auto& query) { return ragged_q(query) || ragged_kv(query); });
  std::map<bool, TargetGroup, std::greater<>> groups;
  for (const auto& target : targets)
    groups[any_ragged && frameworks::packs_tokens({target.sm, cudnn_version})].targets.push_back(target);
  std::vector<TargetGroup> list;
  for (auto& [packed, group] : groups) {
    for (const auto& query : queries) {
      const auto graphs = transformer_engine_graphs(query, {group.targets.front().sm, cudnn_version});
      for (const auto& spec : {graphs.forward, graphs.backward})
        if (spec) group.configs.push_back({*spec, query.origin});
    }
    list.push_back(std::move(group));
  }
  return list;
}

std::vector<TransformerEngineAnswer> transformer_engine_answers(const std::vector<TransformerEngineQuery>& queries,
                                                                const std::vector<gpu::Target>& targets,
                                                                const report::Results& results,
                                                                CudnnVersion cudnn_version) {
  std::map<std::pair<std::string, std::string>, const Answer*> by_name;
  for (const Answer* result : results) by_name[{result->config.spec.name, result->target.id}] = result;
  std::vector<TransformerEngineAnswer> answers;
  for (const auto& query : queries)
    for (const auto& target : targets) {
      const TransformerEngineDevice device{target.sm, cudnn_version};
      const auto graphs = transformer_engine_graphs(query, device);
      TransformerEngineAnswer answer;
      answer.query = &query;
      answer.target = target.id;
      answer.refusals = transformer_engine_refusals(query, device);
      answer.changed = graphs.changed;
      answer.not_seen = graphs.not_seen;
      for (const auto& [pass, spec] : {std::pair("forward", graphs.forward), std::pair("backward", graphs.backward)}) {
        if (!spec) continue;
        const auto found = by_name.find({spec->name, target.id});
        answer.passes.push_back({pass, spec->name, found == by_name.end() ? nullptr : found->second});
      }
      conclude(answer);
      answers.push_back(std::move(answer));
    }
  return answers;
}

Json to_json(const std::vector<TransformerEngineAnswer>& answers) {
  Json list = Json::array();
  for (const auto& answer : answers) {
    Json passes = Json::array();
    for (const auto& pass : answer.passes) passes.push_back(pass_json(pass));
    list.push_back({{"name", answer.query->name},
                    {"origin", origin_text(*answer.query)},
                    {"query", answer.query->given},
                    {"target", answer.target},
                    {"backend", answer.backend},
                    {"why", answer.why},
                    {"passes", passes},
                    {"refusals", answer.refusals},
                    {"changed", answer.changed},
                    {"not_seen_by_cudnn", answer.not_seen},
                    {"defaults", answer.query->defaults},
                    {"outside_the_call", answer.query->outside}});
  }
  return list;
}

std::string transformer_engine_text(const std::vector<TransformerEngineAnswer>& answers, size_t width) {
  std::string out = "nvte_get_fused_attn_backend\n\n";
  for (size_t begin = 0; begin < answers.size();) {
    std::vector<const TransformerEngineAnswer*> group;
    for (size_t i = begin; i < answers.size() && answers[i].query == answers[begin].query; ++i)
      group.push_back(&answers[i]);
    add_query(out, group, width);
    begin += group.size();
  }
  return out;
}

bool lacks_backend(const std::vector<TransformerEngineAnswer>& answers) {
  return std::any_of(answers.begin(), answers.end(), [](const auto& answer) { return answer.backend == "No_Backend"; });
}

}  // namespace attnprobe::frameworks
