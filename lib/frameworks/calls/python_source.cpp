#include "frameworks/calls/python_source.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/calls/python_expression.hpp"
#include "frameworks/calls/python_tensors.hpp"

namespace attnprobe::frameworks {
namespace {

using re2::StringPiece;

constexpr size_t most_calls = 16, most_lines = 20'000, most_lines_of_one = 60, longest_statement = 8'000;
constexpr int times_read = 3;  // calls below a function give the values of its parameters

StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

// A line of a program, with the lines that its brackets continue.
struct Statement {
  std::string text;
  size_t indent = 0;
  int64_t line = 0;
};

// The line without prompt and comment.
std::string_view bare(std::string_view line) {
  for (const std::string_view prompt : {">>> ", "... ", "> "})
    if (line.starts_with(prompt)) line.remove_prefix(prompt.size());
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0)
      quote = c == quote ? char{0} : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#')
      return line.substr(0, i);
  }
  return line;
}

int depth_of(std::string_view line) {
  int depth = 0;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
  }
  return depth;
}

bool may_matter(std::string_view line) {
  static const RE2 source(
      "^[A-Za-z_][\\w., *()\\[\\]]{0,120}(?::\\s*[\\w.\\[\\], ]{1,60})?\\s*=[^=]|dot_product_attention\\(|sdpa?_kernel\\(|"
      "^(?:for|with|def) |^[A-Za-z_]\\w*\\(|set_default_dtype\\(|autocast\\(|enable_\\w+_sdp\\(");
  return RE2::PartialMatch(piece(line), source);
}

std::vector<Statement> statements_of(std::string_view text) {
  std::vector<Statement> statements;
  int64_t number = 0;
  size_t held = 0;
  int depth = 0;
  for (size_t begin = 0; begin < text.size() && number < static_cast<int64_t>(most_lines);) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = bare(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    const std::string_view content = trim(line);
    if (depth > 0) {
      auto& last = statements.back();
      if (++held <= most_lines_of_one && last.text.size() + content.size() < longest_statement) {
        last.text.append(" ").append(content);
        depth += depth_of(content);
      } else {
        depth = 0;
      }
      continue;
    }
    if (content.empty() || content.size() > longest_statement || !may_matter(content)) continue;
    statements.push_back({std::string(content), line.find_first_not_of(" \t"), number});
    depth = std::max(0, depth_of(content));
    held = 0;
  }
  return statements;
}

// The '=' of an assignment outside brackets and quotes, or npos.
size_t assignment_in(std::string_view statement) {
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < statement.size(); ++i) {
    const char c = statement[i], before = i > 0 ? statement[i - 1] : ' ';
    const char after = i + 1 < statement.size() ? statement[i + 1] : ' ';
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == '=' && depth == 0 && after != '=' &&
               std::string_view("=!<>+-*/%&|^").find(before) == std::string_view::npos) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string_view name = trim(list.substr(begin, end - begin));
    while (name.starts_with('(') || name.starts_with('[')) name = trim(name.substr(1));
    while (name.ends_with(')') || name.ends_with(']')) name = trim(name.substr(0, name.size() - 1));
    name = trim(name.substr(0, name.find(':')));  // n: int
    names.emplace_back(name);
    begin = end + 1;
  }
  return names;
}

struct Function {
  std::vector<std::string> parameters;
};

class SourceReader {
 public:
  explicit SourceReader(std::string_view text)
      : statements_(statements_of(text)), names_jax_(text.find("jax") != std::string_view::npos) {
    static const RE2 jax_gradient("jax\\.(?:value_and_)?(?:grad|vjp)\\(|\\bgrad\\("),
        backward("\\.backward\\(|autograd\\.grad\\(");
    takes_jax_gradient_ = RE2::PartialMatch(piece(text), jax_gradient);
    calls_backward_ = RE2::PartialMatch(piece(text), backward);
  }

  std::vector<SourceCall> read() {
    scope_.on_call = [this](const std::string& path, const PythonArguments& given) { return called(path, given); };
    for (int pass = 0; pass < times_read; ++pass) {
      calls_.clear();
      backends_.clear();
      switches_ = Json::object();
      scope_.values_left = most_values_of_a_source;
      for (const Statement& statement : statements_) try {
          if (scope_.values_left == 0) break;
          follow(statement);
        } catch (const Error&) {  // not Python, or unknown Python
        }
    }
    return std::move(calls_);
  }

