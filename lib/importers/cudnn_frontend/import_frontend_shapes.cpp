// Shapes, layouts and types of one attention node of cudnn-frontend.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "importers/cudnn_frontend/import_frontend_reader.hpp"

namespace attnprobe::importers {

using attention::Bias;
using attention::Paged;
using attention::TensorLayout;

StridedTensor FrontendAttentionReader::strided(const FrontendTensor& t) const {
  const FrontendPlace place = tensor_place(t);
  auto four = [&](const char* key) {
    if (!place.has(key) || place.at(key).json().size() != 4)
      (place.has(key) ? place.at(key) : place).wrong(fmt::format("four integers as \"{}\"", key));
  };
  four("dim");
  four("stride");
  for (size_t i = 0; i < 4; ++i) place.at("dim").at(i).integer(1, longest_extent);
  StridedTensor s;
  s.shape = {t.dims[0], t.dims[1], t.dims[2], t.dims[3]};
  std::copy(t.strides.begin(), t.strides.end(), s.strides.begin());
  s.ragged = t.ragged;
  return s;
}

StridedTensor FrontendAttentionReader::key_or_value(const FrontendTensor& t) const {
  StridedTensor s = strided(t);
  if (s.strides[3] != 1 && s.strides[2] == 1) {
    std::swap(s.strides[2], s.strides[3]);
    std::swap(s.shape.seqlen, s.shape.head_dim);
  }
  return s;
}

void FrontendAttentionReader::read_shapes() {
  q_ = strided(needed("Q"));
  k_ = key_or_value(needed("K"));
  v_ = key_or_value(needed("V"));
  spec_.batch = q_.shape.batch;
  spec_.heads_q = q_.shape.heads;
  spec_.seqlen_q = q_.shape.seqlen;
  spec_.head_dim_qk = q_.shape.head_dim;
  spec_.heads_kv = k_.shape.heads;
  spec_.head_dim_v = v_.shape.head_dim;
  if (v_.shape.heads != k_.shape.heads) spec_.heads_v = v_.shape.heads;
  if (inputs_.count("Page_table_K") != 0 || inputs_.count("Page_table_V") != 0) read_paged();
  spec_.seqlen_kv = key_length();
  auto agree = [&](const char* port, size_t axis, int64_t found, int64_t wanted) {
    if (found != wanted)
      tensor_place(needed(port))
          .at("dim")
          .wrong(fmt::format("{} along axis {} (of the others), not {}", wanted, axis, found));
  };
  agree("K", 3, k_.shape.head_dim, q_.shape.head_dim);
  if (!paged_k()) agree("K", 0, k_.shape.batch, q_.shape.batch);
  if (!paged_v()) agree("V", 0, v_.shape.batch, q_.shape.batch);
  if (!paged_k()) agree("K", 2, k_.shape.seqlen, spec_.seqlen_kv);
  if (!paged_v()) agree("V", 2, v_.shape.seqlen, spec_.seqlen_kv);
}

void FrontendAttentionReader::read_paged() {
  Paged paged;
  const auto table_k = input("Page_table_K"), table_v = input("Page_table_V");
  paged.k = table_k.has_value();
  paged.v = table_v.has_value();
  const StridedTensor& container = paged.k ? k_ : v_;
  paged.block_size = container.shape.seqlen;
  if (paged.k && paged.v && v_.shape.seqlen != k_.shape.seqlen)
    tensor_place(needed("V"))
        .at("dim")
        .wrong(fmt::format("blocks of {} tokens, as K has them; a config has one block size", k_.shape.seqlen));
  const TensorLayout layout = layout_of({container.shape, container.strides, false});
  if (layout.strides)
    note("the strides of the paged container match no named layout; \"bhsd\" is assumed");
  else
    paged.layout = layout.axes;
  if (paged.k && paged.v && !has_layout({v_.shape, v_.strides, false}, {paged.layout, {}}))
    note("the containers of K and V have different layouts; that of K is used for both");
  const FrontendTensor& table = paged.k ? *table_k : *table_v;
  paged.packed_table = table.ragged;
  spec_.paged = paged;
}

int64_t FrontendAttentionReader::key_length() const {
  if (const auto given = node_.optional_integer("max_seq_len_kv", 1, longest_extent)) return *given;
  if (!paged_k()) return k_.shape.seqlen;
  if (!paged_v()) return v_.shape.seqlen;
  for (const auto& t : {input("Bias"), output("RNG_DUMP")})
    if (t && t->dims.size() == 4) return t->dims[3];
  const FrontendTensor table = needed("Page_table_K");
  if (table.dims.size() != 4) tensor_place(table).wrong("a page table of four dims");
  return std::min(table.dims[2], longest_extent / spec_.paged->block_size) * spec_.paged->block_size;
}

void FrontendAttentionReader::read_types() {
  const FrontendTensor q = needed("Q");
  spec_.dtype = type_of(q);
  const bool known = spec_.dtype == DataType::f16 || spec_.dtype == DataType::bf16 || spec_.dtype == DataType::f32 ||
                     attnprobe::is_fp8(spec_.dtype);
  const FrontendPlace typed = tensor_place(q).has("data_type") ? tensor_place(q) : document_.root().at("context");
  if (!known)
    typed.at(tensor_place(q).has("data_type") ? "data_type" : "io_data_type")
        .wrong(quoted_list({"HALF", "BFLOAT16", "FLOAT", "FP8_E4M3", "FP8_E5M2"}));
  for (const char* port : {"K", "V"})
    if (type_of(needed(port)) != spec_.dtype)
      tensor_place(needed(port))
          .wrong(fmt::format("the type of Q; a config has one type for Q, K and V, here \"{}\" and \"{}\"",
                             name_of(spec_.dtype), name_of(type_of(needed(port)))));
  if (const auto o = is_bprop(spec_) ? input("O") : output("O"); o && type_of(*o) != spec_.dtype)
    spec_.o_dtype = type_of(*o);
  for (const auto& [what, type] :
       {std::pair{"compute", document_.context().compute}, std::pair{"intermediate", document_.context().intermediate}})
    if (type && *type != DataType::f32)
      note(fmt::format("the {} type is {}; attnprobe's graphs have f32 there", what, name_of(*type)));
}

bool FrontendAttentionReader::by_token(const std::optional<FrontendTensor>& rows) const {
  return rows && spec_.heads_q > 1 && spec_.seqlen_q > 1 && rows->dims.size() == 4 &&
         rows->strides == build::Dims{spec_.seqlen_q * spec_.heads_q, 1, spec_.heads_q, 1};
}

std::optional<FrontendTensor> FrontendAttentionReader::statistics() const {
  return is_bprop(spec_) ? input("Stats") : output("Stats");
}

void FrontendAttentionReader::conclude_raggedness() {
  o_tensor_ = is_bprop(spec_) ? needed("O") : output("O").value_or(FrontendTensor{});
  if (result_.frontend_version >= first_with_ragged_offsets) return;
  const bool counts = node_.has("max_total_seq_len_q") || node_.has("max_total_seq_len_kv");
  if (counts || by_token(statistics())) {
    q_.ragged = k_.ragged = v_.ragged = o_tensor_.ragged = true;
    if (paged_k()) k_.ragged = false;
    if (paged_v()) v_.ragged = false;
    rows_ragged_ = by_token(statistics());
    note(
        "ragged (\"thd\"): concluded from the token counts or the strides of the statistics; this version of "
        "cudnn-frontend does not write ragged offsets");
  } else if (node_.boolean_or("padding_mask", false)) {
    note(
        "whether it was ragged (\"thd\") is unknown: this version of cudnn-frontend does not write ragged offsets; it "
        "is read as padded");
  }
}

void FrontendAttentionReader::read_layouts() {
  // A container does not determine K's layout; the default remains but is not used.
  const StridedTensor& k = paged_k() ? q_ : k_;
  const StridedTensor& v = paged_v() ? k : v_;
  const auto layouts = layouts_of(q_, k, v);
  spec_.q = layouts[0];
  spec_.k = paged_k() ? TensorLayout{"bshd", {}} : layouts[1];
  spec_.v = paged_v() ? TensorLayout{"bshd", {}} : layouts[2];
  for (const auto& layout : layouts)
    if (layout.strides && layout.ragged())
      note("ragged with strides that no layout name describes; a config file cannot express both");
  if (o_tensor_.strides.empty()) {
    note("O has no strides in the JSON; the layout of Q is assumed");
    return;
  }
  const StridedTensor o = strided(o_tensor_);
  if (o_tensor_.dims != build::output_dims(spec_))
    tensor_place(o_tensor_).at("dim").wrong(fmt::format("[{}]", fmt::join(build::output_dims(spec_), ", ")));
  if (!has_layout(o, output_layout(spec_))) spec_.o = layout_of(o);
}

void FrontendAttentionReader::read_gradients() {
  const FrontendTensor d_o = needed("dO");
  if (type_of(d_o) != spec_.dtype) spec_.do_dtype = type_of(d_o);
  if (!d_o.strides.empty()) {
    StridedTensor s = strided(d_o);
    s.ragged = s.ragged || (result_.frontend_version < first_with_ragged_offsets && output_layout(spec_).ragged());
    if (!has_layout(s, output_layout(spec_))) spec_.d_o = layout_of(s);
  }
  const auto dq = output("dQ"), dk = output("dK"), dv = output("dV");
  if (!dq || !dk || !dv) {
    node_.at("outputs").wrong("an object with the keys \"dQ\", \"dK\", \"dV\"");
  }
  if (type_of(*dq) != output_type(spec_)) spec_.dqkv_dtype = type_of(*dq);
  for (const auto& t : {*dk, *dv})
    if (type_of(t) != type_of(*dq))
      note(fmt::format("dQ is {}, {} is {}; a config has one type for the gradients, that of dQ is used",
                       name_of(type_of(*dq)), t.name, name_of(type_of(t))));
  spec_.max_total_seqlen_q = node_.optional_integer("max_total_seq_len_q", 1, longest_extent);
  spec_.max_total_seqlen_kv = node_.optional_integer("max_total_seq_len_kv", 1, longest_extent);
  if (dq->strides.empty() || dk->strides.empty() || dv->strides.empty()) {
    note("not all gradients have strides in the JSON; the layouts of Q, K and V are assumed");
    return;
  }
  StridedTensor q = strided(*dq), k = strided(*dk), v = strided(*dv);
  if (result_.frontend_version < first_with_ragged_offsets) {
    q.ragged = q_.ragged;
    k.ragged = k_.ragged;
    v.ragged = v_.ragged;
  }
  if (has_layout(q, spec_.q) && has_layout(k, spec_.k) && has_layout(v, spec_.v)) return;
  const auto layouts = layouts_of(q, k, v);
  spec_.dq = layouts[0];
  spec_.dk = layouts[1];
  spec_.dv = layouts[2];
}

void FrontendAttentionReader::read_offset_type() {
  if (!is_ragged(spec_)) return;
  const auto stats = statistics();
  const auto rows = stats ? stats : output("Max") ? output("Max") : output("Sum_exp");
  if (rows && result_.frontend_version >= first_with_ragged_offsets) rows_ragged_ = rows->ragged;
  if (rows) spec_.ragged_stats = rows_ragged_;
  const FrontendTensor q = needed("Q");
  for (const auto& key : document_.tensor_keys()) {
    const FrontendTensor t = document_.tensor(key);
    if (!t.data_type || !((t.uid && t.uid == q.ragged_uid) || (!t.name.empty() && t.name == q.ragged_name))) continue;
    return set_offset_type(*t.data_type);
  }
  if (const auto type = offset_type_in_plan(q.ragged_uid)) return set_offset_type(*type);
  note("the type of the ragged offsets is not in the JSON; INT32 is assumed");
}

void FrontendAttentionReader::set_offset_type(DataType type) {
  if (type == DataType::i32 || type == DataType::i64)
    spec_.ragged_offsets = type;
  else
    note(fmt::format("the ragged offsets are {}; a config has i32 or i64", name_of(type)));
}

std::optional<DataType> FrontendAttentionReader::offset_type_in_plan(std::optional<graph::Uid> uid) const {
  if (!uid || !result_.stored_plan) return std::nullopt;
  const Json tensors = result_.stored_plan->value("/operationGraph/tensors"_json_pointer, Json());
  for (const Json& t : tensors) {
    if (!t.is_object() || t.value("name", Json()) != std::to_string(*uid)) continue;
    const Json type = t.value("dataType", Json());
    if (type == "CUDNN_DATA_INT32" || type == "INT32") return DataType::i32;
    if (type == "CUDNN_DATA_INT64" || type == "INT64") return DataType::i64;
  }
  return std::nullopt;
}

}  // namespace attnprobe::importers
