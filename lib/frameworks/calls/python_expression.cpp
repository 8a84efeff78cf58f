#include "frameworks/calls/python_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "frameworks/calls/python_arithmetic.hpp"
#include "frameworks/calls/python_tensors.hpp"

namespace attnprobe::frameworks {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Binary operators, lowest precedence first.
constexpr std::array<std::pair<std::string_view, int>, 24> operators{
    {{"or", 1}, {"and", 2}, {"not in", 4}, {"is not", 4}, {"in", 4},  {"is", 4}, {"==", 4}, {"!=", 4},
     {"<=", 4}, {">=", 4},  {"<<", 8},     {">>", 8},     {"<", 4},   {">", 4},  {"|", 5},  {"^", 6},
     {"&", 7},  {"+", 9},   {"-", 9},      {"**", 12},    {"//", 10}, {"*", 10}, {"/", 10}, {"%", 10}}};

class Evaluator {
 public:
  Evaluator(std::string_view text, PythonScope& scope) : text_(text), scope_(&scope), names_(scope.names) {}

  PythonValue whole() {
    PythonValue value = read_list_or_value();
    blanks();
    if (at_ < text_.size()) fail("the expression has ended");
    return value;
  }
  PythonArguments arguments() {
    at_ = std::min(text_.find('('), text_.size());
    expect('(');
    PythonArguments given = read_arguments(')');
    if (!next_is(';') && at_ < text_.size()) fail("the call has ended");
    return given;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::usage, fmt::format("column {}: \"{}\": {}", at_ + 1,
                                              cut(std::string(text_.substr(std::min(at_, text_.size()), 24))), why));
  }
  // Limits recursion; used in every recursive function.
  struct Deeper {
    explicit Deeper(Evaluator& in) : depth(in.depth_) {
      constexpr size_t deepest = 64;
      if (depth == deepest) in.fail("it is nested too deeply");
      ++depth;
    }
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    size_t& depth;
  };