 private:
  void follow(const Statement& statement) {
    at_ = &statement;
    while (!backends_.empty() && backends_.back().first >= statement.indent) backends_.pop_back();
    std::string_view text = statement.text;
    if (text.starts_with("def ")) return define(text.substr(4));
    if (text.starts_with("for ")) return loop(text.substr(4));
    if (text.starts_with("with ")) return enter(text.substr(5));
    if (text.starts_with("return ")) text.remove_prefix(7);
    std::vector<std::vector<std::string>> targets;
    for (size_t equals = assignment_in(text); equals != std::string_view::npos; equals = assignment_in(text)) {
      targets.push_back(names_in(text.substr(0, equals)));
      text = trim(text.substr(equals + 1));
    }
    const PythonValue value = evaluate(text.substr(0, text.find(';')), scope_);
    for (const auto& names : targets) bind(names, value);
  }

  void bind(const std::vector<std::string>& names, const PythonValue& value) {
    if (names.size() == 1) {
      set(names[0], value);
      return;
    }
    // batch, heads, length, dim = q.shape; q, k, v = torch.randn(3, …)
    const PythonValue list = is_tensor_value(value) ? parts_of(value) : value;
    for (size_t i = 0; i < names.size(); ++i)
      set(names[i], list.is_array() && list.size() == names.size() ? list[i] : unknown_value());
  }

  // An unknown value never replaces a known one: it is more often a branch than a change.
  void set(const std::string& name, const PythonValue& value) {
    static const RE2 plain("[A-Za-z_]\\w*");
    if (!RE2::FullMatch(piece(name), plain)) return;
    if (is_known(value) || scope_.names.count(name) == 0) {
      if (is_known(value) || (value.is_object() && value.contains("path")) || value.contains("named")) {
        count_value(value, scope_);
        scope_.names[name] = value;
      }
    }
  }

  // def attend(q, k, v, causal=True): the defaults, unless a call gave other values.
  void define(std::string_view text) {
    const size_t bracket = text.find('(');
    const size_t end = text.rfind(')');
    if (bracket == std::string_view::npos || end == std::string_view::npos || end < bracket) return;
    Function function;
    std::string_view list = text.substr(bracket + 1, end - bracket - 1);
    int depth = 0;
    for (size_t begin = 0, i = 0; i <= list.size(); ++i) {
      if (i < list.size() && (list[i] == '(' || list[i] == '[')) ++depth;
      if (i < list.size() && (list[i] == ')' || list[i] == ']')) --depth;
      if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
      const std::string_view one = trim(list.substr(begin, i - begin));
      begin = i + 1;
      const size_t equals = one.find('=');
      std::string name(trim(one.substr(0, std::min(one.find(':'), equals))));
      if (name != "self" && !name.empty() && name.front() != '*') function.parameters.push_back(name);
      if (equals != std::string_view::npos && scope_.names.count(name) == 0) try {
          set(name, evaluate(one.substr(equals + 1), scope_));
        } catch (const Error&) {
        }
    }
    functions_[std::string(trim(text.substr(0, bracket)))] = std::move(function);
  }

  // for length in [1024, 4096]: uses the first.
  void loop(std::string_view text) {
    const size_t in = text.find(" in ");
    if (in == std::string_view::npos || !text.ends_with(':')) return;
    const PythonValue list = evaluate(text.substr(in + 4, text.size() - in - 5), scope_);
    if (!list.is_array() || list.empty()) return;
    const auto names = names_in(text.substr(0, in));
    bind(names, list[0]);
    if (list.size() > 1 && names[0] != "_") firsts_[names[0]] = list.size();
  }

  // with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
  void enter(std::string_view text) {
    static const RE2 kernel("sdpa?_kernel\\(");
    if (!RE2::PartialMatch(piece(text), kernel)) {
      add_autocast(text);
      return;
    }
    const Json context = backends_in(text);
    if (!context.empty()) backends_.emplace_back(at_->indent, context);
  }

