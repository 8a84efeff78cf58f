#include "frameworks/calls/python_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/calls/python_expression.hpp"

namespace attnprobe::frameworks {

bool is_python_call(std::string_view text, std::string_view function) {
  const size_t at = text.find(function);
  if (at == std::string_view::npos) return false;
  std::string_view before = text.substr(0, at);
  if (before.find('\n') != std::string_view::npos) return false;  // a call within a program
  before.remove_prefix(before.rfind('=') + 1);                    // "out = F."
  before = trim(before);
  constexpr std::string_view result = "return ";
  if (before.starts_with(result)) before.remove_prefix(result.size());
  const size_t after = text.find_first_not_of(' ', at + function.size());
  const auto may_be_before = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  return after != std::string_view::npos && text[after] == '(' &&
         std::all_of(before.begin(), before.end(), may_be_before);
}

Json read_python_call(std::string_view text, const std::string& place, const std::vector<std::string>& positional) try {
  PythonScope scope;
  scope.strict = true;
  scope.default_dtype.clear();
  PythonArguments arguments = evaluate_arguments(text, scope);
  if (arguments.values.size() > positional.size())
    throw Error(ErrorKind::usage, fmt::format("{} arguments without a name; allowed: {}", arguments.values.size(),
                                              fmt::join(positional, ", ")));
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    if (arguments.named.contains(positional[i]))
      throw Error(ErrorKind::usage, fmt::format("{} is given twice", positional[i]));
    arguments.named[positional[i]] = arguments.values[i];
  }
  for (auto one = arguments.named.begin(); one != arguments.named.end();) {
    // torch.bfloat16, and other dotted names, become their last word.
    if (one->is_object() && one->contains("path")) {
      const auto path = (*one)["path"].get<std::string>();
      *one = path.substr(path.rfind('.') + 1);
    }
    // None counts as absent.
    one = one->is_null() ? arguments.named.erase(one) : std::next(one);
  }
  return arguments.named;
} catch (const Error& e) {
  throw Error(e.kind(), fmt::format("{}: {}", place, e.what()));
}

}  // namespace attnprobe::frameworks
