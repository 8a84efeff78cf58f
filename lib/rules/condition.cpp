#include "rules/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/flat_problem.hpp"

namespace attnprobe::rules {
namespace {

const std::vector<std::string>& numeric_operators() {
  static const std::vector<std::string> names{"min", "max", "above", "below", "multiple_of", "not_multiple_of"};
  return names;
}

std::vector<std::string> all_operators() {
  std::vector<std::string> names = numeric_operators();
  names.insert(names.end(), {"equal_to", "not_equal_to", "in", "not", "set"});
  return names;
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::internal, fmt::format("{}: {}", where, what));
}

// What a condition may speak of, and where it stands, for messages.
struct Place {
  const std::string& where;
  const std::vector<ProblemKey>& keys;
};

const ProblemKey& known_key(const std::string& name, const Place& place) {
  if (const ProblemKey* key = find_key(place.keys, name)) return *key;
  std::vector<std::string> names{"all", "any", "not"};
  for (const auto& key : place.keys) names.push_back(key.name);
  fail(place.where, fmt::format("unknown key \"{}\"{}", name, did_you_mean(name, names)));
}

// A value that the key can have; null stands for "not set".
void check_value(const ProblemKey& key, const Json& value, const std::string& where) {
  if (value.is_null()) return;
  const bool fits = key.kind == KeyKind::boolean  ? value.is_boolean()
                    : key.kind == KeyKind::number ? value.is_number()
                                                  : value.is_string();
  if (!fits) fail(where, fmt::format("\"{}\" is a {}, not {}", key.name, name_of(key.kind), json_text(value)));
  if (key.kind != KeyKind::text) return;
  const auto& allowed = key.values;
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
    fail(where, fmt::format("\"{}\" is never {}; it is one of {}", key.name, json_text(value), quoted_list(allowed)));
}

void check_numeric(const ProblemKey& key, const std::string& name, const Json& operand, const Place& place) {
  if (key.kind != KeyKind::number)
    fail(place.where, fmt::format("\"{}\" is not a number: \"{}\" means nothing", key.name, name));
  if (operand.is_number()) return;
  if (!operand.is_string())
    fail(place.where, fmt::format("\"{}\" wants a number or the name of a key, not {}", name, json_text(operand)));
  if (known_key(operand, place).kind != KeyKind::number)
    fail(place.where, fmt::format("\"{}\" is not a number", operand.get<std::string>()));
}

void check_operator(const ProblemKey& key, const std::string& name, const Json& operand, const Place& place) {
  const auto& numeric = numeric_operators();
  if (std::find(numeric.begin(), numeric.end(), name) != numeric.end()) {
    check_numeric(key, name, operand, place);
  } else if (name == "equal_to" || name == "not_equal_to") {
    if (!operand.is_string() || known_key(operand, place).kind != key.kind)
      fail(place.where, fmt::format("\"{}\" wants the name of another {}", name, name_of(key.kind)));
  } else if (name == "in") {
    if (!operand.is_array() || operand.empty()) fail(place.where, "\"in\" wants an array of values");
    for (const Json& value : operand) check_value(key, value, place.where);
  } else if (name == "not") {
    check_value(key, operand, place.where);
  } else if (name == "set") {
    if (!operand.is_boolean()) fail(place.where, "\"set\" wants true or false");
  } else {
    fail(place.where,
         fmt::format("unknown operator \"{}\" of \"{}\"{}", name, key.name, did_you_mean(name, all_operators())));
  }
}

double operand_value(const Json& operand, const Json& problem) {
  const Json& value = operand.is_string() ? problem.at(operand.get<std::string>()) : operand;
  return value.is_null() ? std::nan("") : value.get<double>();
}

bool is_multiple(double value, double of) {
  return of != 0 && std::fmod(value, of) == 0;
}

// Every comparison with a value that is not set is false: NaN sees to it.
bool compare(const std::string& name, double value, double operand) {
  if (std::isnan(value) || std::isnan(operand)) return false;
  if (name == "min") return value >= operand;
  if (name == "max") return value <= operand;
  if (name == "above") return value > operand;
  if (name == "below") return value < operand;
  return is_multiple(value, operand) == (name == "multiple_of");
}

bool operator_holds(const std::string& name, const Json& value, const Json& operand, const Json& problem) {
  if (name == "set") return !value.is_null() == operand.get<bool>();
  if (name == "not") return value != operand;
  if (value.is_null()) return false;
  if (name == "in") return std::find(operand.begin(), operand.end(), value) != operand.end();
  if (name == "equal_to") return value == problem.at(operand.get<std::string>());
  if (name == "not_equal_to") return value != problem.at(operand.get<std::string>());
  return compare(name, value.get<double>(), operand_value(operand, problem));
}

bool key_holds(const Json& value, const Json& wanted, const Json& problem) {
  if (!wanted.is_object()) return value == wanted;
  for (const auto& [name, operand] : wanted.items())
    if (!operator_holds(name, value, operand, problem)) return false;
  return true;
}

}  // namespace

void check_condition(const Json& condition, const std::string& where, const std::vector<ProblemKey>& keys) {
  const Place place{where, keys};
  if (!condition.is_object() || condition.empty()) fail(where, "a condition is an object that is not empty");
  for (const auto& [name, value] : condition.items()) {
    if (name == "all" || name == "any") {
      if (!value.is_array() || value.empty()) fail(where, fmt::format("\"{}\" wants an array of conditions", name));
      for (const Json& part : value) check_condition(part, where, keys);
    } else if (name == "not") {
      check_condition(value, where, keys);
    } else {
      const ProblemKey& key = known_key(name, place);
      if (!value.is_object()) {
        check_value(key, value, where);
        continue;
      }
      if (value.empty()) fail(where, fmt::format("\"{}\" has no operator", name));
      for (const auto& [operation, operand] : value.items()) check_operator(key, operation, operand, place);
    }
  }
}

bool holds(const Json& condition, const Json& problem) {
  auto part_holds = [&](const Json& part) { return holds(part, problem); };
  for (const auto& [name, value] : condition.items()) {
    bool good = false;
    if (name == "all")
      good = std::all_of(value.begin(), value.end(), part_holds);
    else if (name == "any")
      good = std::any_of(value.begin(), value.end(), part_holds);
    else if (name == "not")
      good = !part_holds(value);
    else
      good = key_holds(problem.at(name), value, problem);
    if (!good) return false;
  }
  return true;
}

}  // namespace attnprobe::rules