  // Counts a value; one that is too large becomes unknown.
  PythonValue counted(PythonValue value) {
    const uint64_t size = size_of_value(value);
    if (size > scope_->values_left) {
      scope_->values_left = 0;
      fail(fmt::format("more than {} values are computed", with_commas(most_values_of_a_source)));
    }
    scope_->values_left -= size;
    return size > largest_value ? unknown_value() : std::move(value);
  }

  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool next_is(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}' is missing", c));
  }
  bool take_word(std::string_view word) {
    blanks();
    if (text_.substr(at_, word.size()) != word) return false;
    if (at_ + word.size() < text_.size() && is_name(text_[at_ + word.size()])) return false;
    at_ += word.size();
    return true;
  }

  // a, b
  PythonValue read_list_or_value() {
    PythonValue value = read_value();
    if (!next_is(',')) return value;
    PythonValue list = Json::array({value});
    while (take(',')) {
      blanks();
      if (at_ >= text_.size()) break;
      list.push_back(read_starred(list));
      if (list.back().is_discarded()) list.erase(list.size() - 1);
    }
    return list;
  }

  // A value, or the elements of *list, which are appended to `list`.
  PythonValue read_starred(PythonValue& list) {
    if (!next_is('*')) return read_value();
    ++at_;
    const PythonValue values = read_value();
    if (!values.is_array()) return unknown_value();
    for (const auto& value : values) list.push_back(value);
    return Json(Json::value_t::discarded);
  }

  PythonValue read_value() {
    const Deeper deeper(*this);
    if (take_word("lambda")) fail("a value is missing");
    PythonValue value = read_binary(0);
    if (take_word("if")) {
      const PythonValue when = read_binary(0);
      if (!take_word("else")) fail("else is missing");
      const PythonValue otherwise = read_value();
      if (when == Json(false) || when.is_null()) value = otherwise;
    }
    return value;
  }

  std::optional<std::pair<std::string_view, int>> next_operator() {
    blanks();
    for (const auto& one : operators) {
      const auto& [sign, level] = one;
      if (text_.substr(at_, sign.size()) != sign) continue;
      const char after = at_ + sign.size() < text_.size() ? text_[at_ + sign.size()] : ' ';
      if (is_name(sign.back()) ? is_name(after) : (after == '=' && sign.back() != '=')) continue;
      if (sign == "*" && after == '*') continue;
      return one;
    }
    return std::nullopt;
  }

  PythonValue read_binary(int least) {
    const Deeper deeper(*this);
    PythonValue left = read_unary();
    while (const auto next = next_operator()) {
      const auto [sign, level] = *next;
      if (level < least || level == 0) break;
      at_ += sign.size();
      const PythonValue right = read_binary(sign == "**" ? level : level + 1);
      left = counted(joined(std::string(sign), level, left, right));
    }
    return left;
  }

  static PythonValue joined(const std::string& sign, int level, const PythonValue& a, const PythonValue& b) {
    constexpr int comparison = 4, or_level = 1;
    if (level > 7) return arithmetic(sign, a, b);
    if (is_tensor_value(a) || is_tensor_value(b)) {
      PythonValue result = broadcast_values(a, b);
      result.erase("requires_grad");
      if (level == comparison) result["dtype"] = "bool";
      return result;
    }
    if (level == comparison && (sign == "==" || sign == "is") && is_known(a) && is_known(b)) return a == b;
    if (level == or_level && is_known(a)) return a.is_null() || a == Json(false) ? b : a;
    return unknown_value();
  }

  PythonValue read_unary() {
    if (take_word("not")) {
      const PythonValue value = read_binary(3);
      return value.is_boolean() ? Json(!value.get<bool>()) : unknown_value();
    }
    if (take('-')) {
      const PythonValue value = read_binary(11);
      if (value.is_number_integer()) return arithmetic("-", 0, value);
      if (value.is_number()) return -value.get<double>();
      return is_tensor_value(value) ? value : unknown_value();
    }
    if (take('+')) return read_binary(11);
    if (take('~')) return read_binary(11);
    return read_postfix();
  }

  PythonValue read_postfix() {
    PythonValue value = counted(read_atom());
    while (true) {
      blanks();
      if (take('.')) {
        value = counted(read_attribute(value));
      } else if (at_ < text_.size() && text_[at_] == '(') {
        ++at_;
        value = counted(call(value, read_arguments(')')));
      } else if (at_ < text_.size() && text_[at_] == '[') {
        ++at_;
        value = counted(subscripted(value));
      } else {
        return value;
      }
    }
  }

  std::string read_name() {
    blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (begin == at_) fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }

  PythonValue read_attribute(const PythonValue& value) {
    const std::string name = read_name();
    if (is_tensor_value(value)) {
      if (next_is('(')) {
        ++at_;
        auto result = call_method(value, name, read_arguments(')'));
        if (!result && scope_->strict)
          fail(fmt::format(
              "{}() of a tensor, with these arguments, is unknown; allowed: transpose, permute, view, contiguous, half, bfloat16, float, to, cuda, requires_grad_, …",
              name));
        return result ? std::move(*result) : unknown_value();
      }
      if (name == "shape") return value["shape"];
      if (name == "dtype") return value["dtype"];
      if (name == "ndim") return value["shape"].size();
      if (name == "mT" || name == "T") return call_method(value, "transpose", {{-2, -1}, {}}).value_or(unknown_value());
      return unknown_value();
    }
    if (value.is_object() && value.contains("path")) return {{"path", value["path"].get<std::string>() + "." + name}};
    return unknown_value();
  }

  PythonValue call(const PythonValue& function, const PythonArguments& given) {
    if (!function.is_object() || !function.contains("path")) return unknown_value();
    const auto path = function["path"].get<std::string>();
    if (scope_->on_call)
      if (PythonValue value = scope_->on_call(path, given); is_known(value)) return value;
    const std::string name = path.substr(path.rfind('.') + 1);
    auto result = call_function(name, given, scope_->default_dtype);
    if (!result && scope_->strict)
      fail(fmt::format(
          "{} is not a known way to make a tensor; allowed: q[2, 32, 4096, 128], randn, zeros, ones, full, normal, …",
          name));
    return result ? std::move(*result) : unknown_value();
  }

  // Slices become ":".
  PythonValue subscripted(const PythonValue& value) {
    Json indices = Json::array();
    do {
      if (next_is(']')) break;
      bool is_slice = false;
      Json index = nullptr;
      while (!next_is(',') && !next_is(']')) {
        if (take(':')) {
          is_slice = true;
        } else if (text_.substr(at_, 3) == "...") {
          at_ += 3;
          index = "...";
        } else {
          index = read_value();
        }
        if (at_ >= text_.size()) fail("']' is missing");
      }
      indices.push_back(is_slice ? Json(":") : index);
    } while (take(','));
    expect(']');
    if (is_tensor_value(value)) return subscript_tensor(value, indices);
    if (value.is_array() && indices.size() == 1 && indices[0].is_number_integer()) {
      const auto size = static_cast<int64_t>(value.size());
      const auto at = indices[0].get<int64_t>();
      if (at >= -size && at < size) return value[static_cast<size_t>(at < 0 ? at + size : at)];
    }
    // q[2, 32, 4096, 128]: a tensor described by its sizes.
    const bool is_shape =
        indices.size() >= (scope_->strict ? 1 : 3) &&
        std::all_of(indices.begin(), indices.end(), [](const Json& one) { return one.is_number_integer() && one > 0; });
    if (!is_shape && scope_->strict) fail("a tensor's sizes have to be whole numbers, as in q[2, 32, 4096, 128]");
    return is_shape ? PythonValue{{"shape", indices}} : unknown_value();
  }

  PythonArguments read_arguments(char end) {
    constexpr size_t most = 256;
    PythonArguments given;
    while (!take(end)) {
      if (given.named.size() >= most) fail(fmt::format("more than {} arguments with a name", most));
      if (at_ >= text_.size()) fail(fmt::format("',' or '{}' is missing", end));
      if (take('*')) {
        const bool is_named = take('*');
        const PythonValue values = read_value();
        if (!is_named && values.is_array())
          given.values.insert(given.values.end(), values.begin(), values.end());
        else if (!is_named)
          given.values.push_back(unknown_value());
        else if (values.is_object() && values.contains("named"))
          given.named.update(values["named"]);
      } else if (const std::string name = keyword(); !name.empty()) {
        if (scope_->strict && given.named.contains(name)) fail(fmt::format("{} is given twice", name));
        given.named[name] = read_value();
      } else {
        PythonValue value = read_value();
        if (take_word("for")) value = comprehension(value, end);
        given.values.push_back(std::move(value));
      }
      if (!take(',') && !next_is(end)) fail(fmt::format("',' or '{}' is missing", end));
    }
    return given;
  }

  // Reads "name=".
  std::string keyword() {
    blanks();
    size_t after = at_;
    while (after < text_.size() && is_name(text_[after])) ++after;
    const size_t equals = text_.find_first_not_of(' ', after);
    if (after == at_ || equals == std::string_view::npos || text_[equals] != '=' || text_.substr(equals, 2) == "==")
      return "";
    std::string name(text_.substr(at_, after - at_));
    at_ = equals + 1;
    return name;
  }

  // "for _ in range(3)": that many copies of the value.
  PythonValue comprehension(const PythonValue& value, char end) {
    while (at_ < text_.size() && !take_word("in")) ++at_;
    const PythonValue list = read_binary(0);
    while (at_ < text_.size() && text_[at_] != end) ++at_;
    return list.is_array() ? counted(repeated_list(Json::array({value}), static_cast<int64_t>(list.size())))
                           : unknown_value();
  }

  PythonValue read_atom() {
    blanks();
    if (at_ >= text_.size()) fail("a value is missing");
    const char c = text_[at_];
    if (c == '(' || c == '[') {
      ++at_;
      return bracketed(c == '(' ? ')' : ']', c == '(');
    }
    if (c == '{') return dictionary();
    if (c == '"' || c == '\'') return read_text();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return read_number();
    const std::string name = read_name();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'') && name.size() <= 2) return read_text();
    if (name == "True" || name == "False") return name == "True";
    if (name == "None") return nullptr;
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    return {{"path", name}};
  }

  PythonValue bracketed(char end, bool may_be_one) {
    PythonValue list = Json::array();
    bool is_list = !may_be_one;
    while (!take(end)) {
      if (at_ >= text_.size()) fail(fmt::format("',' or '{}' is missing", end));
      PythonValue value = read_starred(list);
      if (take_word("for")) {
        value = comprehension(value, end);
        expect(end);
        return value;
      }
      if (!value.is_discarded()) list.push_back(std::move(value));
      if (take(','))
        is_list = true;
      else if (!next_is(end))
        fail(fmt::format("',' or '{}' is missing", end));
    }
    return is_list || list.size() != 1 ? list : list[0];
  }

  // {"dtype": torch.half}, to be passed on with **.
  PythonValue dictionary() {
    ++at_;
    constexpr size_t most = 256;
    PythonValue named = Json::object();
    while (!take('}')) {
      if (named.size() >= most) fail(fmt::format("more than {} keys", most));
      if (at_ >= text_.size()) fail("'}' is missing");
      const PythonValue key = read_value();
      expect(':');
      PythonValue value = read_value();
      if (key.is_string()) named[key.get<std::string>()] = std::move(value);
      if (!take(',') && !next_is('}')) fail("'}' is missing");
    }
    return {{"unknown", true}, {"named", named}};
  }

  PythonValue read_text() {
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("the string is not closed");
    std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }

  PythonValue read_number() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') && at_ > begin &&
                                   (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    std::string digits(text_.substr(begin, at_ - begin));
    std::erase(digits, '_');
    if (const auto whole_number = parse_number<int64_t>(digits)) return *whole_number;
    if (const auto real = parse_number<double>(digits)) return *real;
    if (digits.ends_with('.'))
      if (const auto real = parse_number<double>(digits + "0")) return *real;
    fail("it is not a number");
  }

  std::string_view text_;
  PythonScope* scope_;
  const std::map<std::string, PythonValue>& names_;
  size_t at_ = 0, depth_ = 0;
};

}  // namespace

PythonValue evaluate(std::string_view expression, PythonScope& scope) {
  return Evaluator(expression, scope).whole();
}

PythonArguments evaluate_arguments(std::string_view call, PythonScope& scope) {
  return Evaluator(call, scope).arguments();
}

void count_value(const PythonValue& value, PythonScope& scope) {
  scope.values_left -= std::min(scope.values_left, size_of_value(value));
}

}  // namespace attnprobe::frameworks
