#include "frameworks/calls/python_source.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/calls/python_expression.hpp"
#include "frameworks/calls/python_program.hpp"
#include "frameworks/calls/python_syntax.hpp"
#include "frameworks/calls/python_values.hpp"

namespace attnprobe::frameworks {
namespace {

constexpr size_t most_calls = 16;
constexpr int times_read = 3;  // calls below a function determine the values of its parameters

std::string last_word(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

class SourceReader {
 public:
  explicit SourceReader(std::string_view text)
      : program_(program_in(text)), names_jax_(text.find("jax") != std::string_view::npos) {
    static const RE2 jax_gradient("jax\\.(?:value_and_)?(?:grad|vjp)\\(|\\bgrad\\("),
        backward("\\.backward\\(|autograd\\.grad\\(");
    takes_jax_gradient_ = RE2::PartialMatch(program_, jax_gradient);
    calls_backward_ = RE2::PartialMatch(program_, backward);
  }

  std::vector<SourceCall> read() {
    scope_.on_call = [this](const std::string& path, const PythonArguments& given, int64_t line) {
      return called(path, given, line);
    };
    const PythonTree tree(program_);
    for (int pass = 0; pass < times_read; ++pass) {
      calls_.clear();
      backends_.clear();
      switches_ = Json::object();
      scope_.values_left = most_values_of_a_source;
      follow(tree.root(), 0);
    }
    return std::move(calls_);
  }

 private:
  void follow(const PythonNode& node, size_t depth) {
    if (scope_.values_left == 0 || depth == deepest_python) return;
    const size_t backends = backends_.size();
    read(node);
    if (has_statements(node))
      for (const PythonNode& one : node.children()) follow(one, depth + 1);
    if (node.type() == "with_statement" || node.type() == "decorated_definition")
      backends_.resize(std::min(backends, backends_.size()));
  }

  static bool has_statements(const PythonNode& node) {
    const std::string_view type = node.type();
    return type == "module" || type == "block" || type == "ERROR" || type.ends_with("_clause") || node.is_statement();
  }

  // Skips Python that it does not understand.
  void read(const PythonNode& node) try {
    if (node.type() == "function_definition")
      define(node.field("name").text(), node.field("parameters"));
    else if (node.type() == "for_statement")
      loop(node.field("left"), evaluate(node.field("right"), scope_));
    else if (node.type() == "aliased_import")  // from torch.nn.functional import scaled_dot_product_attention as sdpa
      scope_.set(node.field("alias").text(), {{"path", std::string(node.field("name").text())}});
    else if (node.type() == "assignment")
      assign(node);
    else if (!has_statements(node))
      evaluate(node, scope_);
  } catch (const Error&) {
  }

  // a = b = 3
  void assign(PythonNode node) {
    std::vector<PythonNode> targets;
    for (; node.type() == "assignment"; node = node.field("right")) targets.push_back(node.field("left"));
    if (node.type() == "lambda") define(targets.back().text(), node.field("parameters"));
    const PythonValue value = evaluate(node, scope_);
    for (const PythonNode& target : targets) bind(target, value, 0);
  }

  // batch, heads, length, dim = q.shape; q, k, v = torch.randn(3, …)
  void bind(const PythonNode& target, const PythonValue& value, size_t depth) {
    if (target.type() == "identifier" || target.type() == "attribute") return scope_.set(target.text(), value);
    const PythonValue list = is_tensor_value(value) ? parts_of(value) : value;
    const auto names = target.children();
    if (!list.is_array() || list.size() != names.size() || depth == deepest_python) return;
    for (size_t i = 0; i < names.size(); ++i) bind(names[i], list[i], depth + 1);
  }

  // def attend(q, k, v, causal=True): the defaults, unless a call passed other values.
  void define(std::string_view function, const PythonNode& parameters) {
    auto& names = functions_[std::string(function)];
    names.clear();
    for (const PythonNode& one : parameters.children()) {
      const PythonNode named = one.field("name");
      const std::string_view name = (named ? named : one.type() == "typed_parameter" ? one.child(0) : one).text();
      if (name == "self" || name.starts_with('*') || name == "/") continue;
      names.emplace_back(name);
      if (named && !scope_.names.contains(name)) scope_.set(name, evaluate(one.field("value"), scope_));
    }
  }

  // for length in [1024, 4096]: uses the first.
  void loop(const PythonNode& target, const PythonValue& list) {
    if (!list.is_array() || list.empty()) return;
    bind(target, list[0], 0);
    const PythonNode first = target.type() == "identifier" ? target : target.child(0);
    if (list.size() > 1 && first && first.text() != "_") firsts_[std::string(first.text())] = list.size();
  }

  // Libraries with a function of the same name: mlx.core.fast.scaled_dot_product_attention.
  static bool is_of_another_library(const std::string& path) {
    static const std::set<std::string> others{"mx", "mlx", "paddle", "mindspore", "ttnn", "tinygrad"};
    return others.contains(path.substr(0, path.find('.')));
  }

  PythonValue called(const std::string& path, const PythonArguments& given, int64_t line) {
    const std::string name = last_word(path);
    if (name == "set_default_dtype" && !given.values.empty() && given.values[0].contains("path"))
      scope_.default_dtype = given.values[0]["path"].get<std::string>();
    if (name.starts_with("enable_") && name.ends_with("_sdp") && !given.values.empty() && given.values[0].is_boolean())
      switches_[name.substr(7) + "_enabled"] = given.values[0];
    if (name == "sdpa_kernel" || name == "sdp_kernel") enter(given);
    if (name == "autocast") {
      const Json dtype = given.named.value("dtype", given.values.size() > 1 ? given.values[1] : Json());
      autocast_ = dtype.dump().find("bfloat16") != std::string::npos ? "bfloat16" : "float16";
    }
    if (name == "scaled_dot_product_attention" && !is_of_another_library(path)) return add_call("torch", given, line);
    if (name == "dot_product_attention" && names_jax_) return add_call("jax", given, line);
    if (const auto function = functions_.find(path); function != functions_.end()) {
      for (size_t i = 0; i < given.values.size() && i < function->second.size(); ++i)
        scope_.set(function->second[i], given.values[i]);
      for (const auto& [key, value] : given.named.items()) scope_.set(key, value);
    }
    return unknown_value();
  }

  // sdpa_kernel([SDPBackend.MATH, …], set_priority=True), sdp_kernel(enable_math=False, …)
  void enter(const PythonArguments& given) {
    static const std::set<std::string> known{"CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH"};
    const Json listed = given.named.value("backends", given.values.empty() ? Json() : given.values[0]);
    Json context = Json::object();
    for (const Json& one : listed.is_array() ? listed : Json::array({listed}))
      if (const std::string word = one.contains("path") ? last_word(one["path"].get<std::string>()) : "";
          known.contains(word))
        context["backend"].push_back(word);
    for (const auto& [name, value] : given.named.items()) {
      if (name == "set_priority" && value == Json(true)) context[name] = true;
      if (name.starts_with("enable_") && value.is_boolean()) context[name.substr(7) + "_sdp_enabled"] = value;
    }
    if (!context.empty()) backends_.push_back(context);
  }

  // Adds the call without unknown arguments, but with a note on each of them.
  PythonValue add_call(const std::string& framework, const PythonArguments& given, int64_t line) {
    static const std::vector<std::string>
        of_torch = split("query key value attn_mask dropout_p is_causal enable_gqa scale", ' '),
        of_jax = split(
            "query key value bias mask is_causal scale implementation local_window_size query_seq_lengths key_value_seq_lengths",
            ' ');
    if (calls_.size() == most_calls) return unknown_value();
    SourceCall call{framework, Json::object(), line, {}};
    const auto& names = framework == "torch" ? of_torch : of_jax;
    for (size_t i = 0; i < names.size(); ++i) {
      if (i < given.values.size())
        add_argument(call, names[i], given.values[i]);
      else if (given.named.contains(names[i]))
        add_argument(call, names[i], given.named[names[i]]);
    }
    for (const char* name : {"query", "key", "value"})
      if (!call.call.contains(name)) return unknown_value();
    add_surroundings(call);
    PythonValue result = call.call["query"];
    const bool is_new = std::none_of(calls_.begin(), calls_.end(), [&](const SourceCall& one) {
      return one.framework == framework && one.call == call.call;
    });
    if (is_new) {
      for (const auto& [loop, count] : firsts_)
        call.guesses.push_back(fmt::format("{} is the first of {} values", loop, count));
      calls_.push_back(std::move(call));
    }
    return result;
  }

  void add_argument(SourceCall& call, const std::string& name, const PythonValue& value) const {
    if (value.is_null()) return;
    const bool is_input = name == "query" || name == "key" || name == "value";
    const bool wants_tensor = is_input || name == "attn_mask" || name == "bias" || name == "mask";
    if (is_tensor_value(value) && wants_tensor) {
      Json tensor = value;
      if (call.framework == "jax") {
        tensor.erase("strides");
        tensor.erase("requires_grad");
      }
      if (!tensor.contains("dtype")) tensor["dtype"] = scope_.default_dtype;
      call.call[name] = std::move(tensor);
    } else if (name.ends_with("_seq_lengths")) {
      call.call[name] = true;
    } else if (!wants_tensor && is_known(value) && (!value.is_string() || name == "implementation")) {
      call.call[name] = value;
    } else if (!is_input) {
      call.guesses.push_back(fmt::format("without {}, whose value the source does not show", name));
    }
  }

  void add_surroundings(SourceCall& call) const {
    const bool is_torch = call.framework == "torch";
    if (!autocast_.empty() && is_torch) {
      for (const char* name : {"query", "key", "value"}) call.call[name]["dtype"] = autocast_;
      call.guesses.push_back(fmt::format("in {}, as autocast makes it", autocast_));
    }
    if (is_torch) call.call.update(switches_);
    if (is_torch && !backends_.empty()) call.call.update(backends_.back());
    if (!is_torch && takes_jax_gradient_) call.call["grad"] = true;
    const bool trains = is_torch && calls_backward_;
    const bool asks = std::any_of(call.call.begin(), call.call.end(),
                                  [](const Json& one) { return one.is_object() && one.value("requires_grad", false); });
    if (trains && !asks) {
      call.call["query"]["requires_grad"] = true;
      call.guesses.emplace_back("with a gradient, because the source calls backward()");
    }
  }

  std::string program_;
  bool names_jax_ = false, takes_jax_gradient_ = false, calls_backward_ = false;
  PythonScope scope_;
  std::map<std::string, std::vector<std::string>, std::less<>> functions_;  // the functions' parameters
  std::map<std::string, size_t> firsts_;  // the value that a loop iterates over, and its length
  std::vector<Json> backends_;
  Json switches_ = Json::object();  // torch.backends.cuda.enable_flash_sdp(False)
  std::string autocast_;
  std::vector<SourceCall> calls_;
};

}  // namespace

std::vector<SourceCall> source_calls(std::string_view text) {
  if (text.find("dot_product_attention") == std::string_view::npos) return {};
  return SourceReader(text).read();
}

}  // namespace attnprobe::frameworks
