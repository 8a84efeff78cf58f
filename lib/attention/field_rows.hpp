// The tables that make up fields(), and their common kinds of rows. Internal.
#pragma once

#include <string>
#include <vector>

#include "attention/members.hpp"

namespace attnprobe::attention {

// The kind and size of the problem; types and layouts of its tensors; operations on the scores and outputs other than
// O.
std::vector<Field> problem_fields();
std::vector<Field> tensor_fields();
std::vector<Field> feature_fields();
std::vector<Field> mask_fields();
// Features added after cuDNN 9.21, and the release of cudnn-frontend.
std::vector<Field> newer_fields();

/// A size of at least 1. If absent, it is derived from other fields.
Field optional_extent(const std::string& name, const std::string& help, std::optional<int64_t> AttentionSpec::*member);
/// Absent means false; only true is written.
Field flag(const std::string& name, const std::string& help, bool AttentionSpec::*member);

/// The layout of one tensor: axes, or strides.
TensorLayout tensor_layout(const JsonView& view);
Json to_json(const TensorLayout& layout);
Json tensor_layout_schema();

/// A feature with an object form. `member` is none if the config does not set it.
template <class T>
Field form_field(const std::string& name, const std::string& help, std::optional<T> AttentionSpec::*member,
                 const ObjectForm<T>& form) {
  Field field{.name = name, .help = help, .schema = form_schema(form)};
  field.set = [member, form](AttentionSpec& s, const JsonView& v) { s.*member = read_form(form, v); };
  field.get = [member, form](const AttentionSpec& s) {
    return s.*member ? write_members(form.members, *(s.*member)) : Json();
  };
  field.brief = [member, form](const AttentionSpec& s) { return write_brief(form, *(s.*member)); };
  field.as_object = [form](const JsonView& v) { return object_of(form, read_form(form, v)); };
  field.set_by_word = {form.principal};
  field.otherwise = "`none`";
  field.members = members_docs(form.members);
  return field;
}

}  // namespace attnprobe::attention
