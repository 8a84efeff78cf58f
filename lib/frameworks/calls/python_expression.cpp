#include "frameworks/calls/python_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "frameworks/calls/python_syntax.hpp"
#include "frameworks/calls/python_values.hpp"

namespace attnprobe::frameworks {
namespace {

[[noreturn]] void fail(std::string_view text, size_t at, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("column {}: \"{}\": {}", at + 1,
                                            cut(std::string(text.substr(std::min(at, text.size()), 24))), why));
}

class Evaluator {
 public:
  explicit Evaluator(PythonScope& scope) : scope_(&scope) {}

  // Counts the value; if it is too large, it becomes unknown.
  PythonValue of(const PythonNode& node) {
    if (!node) fail(node, "a value is missing");
    if (depth_ == deepest_python) fail(node, "it is nested too deeply");
    ++depth_;
    PythonValue value = read(node);
    --depth_;
    const uint64_t size = size_of_value(value);
    if (size > scope_->values_left) {
      scope_->values_left = 0;
      fail(node, fmt::format("more than {} values are computed", with_commas(most_values_of_a_source)));
    }
    scope_->values_left -= size;
    return size > largest_value ? unknown_value() : std::move(value);
  }

  PythonArguments arguments(const PythonNode& list) {
    PythonArguments given;
    if (list.type() == "generator_expression") given.values.push_back(of(list));
    if (list.type() != "argument_list") return given;
    for (const PythonNode& one : parts(list)) {
      if (one.type() == "dictionary_splat") {
        const PythonValue values = of(one.child(0));
        if (values.contains("named")) given.named.update(values["named"]);
      } else if (one.type() == "keyword_argument") {
        const std::string name(one.field("name").text());
        if (scope_->strict && given.named.contains(name)) fail(one, fmt::format("{} is given twice", name));
        given.named[name] = of(one.field("value"));
      } else {
        add(given.values, one);
      }
    }
    return given;
  }

 private:
  [[noreturn]] static void fail(const PythonNode& node, const std::string& why) {
    frameworks::fail(node.source(), node.begin(), why);
  }

  static std::vector<PythonNode> parts(const PythonNode& node) {
    constexpr size_t most = 512;
    auto all = node.children();
    if (all.size() > most) fail(node, fmt::format("more than {} parts", most));
    return all;
  }

  PythonValue read(const PythonNode& node) {
    static const std::map<std::string_view, PythonValue (Evaluator::*)(const PythonNode&)> readers{
        {"identifier", &Evaluator::name},
        {"integer", &Evaluator::number},
        {"float", &Evaluator::number},
        {"string", &Evaluator::word},
        {"parenthesized_expression", &Evaluator::first},
        {"await", &Evaluator::first},
        {"tuple", &Evaluator::list},
        {"list", &Evaluator::list},
        {"expression_list", &Evaluator::list},
        {"expression_statement", &Evaluator::list},
        {"list_comprehension", &Evaluator::comprehension},
        {"generator_expression", &Evaluator::comprehension},
        {"dictionary", &Evaluator::dictionary},
        {"attribute", &Evaluator::attribute},
        {"call", &Evaluator::call},
        {"subscript", &Evaluator::subscript},
        {"conditional_expression", &Evaluator::choice},
        {"not_operator", &Evaluator::negation},
        {"unary_operator", &Evaluator::unary},
        {"binary_operator", &Evaluator::binary},
        {"comparison_operator", &Evaluator::comparison},
        {"boolean_operator", &Evaluator::boolean},
        {"named_expression", &Evaluator::assignment},
    };
    const std::string_view type = node.type();
    if (const auto reader = readers.find(type); reader != readers.end()) return (this->*reader->second)(node);
    if (type == "true" || type == "false") return type == "true";
    if (type == "none") return nullptr;
    if (type == "ellipsis") return "...";
    if (type == "slice") return ":";
    if (type == "ERROR") fail(node, "this is not Python");
    for (const PythonNode& one : node.children()) of(one);  // calls inside it
    return unknown_value();
  }

  PythonValue named(const std::string& path) const {
    const auto known = scope_->names.find(path);
    return known != scope_->names.end() ? known->second : PythonValue{{"path", path}};
  }

  PythonValue name(const PythonNode& node) { return named(std::string(node.text())); }

  PythonValue number(const PythonNode& node) {
    std::string digits(node.text());
    std::erase(digits, '_');
    if (const auto whole = parse_number<int64_t>(digits)) return *whole;
    if (digits.ends_with('.')) digits += '0';
    if (const auto real = parse_number<double>(digits)) return *real;
    return unknown_value();
  }

