#include "frameworks/calls/python_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/data_type.hpp"
#include "base/enum_words.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "frameworks/calls/call_reading.hpp"

namespace attnprobe::frameworks {
namespace {

constexpr size_t deepest = 16;
constexpr std::array<std::string_view, 10> makers{"randn", "rand",   "empty",   "zeros",   "ones",
                                                  "full",  "normal", "uniform", "randint", "ShapeDtypeStruct"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> casts{
    {{"half", "float16"}, {"bfloat16", "bfloat16"}, {"float", "float32"}, {"double", "float64"}}};
constexpr std::array<std::string_view, 4> keeps{"cuda", "contiguous", "detach", "clone"};

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// What a call is given: those without a name, and those with one.
struct Arguments {
  Json values = Json::array();
  Json named = Json::object();
};

bool is_tensor(const Json& value) {
  return value.is_object() && value.contains("shape");
}

class PythonReader {
 public:
  PythonReader(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  Arguments read_call() {
    read_path();
    Arguments arguments = read_arguments();
    blanks();
    if (at_ < text_.size() && text_[at_] != ';') fail("the call has ended");
    return arguments;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::usage, fmt::format("{}: column {}: \"{}\": {}", place_, at_ + 1,
                                              cut(std::string(text_.substr(std::min(at_, text_.size()), 24))), why));
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

  // "torch.nn.functional.x": its last name.
  std::string read_path() {
    std::string name;
    do {
      blanks();
      const size_t begin = at_;
      while (at_ < text_.size() && is_name(text_[at_])) ++at_;
      if (begin == at_) fail("a name is missing");
      name = text_.substr(begin, at_ - begin);
    } while (take('.'));
    return name;
  }

  // Between brackets, to `end`.
  Arguments read_list(char end) {
    if (++depth_ > deepest) fail("it is nested too deeply");
    Arguments arguments;
    while (!take(end)) {
      const size_t begin = at_;
      blanks();
      size_t after = at_;
      while (after < text_.size() && is_name(text_[after])) ++after;
      const std::string name(text_.substr(at_, after - at_));
      const size_t equals = text_.find_first_not_of(' ', after);
      if (!name.empty() && equals != std::string_view::npos && text_[equals] == '=' &&
          text_.substr(equals, 2) != "==") {
        at_ = equals + 1;
        if (arguments.named.contains(name)) fail(fmt::format("{} is given twice", name));
        arguments.named[name] = read_value();
      } else {
        at_ = begin;
        arguments.values.push_back(read_value());
      }
      if (!take(',') && !next_is(end)) fail(fmt::format("',' or '{}' is missing", end));
    }
    --depth_;
    return arguments;
  }
  Arguments read_arguments() {
    expect('(');
    return read_list(')');
  }

  Json read_value() {
    Json value = read_plain();
    while (is_tensor(value) && take('.')) value = read_method(std::move(value));
    return value;
  }

  Json read_plain() {
    blanks();
    if (take('(')) return read_list(')').values;
    if (take('[')) return read_list(']').values;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return read_text();
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-' || text_[at_] == '.'))
      return read_number();
    const std::string name = read_path();
    if (name == "True" || name == "False") return name == "True";
    if (name == "None") return nullptr;
    if (take('[')) return Json{{"shape", sizes(read_list(']').values)}};
    if (next_is('(')) return read_maker(name);
    return name;  // torch.bfloat16, and whatever is a word to the reader
  }

  Json read_text() {
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("the quotation has no end");
    std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }

  Json read_number() {
    const size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '.' ||
                                  (text_[at_] == '-' && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (const auto whole = parse_number<int64_t>(digits)) return *whole;
    if (const auto real = parse_number<double>(digits)) return *real;
    at_ = begin;
    fail("not a number; an expression has to be given as its value");
  }

  Json sizes(const Json& values) const {
    const Json& list = values.size() == 1 && values[0].is_array() ? values[0] : values;
    if (list.empty() || !std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_number_integer(); }))
      fail("a tensor's sizes have to be whole numbers, as in q[2, 32, 4096, 128]");
    return list;
  }

  // torch.randn(2, 8, 1024, 64, dtype=torch.half), jax.random.normal(key, (2, 1024, 8, 64), jnp.bfloat16), torch.full((…), 0.5).
  Json read_maker(const std::string& name) {
    if (std::find(makers.begin(), makers.end(), name) == makers.end())
      fail(fmt::format("{} makes no tensor that is known; allowed: q[2, 32, 4096, 128], {}", name,
                       fmt::join(makers, ", ")));
    const Arguments given = read_arguments();
    Json tensor = {{"shape", Json()}};
    Json whole = Json::array();
    for (const Json& value : given.values) {
      if (value.is_array() && tensor["shape"].is_null())
        tensor["shape"] = sizes(value);
      else if (value.is_number_integer() && name != "full" && name != "randint")
        whole.push_back(value);
      else if (value.is_string() && parse_word<DataType>(value.get<std::string>()))
        tensor["dtype"] = value;
    }
    for (const char* key : {"size", "shape"})
      if (given.named.contains(key)) tensor["shape"] = sizes(given.named[key]);
    if (tensor["shape"].is_null()) tensor["shape"] = sizes(whole);
    for (const char* key : {"dtype", "requires_grad", "device"})
      if (given.named.contains(key) && !given.named[key].is_null()) tensor[key] = given.named[key];
    return tensor;
  }

  Json read_method(Json tensor) {
    const std::string name = read_path();
    const Arguments given = read_arguments();
    for (const auto& [method, type] : casts)
      if (name == method) tensor["dtype"] = std::string(type);
    if (name == "requires_grad_") tensor["requires_grad"] = given.values.empty() || given.values[0] == Json(true);
    if (name == "to" || name == "astype" || name == "type") {
      for (const Json& value : given.values)
        if (value.is_string() && parse_word<DataType>(value.get<std::string>())) tensor["dtype"] = value;
      if (given.named.contains("dtype")) tensor["dtype"] = given.named["dtype"];
    } else if (name == "transpose" || name == "swapaxes" || name == "permute") {
      reorder(tensor, name == "permute" ? sizes(given.values) : swapped(tensor, given.values));
    } else if (name == "contiguous") {
      tensor.erase("strides");
    } else if (name != "requires_grad_" && std::find(keeps.begin(), keeps.end(), name) == keeps.end() &&
               std::none_of(casts.begin(), casts.end(), [&](const auto& cast) { return cast.first == name; })) {
      fail(fmt::format(
          "{}() of a tensor is not known; allowed: transpose, permute, contiguous, half, bfloat16, float, to, cuda, "
          "requires_grad_",
          name));
    }
    return tensor;
  }

  static int64_t axis_of(const Json& value, size_t rank) {
    const auto axis = value.get<int64_t>();
    return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  }

  Json swapped(const Json& tensor, const Json& axes) const {
    const size_t rank = tensor["shape"].size();
    Json order = Json::array();
    for (size_t i = 0; i < rank; ++i) order.push_back(i);
    if (axes.size() != 2 || !axes[0].is_number_integer() || !axes[1].is_number_integer()) fail("two axes are wanted");
    const int64_t a = axis_of(axes[0], rank), b = axis_of(axes[1], rank);
    if (std::min(a, b) < 0 || std::max(a, b) >= static_cast<int64_t>(rank))
      fail(fmt::format("the tensor has {} axes", rank));
    std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
    return order;
  }

  void reorder(Json& tensor, const Json& order) const {
    const auto shape = tensor["shape"].get<std::vector<int64_t>>();
    const auto strides =
        tensor.contains("strides") ? tensor["strides"].get<std::vector<int64_t>>() : contiguous_strides(shape);
    std::vector<int64_t> new_shape, new_strides;
    for (const Json& one : order) {
      const int64_t axis = axis_of(one, shape.size());
      if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
        fail(fmt::format("the tensor has {} axes", shape.size()));
      new_shape.push_back(shape[static_cast<size_t>(axis)]);
      new_strides.push_back(strides[static_cast<size_t>(axis)]);
    }
    if (new_shape.size() != shape.size()) fail(fmt::format("the tensor has {} axes", shape.size()));
    tensor["shape"] = new_shape;
    tensor["strides"] = new_strides;
  }

  std::string_view text_;
  std::string place_;
  size_t at_ = 0, depth_ = 0;
};

}  // namespace

bool is_python_call(std::string_view text, std::string_view function) {
  const size_t at = text.find(function);
  if (at == std::string_view::npos) return false;
  std::string_view before = text.substr(0, at);
  before.remove_prefix(before.rfind('=') + 1);  // "out = F."
  const size_t after = text.find_first_not_of(' ', at + function.size());
  return after != std::string_view::npos && text[after] == '(' &&
         std::all_of(before.begin(), before.end(), [](char c) { return is_name(c) || c == '.' || c == ' '; });
}

Json read_python_call(std::string_view text, const std::string& place, const std::vector<std::string>& positional) {
  text.remove_prefix(text.substr(0, text.find('(')).rfind('=') + 1);
  PythonReader reader(text, place);
  Arguments arguments = reader.read_call();
  if (arguments.values.size() > positional.size())
    throw Error(ErrorKind::usage, fmt::format("{}: {} arguments without a name; allowed: {}", place,
                                              arguments.values.size(), fmt::join(positional, ", ")));
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    if (arguments.named.contains(positional[i]))
      throw Error(ErrorKind::usage, fmt::format("{}: {} is given twice", place, positional[i]));
    arguments.named[positional[i]] = arguments.values[i];
  }
  // What is not given.
  for (auto one = arguments.named.begin(); one != arguments.named.end();)
    one = one->is_null() ? arguments.named.erase(one) : std::next(one);
  return arguments.named;
}

}  // namespace attnprobe::frameworks
