#include "base/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input.hpp"
#include "base/text.hpp"

namespace attnprobe {
namespace {

std::string place_of(const JsonSource& source, const std::string& pointer) {
  return pointer.empty() ? source.name : source.name + source.joint + cut(pointer);
}

// Keys of one object. An ordered object has no index, so each key is compared with all previous keys.
constexpr size_t most_keys = 4096;
constexpr size_t usual_keys = 8;  // keys of rules, messages and results

// Builds the value while the parser reads, like the library's own builder, but stops at refused values.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  // Without a source it stops silently.
  StrictBuilder(std::string_view text, const JsonSource* source, const JsonRules& rules)
      : text_(text), source_(source), rules_(rules) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(size_t) override { return open(object_with_room(usual_keys)); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Json& object = *open_.back();
    // One search per key: an ordered object has no index.
    const size_t known = object.size();
    slot_ = &object[key];
    if (object.size() == known && source_ != nullptr)
      fail(pointer() + "/" + pointer_part(key), fmt::format("the key \"{}\" appears twice in one object", cut(key)));
    if (object.size() > most_keys) return refuse(fmt::format("an object of more than {} keys", most_keys));
    keys_.back() = std::move(key);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    if (source_ == nullptr) return false;
    std::string reason = e.what();
    // "[json.exception.parse_error.101] parse error at line 3, column 0: syntax error while …". The library reports the
    // line of the last token, which may not be the wrong line.
    if (const size_t end = reason.find("] "); end != std::string::npos) reason.erase(0, end + 2);
    if (const size_t end = reason.find(": "); reason.rfind("parse error at", 0) == 0 && end != std::string::npos)
      reason.erase(0, end + 2);
    reason = cut(reason);  // the message quotes the last token
    if (!source_->is_file)
      throw Error(source_->kind, fmt::format("{}: {} is not valid JSON: {}", source_->name, cut(text_), reason));
    // `position` counts the last character read. If that is a newline, it ends the wrong line.
    const size_t byte = std::min(std::max<size_t>(position, 1) - 1, text_.size());
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(byte), '\n') + 1;
    throw Error(source_->kind, fmt::format("{}:{}: not valid JSON: {}", source_->name, line, reason));
  }

 private:
  template <class T>
  bool add(T&& value) {
    place() = std::forward<T>(value);
    return true;
  }

  bool open(Json&& container) {
    Json& opened = place();
    opened = std::move(container);
    open_.push_back(&opened);
    keys_.emplace_back();
    return open_.size() <= rules_.deepest || refuse(fmt::format("nested deeper than {}", rules_.deepest));
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  // The slot for the next value. Each open value is its parent's last element, so a growing parent never moves it.
  Json& place() {
    if (open_.empty()) return root_;
    if (open_.back()->is_object()) return *slot_;
    return open_.back()->emplace_back(nullptr);
  }

  std::string pointer() const {
    std::string pointer;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      pointer += '/';
      pointer += open_[i]->is_array() ? std::to_string(open_[i]->size() - 1) : pointer_part(keys_[i]);
    }
    return pointer;
  }

  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const {
    throw Error(source_->kind, place_of(*source_, pointer) + ": " + message);
  }

  bool refuse(const std::string& message) const {
    if (source_ != nullptr) fail(pointer(), message);
    return false;
  }

  std::string_view text_;
  const JsonSource* source_;
  const JsonRules& rules_;
  Json root_;
  std::vector<Json*> open_;
  std::vector<std::string> keys_;  // the last key of each open object; "" for an array
  Json* slot_ = nullptr;           // the slot of the last key
};

}  // namespace

Json parse_json(std::string_view text, const JsonSource& source, const JsonRules& rules) {
  StrictBuilder builder(text, &source, rules);
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true, rules.comments);
  return builder.take();
}

Json parse_json_leniently(std::string_view text) {
  const JsonRules rules{.comments = false};
  StrictBuilder builder(text, nullptr, rules);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return Json(Json::value_t::discarded);
  return builder.take();
}

Json load_json(const std::string& file, const JsonRules& rules) {
  return parse_json(input_text(file), {input_name(file)}, rules);
}

std::string JsonView::where() const {
  return place_of(*source_, pointer_);
}

std::string JsonView::shown() const {
  return cut(json_text(*value_));
}

void JsonView::fail(const std::string& message) const {
  throw Error(source_->kind, where() + ": " + message);
}

void JsonView::fail_unless_it_is(const std::string& wanted) const {
  fail(fmt::format("{} is not {}", shown(), wanted));
}

void JsonView::fail_out_of_range(const std::string& range) const {
  fail(fmt::format("{} is out of range; allowed: {}", shown(), range));
}

void JsonView::fail_unless_one_of(const std::vector<std::string>& allowed) const {
  const std::string word = value_->is_string() ? value_->get<std::string>() : shown();
  fail(fmt::format("{} is not a known value; allowed: {}{}", shown(), quoted_list(allowed),
                   did_you_mean(word, allowed)));
}

JsonView JsonView::below(const Json& value, const std::string& part) const {
  JsonView view = *this;
  view.value_ = &value;
  view.pointer_ += "/" + part;
  return view;
}

JsonView JsonView::with(const Json& value) const {
  JsonView view = *this;
  view.value_ = &value;
  return view;
}

JsonView JsonView::at(const std::string& key) const {
  if (!value_->is_object()) fail_unless_it_is("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) fail(fmt::format("the key \"{}\" is missing", cut(key)));
  return below(*found, pointer_part(key));
}