  PythonValue word(const PythonNode& node) {
    std::string content;
    for (const PythonNode& one : node.children()) {
      if (one.type() == "interpolation") return of(one.child(0)), unknown_value();
      if (one.type() == "string_content") content += one.text();
    }
    return content;
  }

  PythonValue first(const PythonNode& node) { return of(node.child(0)); }

  // Adds the node's value, or the elements of *list.
  void add(Json& values, const PythonNode& node) {
    if (node.type() != "list_splat") return values.push_back(of(node));
    const PythonValue list = of(node.child(0));
    if (!list.is_array()) return values.push_back(unknown_value());
    values.insert(values.end(), list.begin(), list.end());
  }

  PythonValue list(const PythonNode& node) {
    PythonValue values = Json::array();
    for (const PythonNode& one : parts(node)) add(values, one);
    return values;
  }

  // [… for _ in range(3)]: that many copies of the value.
  PythonValue comprehension(const PythonNode& node) {
    const PythonValue value = of(node.field("body"));
    const PythonValue over = of(node.child(1).field("right"));
    if (!over.is_array() && !over.is_string()) return unknown_value();
    const size_t count = over.is_array() ? over.size() : over.get_ref<const std::string&>().size();
    return repeated_list(Json::array({value}), static_cast<int64_t>(count));
  }

  // {"dtype": torch.half}, for passing with **.
  PythonValue dictionary(const PythonNode& node) {
    PythonValue named = Json::object();
    for (const PythonNode& one : parts(node)) {
      if (one.type() != "pair") continue;
      const PythonValue key = of(one.field("key"));
      if (key.is_string()) named[key.get<std::string>()] = of(one.field("value"));
    }
    return {{"unknown", true}, {"named", named}};
  }

  PythonValue attribute(const PythonNode& node) { return attribute_of(of(node.field("object")), node); }

  PythonValue attribute_of(const PythonValue& object, const PythonNode& node) const {
    const std::string name(node.field("attribute").text());
    if (is_tensor_value(object)) {
      if (name == "mT" || name == "T")
        return call_method(object, "transpose", {{-2, -1}, {}}).value_or(unknown_value());
      if (name == "ndim") return object["shape"].size();
      return name == "shape" || name == "dtype" ? object.value(name, unknown_value()) : unknown_value();
    }
    return object.contains("path") ? named(object["path"].get<std::string>() + "." + name) : unknown_value();
  }

  PythonValue call(const PythonNode& node) {
    const PythonNode function = node.field("function"), given = node.field("arguments");
    PythonValue called;
    if (function.type() == "attribute") {
      const PythonValue object = of(function.field("object"));
      if (is_tensor_value(object)) return method(object, function, arguments(given));
      called = attribute_of(object, function);
    } else {
      called = of(function);
    }
    const PythonArguments values = arguments(given);
    if (!called.contains("path")) return unknown_value();
    const auto path = called["path"].get<std::string>();
    if (scope_->on_call)
      if (PythonValue value = scope_->on_call(path, values, node.line()); is_known(value)) return value;
    const std::string name = path.substr(path.rfind('.') + 1);
    if (name == "dict") return {{"unknown", true}, {"named", values.named}};
    auto result = call_function(name, values, scope_->default_dtype);
    if (!result && scope_->strict)
      fail(
          node,
          fmt::format(
              "{} is not a known way to make a tensor; allowed: q[2, 32, 4096, 128], randn, zeros, ones, full, normal, …",
              name));
    return result ? std::move(*result) : unknown_value();
  }

  PythonValue method(const PythonValue& tensor, const PythonNode& function, const PythonArguments& given) const {
    const std::string name(function.field("attribute").text());
    auto result = call_method(tensor, name, given);
    if (!result && scope_->strict)
      fail(
          function.field("attribute"),
          fmt::format(
              "{}() of a tensor, with these arguments, is unknown; allowed: transpose, permute, view, contiguous, half, bfloat16, float, to, cuda, requires_grad_, …",
              name));
    return result ? std::move(*result) : unknown_value();
  }

  PythonValue subscript(const PythonNode& node) {
    Json indices = list(node);
    const PythonValue value = indices.empty() ? unknown_value() : indices[0];
    if (!indices.empty()) indices.erase(0);
    if (is_tensor_value(value)) return subscript_tensor(value, indices);
    if (indices.size() == 1 && value.is_array() && indices[0].is_number_integer()) {
      const auto size = static_cast<int64_t>(value.size());
      const auto at = indices[0].get<int64_t>();
      if (at >= -size && at < size) return value[static_cast<size_t>(at < 0 ? at + size : at)];
    }
    if (indices.size() == 1 && value.contains("named") && indices[0].is_string())
      return value["named"].value(indices[0].get<std::string>(), unknown_value());
    // q[2, 32, 4096, 128]: a tensor described by its sizes.
    const bool is_shape =
        indices.size() >= (scope_->strict ? 1 : 3) &&
        std::all_of(indices.begin(), indices.end(), [](const Json& one) { return one.is_number_integer() && one > 0; });
    if (!is_shape && scope_->strict) fail(node, "a tensor's sizes must be whole numbers, as in q[2, 32, 4096, 128]");
    return is_shape ? PythonValue{{"shape", indices}} : unknown_value();
  }

