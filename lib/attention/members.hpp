// Object forms in configs: reading, writing, JSON Schema and docs/config.md use one row per member. Internal.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "attention/fields.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::attention {

// ---- JSON Schema of single values

inline const Json boolean_schema = {{"type", "boolean"}};
inline const Json extent_schema = {{"type", "integer"}, {"minimum", 1}, {"maximum", max_extent}};
inline const Json count_schema = {{"type", "integer"}, {"minimum", 0}, {"maximum", max_extent}};
Json words_schema(const std::vector<std::string>& words);
/// The schema of strides().
Json strides_schema();

/// Four strides; `axes` names their order in messages.
Strides strides(const JsonView& view, const std::string& axes);

// ---- members

template <class T>
struct Member {
  std::string name;
  std::string help;  ///< one line
  Json schema;
  std::function<void(T&, const JsonView&)> read;  ///< throws Error(usage) at the place
  std::function<Json(const T&)> write;            ///< null: omitted
  bool required = false;
};

/// A feature that is an object, "none", or the value of one member.
template <class T>
struct ObjectForm {
  std::vector<Member<T>> members;
  std::string principal;  ///< that member; "": none
};

template <class T>
Member<T> flag_member(const std::string& name, const std::string& help, bool T::*member) {
  return {name, help, boolean_schema, [member](T& t, const JsonView& v) { t.*member = v.boolean(); },
          [member](const T& t) { return Json(t.*member); }};
}

template <class T, class E>
Member<T> word_member(const std::string& name, const std::string& help, E T::*member) {
  return {name, help, words_schema(names_of<E>()), [member](T& t, const JsonView& v) { t.*member = v.one_of<E>(); },
          [member](const T& t) { return Json(name_of(t.*member)); }};
}

/// Omitted if the spec leaves the choice open.
template <class T, class E>
Member<T> word_member(const std::string& name, const std::string& help, std::optional<E> T::*member,
                      const std::vector<std::string>& allowed = names_of<E>()) {
  return {name, help, words_schema(allowed),
          [member, allowed](T& t, const JsonView& v) { t.*member = v.one_of<E>(allowed); },
          [member](const T& t) { return t.*member ? Json(name_of(*(t.*member))) : Json(); }};
}

template <class T>
void read_members(const std::vector<Member<T>>& members, const JsonView& view, T& object) {
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const auto& member : members) names.push_back(member.name);
  view.only_keys(names);
  for (const auto& member : members)
    if (member.required || view.has(member.name)) member.read(object, view.at(member.name));
}

template <class T>
Json write_members(const std::vector<Member<T>>& members, const T& object) {
  Json json = object_with_room(members.size());
  for (const auto& member : members)
    if (Json value = member.write(object); !value.is_null()) json[member.name] = std::move(value);
  return json;
}

template <class T>
Json members_schema(const std::vector<Member<T>>& members) {
  Json properties = Json::object(), required = Json::array();
  for (const auto& member : members) {
    properties[member.name] = member.schema;
    properties[member.name]["description"] = member.help;
    if (member.required) required.push_back(member.name);
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", required}};
}

/// The rows for docs/config.md, with each member's default.
template <class T>
std::vector<MemberDoc> members_docs(const std::vector<Member<T>>& members) {
  std::vector<MemberDoc> docs;
  docs.reserve(members.size());
  for (const auto& member : members)
    docs.push_back(
        {member.name, member.help, member.schema, member.required ? Json() : member.write(T()), member.required});
  return docs;
}

/// None for "none".
template <class T>
std::optional<T> read_form(const ObjectForm<T>& form, const JsonView& view) {
  if (view.json() == "none") return std::nullopt;
  T object;
  if (view.json().is_object())
    read_members(form.members, view, object);
  else
    for (const auto& member : form.members)
      if (member.name == form.principal) member.read(object, view);
  return object;
}

/// The shortest form, for a command line: without defaults, and only the principal member's value if no other member
/// remains.
template <class T>
Json write_brief(const ObjectForm<T>& form, const T& object) {
  const Json usual = write_members(form.members, T());
  Json json = write_members(form.members, object);
  for (const auto& [name, value] : usual.items())
    if (name != form.principal && json.contains(name) && json[name] == value) json.erase(name);
  const bool alone = json.size() == 1 && json.contains(form.principal);
  return alone ? Json(json[form.principal]) : json;
}

/// For Field::as_object.
template <class T>
Json object_of(const ObjectForm<T>& form, const std::optional<T>& object) {
  if (!object) return {};
  Json json = write_brief(form, *object);
  return json.is_object() ? json : Json{{form.principal, std::move(json)}};
}

template <class T>
Json form_schema(const ObjectForm<T>& form) {
  Json any = Json::array();
  for (const auto& member : form.members)
    if (member.name == form.principal) any.push_back(member.schema);
  any.push_back(words_schema({"none"}));
  any.push_back(members_schema(form.members));
  return {{"anyOf", any}};
}

}  // namespace attnprobe::attention