JsonView JsonView::at(size_t index) const {
  return below((*value_)[index], std::to_string(index));
}

std::optional<JsonView> JsonView::find(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return at(key);
}

std::vector<JsonView> JsonView::values() const {
  std::vector<JsonView> all;
  if (value_->is_object())
    for (const auto& [key, value] : value_->items()) all.push_back(below(value, pointer_part(key)));
  else if (value_->is_array())
    for (size_t i = 0; i < value_->size(); ++i) all.push_back(at(i));
  else
    fail_unless_it_is("an object or an array");
  return all;
}

void JsonView::fail_unknown(const std::string& key, const std::vector<std::string>& allowed) const {
  at(key).fail(
      fmt::format("unknown key \"{}\"{}; allowed: {}", cut(key), did_you_mean(key, allowed), quoted_list(allowed)));
}

void JsonView::only_keys(const std::vector<std::string>& allowed) const {
  if (!value_->is_object()) fail_unless_it_is("an object");
  for (const auto& [key, value] : value_->items())
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) fail_unknown(key, allowed);
}

int64_t JsonView::integer(int64_t low, int64_t high) const {
  const bool any = low == std::numeric_limits<int64_t>::min() && high == std::numeric_limits<int64_t>::max();
  auto range = [&] { return any ? "an integer of 64 bits" : fmt::format("an integer from {} to {}", low, high); };
  if (!value_->is_number_integer()) fail_unless_it_is(any ? "an integer" : range());
  // Only an unsigned value can exceed int64.
  const bool fits = !value_->is_number_unsigned() ||
                    value_->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!fits) fail_out_of_range(range());
  const auto number = value_->get<int64_t>();
  if (number < low || number > high) fail_out_of_range(range());
  return number;
}

double JsonView::number() const {
  if (!value_->is_number()) fail_unless_it_is("a number");
  return value_->get<double>();
}

bool JsonView::boolean() const {
  if (!value_->is_boolean()) fail_unless_it_is("a boolean; allowed: true, false");
  return value_->get<bool>();
}

std::string JsonView::text() const {
  if (!value_->is_string()) fail_unless_it_is("text");
  return value_->get<std::string>();
}

std::string JsonView::word(const std::vector<std::string>& allowed) const {
  if (value_->is_string())
    if (const auto* meant = word_among(value_->get_ref<const std::string&>(), allowed)) return *meant;
  fail_unless_one_of(allowed);
}

std::vector<std::string> JsonView::texts() const {
  if (!value_->is_array()) fail_unless_it_is("an array of texts");
  std::vector<std::string> all;
  for (const auto& value : values()) all.push_back(value.text());
  return all;
}

std::vector<int64_t> JsonView::integers() const {
  if (!value_->is_array()) fail_unless_it_is("an array of integers");
  std::vector<int64_t> all;
  for (const auto& value : elements()) all.push_back(value.integer());
  return all;
}

std::vector<JsonView> JsonView::elements() const {
  if (!value_->is_array()) fail_unless_it_is("an array");
  return values();
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  if (!value_->is_object()) fail_unless_it_is("an object");
  std::vector<std::pair<std::string, JsonView>> all;
  for (const auto& [key, value] : value_->items()) all.emplace_back(key, below(value, pointer_part(key)));
  return all;
}

const Json* JsonView::set_member(const std::string& key) const {
  if (!value_->is_object()) fail_unless_it_is("an object");
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<JsonView> JsonView::find_set(const std::string& key) const {
  const Json* member = set_member(key);
  if (member == nullptr) return std::nullopt;
  return below(*member, pointer_part(key));
}

std::vector<JsonView> JsonView::elements_or_none(const std::string& key) const {
  const auto list = find_set(key);
  return list ? list->elements() : std::vector<JsonView>{};
}

bool JsonView::boolean_or(const std::string& key, bool otherwise) const {
  const Json* member = set_member(key);
  if (member == nullptr) return otherwise;
  return member->is_boolean() ? member->get<bool>() : at(key).boolean();
}

std::string JsonView::text_or(const std::string& key, const std::string& otherwise) const {
  const Json* member = set_member(key);
  if (member == nullptr) return otherwise;
  return member->is_string() ? member->get<std::string>() : at(key).text();
}

std::optional<int64_t> JsonView::optional_integer(const std::string& key, int64_t low, int64_t high) const {
  const auto member = find_set(key);
  if (!member) return std::nullopt;
  return member->integer(low, high);
}

std::optional<double> JsonView::optional_number(const std::string& key) const {
  const Json* member = set_member(key);
  if (member == nullptr) return std::nullopt;
  return member->is_number() ? member->get<double>() : at(key).number();
}

JsonObject::JsonObject(JsonView place) : place_(std::move(place)) {
  if (!place_.json().is_object()) place_.fail_unless_it_is("an object");
}

JsonView JsonObject::take(const std::string& key) {
  asked_.push_back(key);
  return place_.at(key);
}

std::optional<JsonView> JsonObject::find(const std::string& key) {
  asked_.push_back(key);
  return place_.find(key);
}

std::optional<JsonView> JsonObject::find_set(const std::string& key) {
  asked_.push_back(key);
  return place_.find_set(key);
}

std::vector<std::string> JsonObject::left() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : place_.json().items())
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) keys.push_back(key);
  return keys;
}

void JsonObject::finish() const {
  if (!left().empty()) place_.only_keys(asked_);
}

}  // namespace attnprobe