  // Converts a backend context to JSON: sdpa_kernel([SDPBackend.MATH, …], set_priority=True),
  // sdp_kernel(enable_math=False, …).
  static Json backends_in(std::string_view text) {
    static const RE2 word("\\b(CUDNN_ATTENTION|FLASH_ATTENTION|EFFICIENT_ATTENTION|MATH)\\b"),
        priority("set_priority\\s*=\\s*True"), flag("enable_(cudnn|flash|mem_efficient|math)\\s*=\\s*(True|False)");
    Json context = Json::object();
    StringPiece rest = piece(text);
    for (std::string name; RE2::FindAndConsume(&rest, word, &name);) context["backend"].push_back(name);
    if (context.contains("backend") && RE2::PartialMatch(piece(text), priority)) context["set_priority"] = true;
    rest = piece(text);
    for (std::string name, value; RE2::FindAndConsume(&rest, flag, &name, &value);)
      context[name + "_sdp_enabled"] = value == "True";
    return context;
  }

  void add_autocast(std::string_view text) {
    if (text.find("autocast(") == std::string_view::npos) return;
    autocast_ = text.find("bfloat16") != std::string_view::npos ? "bfloat16" : "float16";
  }

  PythonValue called(const std::string& path, const PythonArguments& given) {
    const std::string name = path.substr(path.rfind('.') + 1);
    if (name == "set_default_dtype" && !given.values.empty() && given.values[0].contains("path"))
      scope_.default_dtype = given.values[0]["path"].get<std::string>();
    if (name.starts_with("enable_") && name.ends_with("_sdp") && !given.values.empty() && given.values[0].is_boolean())
      switches_[name.substr(7) + "_enabled"] = given.values[0];
    if (name == "scaled_dot_product_attention") return add_call("torch", given);
    if (name == "dot_product_attention" && names_jax_) return add_call("jax", given);
    if (const auto function = functions_.find(path); function != functions_.end()) {
      for (size_t i = 0; i < given.values.size() && i < function->second.parameters.size(); ++i)
        set(function->second.parameters[i], given.values[i]);
      for (const auto& [key, value] : given.named.items()) set(key, value);
    }
    return unknown_value();
  }

  // Adds the call as it was passed, without unknown arguments, but with a note on each.
  PythonValue add_call(const std::string& framework, const PythonArguments& given) {
    const bool is_torch = framework == "torch";
    static const std::vector<std::string> of_torch{"query", "key", "value", "attn_mask", "dropout_p", "is_causal"},
        of_jax{"query", "key", "value", "bias", "mask"}, more_of_torch{"enable_gqa", "scale"},
        more_of_jax{
            "is_causal", "scale", "implementation", "local_window_size", "query_seq_lengths", "key_value_seq_lengths"};
    const auto& positional = is_torch ? of_torch : of_jax;
    const auto& more = is_torch ? more_of_torch : more_of_jax;
    if (calls_.size() == most_calls) return unknown_value();
    SourceCall call;
    call.framework = framework;
    call.line = at_->line;
    Json arguments = given.named;
    for (size_t i = 0; i < given.values.size() && i < positional.size(); ++i)
      arguments[positional[i]] = given.values[i];
    for (const auto* names : {&positional, &more})
      for (const auto& name : *names)
        if (arguments.contains(name)) add_argument(call, name, arguments[name]);
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
    if (is_torch && !backends_.empty()) call.call.update(backends_.back().second);
    if (!is_torch && takes_jax_gradient_) call.call["grad"] = true;
    const bool trains = is_torch && calls_backward_;
    const bool asks = std::any_of(call.call.begin(), call.call.end(),
                                  [](const Json& one) { return one.is_object() && one.value("requires_grad", false); });
    if (trains && !asks) {
      call.call["query"]["requires_grad"] = true;
      call.guesses.emplace_back("with a gradient, since the source calls backward()");
    }
  }

  std::vector<Statement> statements_;
  bool names_jax_ = false, takes_jax_gradient_ = false, calls_backward_ = false;
  const Statement* at_ = nullptr;
  PythonScope scope_;
  std::map<std::string, Function> functions_;
  std::map<std::string, size_t> firsts_;           // the value that a loop runs over, and its length
  std::vector<std::pair<size_t, Json>> backends_;  // by the indentation of their with
  Json switches_ = Json::object();                 // torch.backends.cuda.enable_flash_sdp(False)
  std::string autocast_;
  std::vector<SourceCall> calls_;
};

}  // namespace

std::vector<SourceCall> source_calls(std::string_view text) {
  if (text.find("dot_product_attention") == std::string_view::npos) return {};
  return SourceReader(text).read();
}

}  // namespace attnprobe::frameworks
