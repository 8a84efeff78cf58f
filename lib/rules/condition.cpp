#include "rules/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

const ProblemKey& known_key(const std::string& name, const JsonView& place, const std::vector<ProblemKey>& keys) {
  if (const ProblemKey* key = find_key(keys, name)) return *key;
  std::vector<std::string> names{"all", "any", "not"};
  for (const auto& key : keys) names.push_back(key.name);
  place.fail(fmt::format("unknown key \"{}\"{}", name, did_you_mean(name, names)));
}

// Checks that the key can have the value; null means "not set".
void check_value(const ProblemKey& key, const JsonView& value) {
  if (value.json().is_null()) return;
  if (key.kind == KeyKind::boolean)
    value.boolean();
  else if (key.kind == KeyKind::number)
    value.number();
  else
    value.word(key.values);
}

void check_numeric(const ProblemKey& key, const JsonView& operand, const std::vector<ProblemKey>& keys) {
  if (key.kind != KeyKind::number) operand.fail(fmt::format("\"{}\" is compared as a number but is not one", key.name));
  if (operand.json().is_number()) return;
  if (!operand.json().is_string() || known_key(operand.text(), operand, keys).kind != KeyKind::number)
    operand.fail_unless_it_is("a number or the name of one");
}

void check_operator(const ProblemKey& key, const std::string& name, const JsonView& operand,
                    const std::vector<ProblemKey>& keys) {
  const auto& numeric = numeric_operators();
  if (std::find(numeric.begin(), numeric.end(), name) != numeric.end()) {
    check_numeric(key, operand, keys);
  } else if (name == "equal_to" || name == "not_equal_to") {
    if (!operand.json().is_string() || known_key(operand.text(), operand, keys).kind != key.kind)
      operand.fail_unless_it_is(fmt::format("the name of another {}", name_of(key.kind)));
  } else if (name == "in") {
    if (!operand.json().is_array() || operand.json().empty()) operand.fail_unless_it_is("an array of values");
    for (const JsonView& value : operand.elements()) check_value(key, value);
  } else if (name == "not") {
    check_value(key, operand);
  } else if (name == "set") {
    operand.boolean();
  } else {
    const auto all = all_operators();
    operand.fail(
        fmt::format("unknown operator \"{}\"{}; allowed: {}", name, did_you_mean(name, all), quoted_list(all)));
  }
}

// Iterates over the members directly, because items() would build a string for each, and every answer is tested with
// hundreds of conditions.
const Json::object_t& members(const Json& object) {
  return object.get_ref<const Json::object_t&>();
}

const std::string& text_of(const Json& json) {
  return json.get_ref<const std::string&>();
}

double operand_value(const Json& operand, const Json& problem) {
  const Json& value = operand.is_string() ? problem.at(text_of(operand)) : operand;
  return value.is_null() ? std::nan("") : value.get<double>();
}

bool is_multiple(double value, double of) {
  return of != 0 && std::fmod(value, of) == 0;
}

// A value that is not set becomes NaN, so that every comparison with it is false.
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
  if (name == "equal_to") return value == problem.at(text_of(operand));
  if (name == "not_equal_to") return value != problem.at(text_of(operand));
  return compare(name, value.get<double>(), operand_value(operand, problem));
}

bool key_holds(const Json& value, const Json& wanted, const Json& problem) {
  if (!wanted.is_object()) return value == wanted;
  for (const auto& [name, operand] : members(wanted))
    if (!operator_holds(name, value, operand, problem)) return false;
  return true;
}

}  // namespace

void check_condition(const JsonView& condition, const std::vector<ProblemKey>& keys) {
  if (!condition.json().is_object() || condition.json().empty())
    condition.fail_unless_it_is("a condition: a non-empty object");
  for (const auto& [name, value] : condition.members()) {
    if (name == "all" || name == "any") {
      if (!value.json().is_array() || value.json().empty()) value.fail_unless_it_is("an array of conditions");
      for (const JsonView& part : value.elements()) check_condition(part, keys);
    } else if (name == "not") {
      check_condition(value, keys);
    } else {
      const ProblemKey& key = known_key(name, value, keys);
      if (!value.json().is_object()) {
        check_value(key, value);
        continue;
      }
      if (value.json().empty()) value.fail("it has no operator");
      for (const auto& [operation, operand] : value.members()) check_operator(key, operation, operand, keys);
    }
  }
}

bool holds(const Json& condition, const Json& problem) {
  auto part_holds = [&](const Json& part) { return holds(part, problem); };
  for (const auto& [name, value] : members(condition)) {
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

namespace {

bool is_key_known(const std::string& name, const Json& wanted, const Json& known) {
  if (!known.contains(name)) return false;
  if (!wanted.is_object()) return true;
  return std::ranges::all_of(members(wanted), [&](const auto& member) {
    const auto& [operation, operand] = member;
    const bool is_of_key = operation != "in" && operation != "not" && operand.is_string();
    return !is_of_key || known.contains(text_of(operand));
  });
}

// Whether it depends on known keys only.
bool is_known(const Json& condition, const Json& known) {
  return std::ranges::all_of(members(condition), [&](const auto& member) {
    const auto& [name, value] = member;
    if (name == "not") return is_known(value, known);
    if (name != "all" && name != "any") return is_key_known(name, value, known);
    return std::ranges::all_of(value, [&](const Json& part) { return is_known(part, known); });
  });
}

}  // namespace

bool may_hold(const Json& condition, const Json& known) {
  const auto part_may = [&](const Json& part) { return may_hold(part, known); };
  return std::ranges::all_of(members(condition), [&](const auto& member) {
    const auto& [name, value] = member;
    if (name == "all") return std::ranges::all_of(value, part_may);
    if (name == "any") return std::ranges::any_of(value, part_may);
    if (name == "not") return !is_known(value, known) || !holds(value, known);
    return !is_key_known(name, value, known) || key_holds(known.at(name), value, known);
  });
}

}  // namespace attnprobe::rules
