// A matrix as one HTML page: the page's files are built in, and the cells are JSON.
#include <fmt/format.h>

#include "base/text.hpp"
#include "report/formats/format.hpp"
#include "report/formats/html_page.hpp"
#include "report/formats/run_text.hpp"
#include "report/model/measurements.hpp"

namespace attnprobe::report {
namespace {

Json value_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

class Payload {
 public:
  explicit Payload(const CellTable& table) : table_(table) {}

  Json make() {
    Json payload = {{"title", table_.axes.title.empty() ? "attnprobe" : table_.axes.title},
                    {"tool", "attnprobe " + tool_version()},
                    {"command", table_.axes.command},
                    {"targets", targets()},
                    {"cudnns", cudnns()},
                    {"measurements", measured()},
                    {"configs", configs()}};
    Json answers = Json::array();
    for (const auto& answer : table_.answers) answers.push_back(answer_json(answer));
    payload["cells"] = cells();
    payload["texts"] = texts_.take();
    payload["engines"] = engines_.take();
    payload["answers"] = std::move(answers);
    return payload;
  }

 private:
  Json targets() const {
    Json list = Json::array();
    for (size_t t = 0; t < table_.axes.targets.size(); ++t) {
      const MatrixAxes::Target& target = table_.axes.targets[t];
      list.push_back({{"id", target.id},
                      {"name", target.name},
                      {"sm", target.sm},
                      {"kind", target.kind},
                      {"word", table_.target_words[t]},
                      {"family", target.architecture.empty() ? fmt::format("sm_{}", target.sm) : target.architecture}});
    }
    return list;
  }

  Json cudnns() const {
    Json list = Json::array();
    for (size_t v = 0; v < table_.axes.cudnns.size(); ++v)
      list.push_back({{"version", table_.axes.cudnns[v]}, {"word", table_.cudnn_words[v]}});
    return list;
  }

  Json measured() const {
    Json list = Json::array();
    for (const Measurement& each : measurements())
      if (!each.in_page.empty()) list.push_back({{"key", each.in_page}, {"unit", each.unit}});
    return list;
  }

  // The commands have no target; the page adds the options for GPU and cuDNN.
  Json configs() const {
    Json list = Json::array();
    for (size_t c = 0; c < table_.configs.size(); ++c) {
      const CellConfig& config = table_.configs[c];
      list.push_back({{"name", table_.axes.configs[c]},
                      {"summary", config.summary},
                      {"pattern", config.pattern},
                      {"pass", config.pass},
                      {"dtype", config.dtype},
                      {"source", config.source},
                      {"command", config.command},
                      {"fields", config.fields}});
    }
    return list;
  }

  Json engine_json(const CellEngine& engine) {
    Json json = {{"e", engine.engine},
                 {"k", engine.knobs},
                 {"m", engine.modes},
                 {"ok", engine.viable},
                 {"s", engine.status},
                 {"r", texts_.text(engine.reason)},
                 {"ws", value_or_null(engine.workspace_bytes)},
                 {"plan", value_or_null(std::string(name_of(engine.plan)))},
                 {"run", value_or_null(engine.run)}};
    for (const auto& kernel : engine.kernels) json["kn"].push_back(texts_.text(plan_kernel_text(kernel)));
    for (const Measurement& measured : measurements())
      if (!measured.in_page.empty()) json[std::string(measured.in_page)] = value_or_null(engine.figure(measured.key));
    return json;
  }

  Json all_texts(const std::vector<std::string>& lines) {
    Json list = Json::array();
    for (const auto& line : lines) list.push_back(texts_.text(line));
    return list;
  }

  // Each note is [kind, text, source].
  Json all_of(const std::vector<CellObstacle>& list) {
    Json rows = Json::array();
    for (const CellObstacle& one : list)
      rows.push_back(Json::array({one.kind, texts_.text(one.text), texts_.text(one.source)}));
    return rows;
  }

  Json answer_json(const CellAnswer& answer) {
    Json modes = Json::array(), engines = Json::array();
    for (const auto& mode : answer.modes)
      modes.push_back(Json::array({mode.mode, mode.candidates, mode.viable, mode.status}));
    for (const auto& engine : answer.engines) engines.push_back(engines_.index(engine_json(engine)));
    Json frameworks = Json::array();
    for (const CellFramework& framework : answer.frameworks)
      frameworks.push_back({{"title", framework.title},
                            {"takes", framework.takes},
                            {"text", texts_.text(framework.text)},
                            {"instead", texts_.text(framework.instead)},
                            {"changes", all_texts(framework.changes)},
                            {"notes", all_texts(framework.notes)}});
    return {{"v", name_of(outcome_word(answer))},
            {"but", all_of(answer.but)},
            {"met", !is_missed(answer)},
            {"expect", answer.expect},
            {"n", answer.viable},
            {"c", answer.candidates},
            {"category", answer.category},
            {"status", answer.status},
            {"reason", texts_.text(answer.reason)},
            {"explanation", texts_.text(answer.explanation)},
            {"advice", all_texts(answer.advice)},
            {"pattern", answer.pattern},
            {"hash", answer.hash},
            {"choice", texts_.text(answer.choice)},
            {"modes", modes},
            {"engines", engines},
            {"notes", all_of(answer.notes)},
            {"frameworks", frameworks},
            {"frontend", texts_.text(answer.frontend)},
            {"from", texts_.text(answer.from)}};
  }

  Json cells() const {
    const size_t configs = table_.axes.configs.size(), targets = table_.axes.targets.size();
    std::vector<int64_t> indices(table_.axes.cudnns.size() * configs * targets, -1);
    for (const Cell& cell : table_.cells)
      indices[(cell.place.cudnn * configs + cell.place.config) * targets + cell.place.target] =
          static_cast<int64_t>(cell.answer);
    return indices;
  }

  const CellTable& table_;
  Interned texts_, engines_;
};

std::string page_of(const CellTable& table) {
  return html_page("matrix", Payload(table).make());
}

}  // namespace

extern const Format html_format;
const Format html_format{"html", "one self-contained page", "index.html", nullptr, page_of};

}  // namespace attnprobe::report