  // a if b else c
  PythonValue choice(const PythonNode& node) {
    const PythonValue value = of(node.child(0)), when = of(node.child(1)), otherwise = of(node.child(2));
    return when == Json(false) || when.is_null() ? otherwise : value;
  }

  PythonValue negation(const PythonNode& node) {
    const PythonValue value = of(node.field("argument"));
    return value.is_boolean() ? Json(!value.get<bool>()) : unknown_value();
  }

  PythonValue unary(const PythonNode& node) {
    PythonValue value = of(node.field("argument"));
    if (node.field("operator").type() != "-" || is_tensor_value(value)) return value;
    if (value.is_number_float()) return -value.get<double>();
    return arithmetic("-", 0, value);
  }

  PythonValue binary(const PythonNode& node) {
    const PythonValue a = of(node.field("left")), b = of(node.field("right"));
    const std::string sign(node.field("operator").type());
    if (sign == "&" || sign == "|" || sign == "^") return logic(a, b);
    return sign == "@" ? unknown_value() : arithmetic(sign, a, b);
  }

  static PythonValue logic(const PythonValue& a, const PythonValue& b) {
    if (!is_tensor_value(a) && !is_tensor_value(b)) return unknown_value();
    PythonValue result = broadcast_values(a, b);
    result.erase("requires_grad");
    return result;
  }

  PythonValue comparison(const PythonNode& node) {
    const PythonValue a = of(node.child(0)), b = of(node.child(1));
    const std::string_view sign = node.field("operators").type();
    PythonValue result = logic(a, b);
    if (is_tensor_value(result))
      result["dtype"] = "bool";
    else if ((sign == "==" || sign == "is") && is_known(a) && is_known(b))
      return a == b;
    return result;
  }

  PythonValue boolean(const PythonNode& node) {
    const PythonValue a = of(node.field("left")), b = of(node.field("right"));
    if (is_tensor_value(a) || is_tensor_value(b)) return logic(a, b);
    if (node.field("operator").type() != "or" || !is_known(a)) return unknown_value();
    return a.is_null() || a == Json(false) ? b : a;
  }

  PythonValue assignment(const PythonNode& node) {
    PythonValue value = of(node.field("value"));
    scope_->set(node.field("name").text(), value);
    return value;
  }

  PythonScope* scope_;
  size_t depth_ = 0;
};

// The text's only expression.
PythonNode expression_in(const PythonTree& tree, std::string_view text) {
  if (const size_t error = tree.first_error(); error != std::string_view::npos)
    fail(text, error, "',' or ')' is missing");
  PythonNode node = tree.root();
  if (!node.child(0)) fail(text, 0, "a value is missing");
  if (node.child(1)) fail(text, node.child(1).begin(), "the expression has ended");
  node = node.child(0);
  return node.type() == "expression_statement" && !node.child(1) ? node.child(0) : node;
}

}  // namespace

void PythonScope::set(std::string_view name, const PythonValue& value) {
  const bool may_be_used = is_known(value) || (value.is_object() && value.contains("path")) || value.contains("named");
  if (!may_be_used || (!is_known(value) && names.contains(name))) return;
  values_left -= std::min(values_left, size_of_value(value));
  names[std::string(name)] = value;
}

PythonValue evaluate(const PythonNode& expression, PythonScope& scope) {
  return Evaluator(scope).of(expression);
}

PythonValue evaluate(std::string_view expression, PythonScope& scope) {
  const PythonTree tree(expression);
  const PythonNode node = expression_in(tree, expression);
  if (node.type() == "assignment") fail(expression, node.field("right").begin(), "the expression has ended");
  return evaluate(node, scope);
}

PythonArguments evaluate_arguments(std::string_view text, PythonScope& scope) {
  const PythonTree tree(text);
  PythonNode node = expression_in(tree, text), call;
  while (node.type() == "assignment") node = node.field("right");
  for (PythonNode inside = node; inside; inside = inside.child(0))
    if (inside.type() == "call") call = inside;
  if (!call) fail(text, node.begin(), "a call is missing");
  if (call.end() < node.end()) fail(text, call.end(), "the call has ended");
  return Evaluator(scope).arguments(call.field("arguments"));
}

}  // namespace attnprobe::frameworks
