// cudnn-frontend's Python functions sdpa and sdpa_backward.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "emit/emit.hpp"
#include "emit/python_text.hpp"

namespace attnprobe::emit {
namespace {

using attention::AttentionSpec;
using attention::Strides;
using Dims = std::array<int64_t, 4>;

constexpr const char* frontend_function = "cudnn-frontend's sdpa in Python";

[[noreturn]] void refuse_in_frontend(const std::string& what, const std::string& allowed) {
  throw Error(ErrorKind::usage, fmt::format("--emit python-frontend: {} cannot express {}; allowed: {}, or --emit cpp",
                                            frontend_function, what, allowed));
}

const char* frontend_type(DataType type) {
  if (type == DataType::f16) return "cudnn.data_type.HALF";
  if (type == DataType::bf16) return "cudnn.data_type.BFLOAT16";
  if (type == DataType::f32) return "cudnn.data_type.FLOAT";
  if (type == DataType::i32) return "cudnn.data_type.INT32";
  if (type == DataType::i64) return "cudnn.data_type.INT64";
  refuse_in_frontend(fmt::format("dtype \"{}\"", name_of(type)), "\"f16\", \"bf16\"");
}

void check_frontend(const AttentionSpec& spec) {
  refuse_fields_beyond("python-frontend", frontend_function, spec,
                       {"name",
                        "source",
                        "expect",
                        "pattern",
                        "pass",
                        "batch",
                        "heads_q",
                        "heads_kv",
                        "heads_v",
                        "seqlen_q",
                        "seqlen_kv",
                        "head_dim_qk",
                        "head_dim_v",
                        "dtype",
                        "layout",
                        "o_layout",
                        "o_dtype",
                        "do_layout",
                        "do_dtype",
                        "dqkv_layout",
                        "dqkv_dtype",
                        "scale",
                        "mask",
                        "bias",
                        "alibi",
                        "sink",
                        "dropout",
                        "stats",
                        "paged",
                        "deterministic",
                        "ragged_offsets",
                        "ragged_stats",
                        "max_total_seqlen_q",
                        "max_total_seqlen_kv",
                        "frontend"});
  if (spec.pattern == attention::Pattern::mha || spec.pattern == attention::Pattern::two_matmul)
    refuse_in_frontend(fmt::format("pattern \"{}\"", name_of(spec.pattern)),
                       "\"sdpa\", \"sdpa_composite\", \"sdpa_unified\"");
  frontend_type(spec.dtype);
  if (spec.scale_form != attention::ScaleForm::by_value) refuse_in_frontend("a scale that is not a number", "a number");
  if (spec.dropout &&
      (spec.dropout->form != attention::DropoutForm::philox || spec.dropout->dump ||
       seed_form(spec) == attention::SeedForm::constant || seed_form(spec) == attention::SeedForm::by_value))
    refuse_in_frontend("the caller's dropout mask, or a seed that is not a tensor",
                       "its probability, with a seed in a tensor");
  if (is_bprop(spec) && spec.paged) refuse_in_frontend("a page table in the backward pass", "pass \"fprop\"");
}

Dims packed(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

class FrontendText {
 public:
  explicit FrontendText(const AttentionSpec& spec) : spec_(spec), type_(frontend_type(spec.dtype)) {}

  std::string run() {
    common();
    if (is_bprop(spec_))
      backward();
    else
      forward();
    return text_;
  }

 private:
  void add(const std::string& line) { text_ += line + "\n"; }

  void tensor(const std::string& name, const Dims& dims, const Strides& strides, const std::string& type) {
    add(fmt::format("{0} = graph.tensor(name=\"{0}\", dim={1}, stride={2}, data_type={3})", name, python_tuple(dims),
                    python_tuple(strides), type));
  }
  void argument(const std::string& text) { arguments_ += (arguments_.empty() ? "" : ",\n    ") + text; }

  // The start of each sequence.
  void offsets(const std::string& of, const std::string& name) {
    tensor(name, {spec_.batch + 1, 1, 1, 1}, {1, 1, 1, 1}, frontend_type(spec_.ragged_offsets));
    add(fmt::format("{}.set_ragged_offset({})", of, name));
  }
  // The offsets of another tensor, or separate ones if the token spacing differs.
  void offsets_like(const std::string& name, bool ragged, const std::string& of, const Strides& strides,
                    const Strides& like) {
    if (!ragged) return;
    if (strides[2] != like[2]) return offsets(name, name + "_offset");
    add(fmt::format("{}.set_ragged_offset({}_offset)", name, of));
  }
  void offsets_if(bool ragged, const std::string& of) {
    if (ragged) offsets(of, of + "_offset");
  }

  Dims q_dims() const { return {spec_.batch, spec_.heads_q, spec_.seqlen_q, spec_.head_dim_qk}; }
  Dims k_dims() const { return {spec_.batch, spec_.heads_kv, spec_.seqlen_kv, spec_.head_dim_qk}; }
  Dims v_dims() const { return {spec_.batch, heads_v(spec_), spec_.seqlen_kv, spec_.head_dim_v}; }
  Dims o_dims() const { return {spec_.batch, spec_.heads_q, spec_.seqlen_q, spec_.head_dim_v}; }
  int64_t blocks() const { return (spec_.seqlen_kv + spec_.paged->block_size - 1) / spec_.paged->block_size; }

  void key_or_value(const std::string& name, const Dims& dims, const attention::TensorLayout& layout,
                    const Strides& strides, bool is_paged) {
    if (!is_paged) {
      tensor(name, dims, strides, type_);
      offsets_if(layout.ragged(), name);
      return;
    }
    const attention::TensorShape container{spec_.batch * blocks(), dims[1], spec_.paged->block_size, dims[3]};
    const auto places = attention::strides_of(spec_.paged->layout, container);
    tensor(name, {container.batch, container.heads, container.seqlen, container.head_dim}, places.value(), type_);
    const std::string table = "page_table_" + name;
    tensor(table, {spec_.batch, 1, blocks(), 1}, {blocks(), blocks(), 1, 1}, "cudnn.data_type.INT32");
    if (spec_.paged->packed_table) offsets(table, table + "_offset");
    argument(fmt::format("paged_attention_{}_table={}", name, table));
  }

  void common() {
    tensor("q", q_dims(), q_strides(spec_), type_);
    offsets_if(spec_.q.ragged(), "q");
    argument("q=q, k=k, v=v");
    key_or_value("k", k_dims(), spec_.k, k_strides(spec_), spec_.paged && spec_.paged->k);
    key_or_value("v", v_dims(), spec_.v, v_strides(spec_), spec_.paged && spec_.paged->v);
    if (spec_.paged) argument(fmt::format("paged_attention_max_seq_len_kv={}", spec_.seqlen_kv));
    argument(fmt::format("attn_scale={}", python_number(scale_of(spec_))));
    masks();
    if (spec_.bias) {
      tensor("bias", bias_dims(spec_), spec_.bias->strides.value_or(packed(bias_dims(spec_))),
             frontend_type(spec_.bias->dtype.value_or(spec_.dtype)));
      argument("bias=bias");
    }
    if (spec_.alibi) argument("use_alibi_mask=True");
    if (spec_.sink) {
      tensor("sink", {1, spec_.heads_q, 1, 1}, {spec_.heads_q, 1, 1, 1}, "cudnn.data_type.FLOAT");
      argument("sink_token=sink");
    }
    if (spec_.dropout) {
      const char* seed =
          seed_form(spec_) == attention::SeedForm::i32 ? "cudnn.data_type.INT32" : "cudnn.data_type.INT64";
      tensor("seed", {1, 1, 1, 1}, {1, 1, 1, 1}, seed);
      tensor("offset", {1, 1, 1, 1}, {1, 1, 1, 1}, seed);
      argument(fmt::format("dropout=({}, seed, offset)", python_number(spec_.dropout->probability)));
    }
  }

  void masks() {
    const attention::Mask& mask = spec_.mask;
    if (mask.padding || spec_.paged) {
      for (const char* name : {"seq_len_q", "seq_len_kv"})
        tensor(name, {spec_.batch, 1, 1, 1}, {1, 1, 1, 1}, "cudnn.data_type.INT32");
      argument(fmt::format("use_padding_mask={}, seq_len_q=seq_len_q, seq_len_kv=seq_len_kv",
                           mask.padding ? "True" : "False"));
    }
    if (!mask.has_diagonal()) return;
    argument(fmt::format("diagonal_alignment=cudnn.diagonal_alignment.{}",
                         mask.alignment == attention::Alignment::bottom_right ? "BOTTOM_RIGHT" : "TOP_LEFT"));
    // cudnn-frontend's left bound is exclusive; window_left is inclusive.
    if (mask.window_left) argument(fmt::format("diagonal_band_left_bound={}", *mask.window_left + 1));
    if (mask.window_right) argument(fmt::format("diagonal_band_right_bound={}", *mask.window_right));
  }

  void output(const std::string& name, const Dims& dims, const Strides& strides, const std::string& type) {
    add(fmt::format("{}.set_output(True).set_dim({}).set_stride({}).set_data_type({})", name, python_tuple(dims),
                    python_tuple(strides), type));
  }

  void forward() {
    argument(fmt::format("generate_stats={}", wants_stats(spec_) ? "True" : "False"));
    if (spec_.pattern != attention::Pattern::sdpa)
      argument(fmt::format("implementation=cudnn.attention_implementation.{}",
                           spec_.pattern == attention::Pattern::sdpa_unified ? "UNIFIED" : "COMPOSITE"));
    add(fmt::format("o, stats = graph.sdpa(\n    {})", arguments_));
    output("o", o_dims(), o_strides(spec_), frontend_type(output_type(spec_)));
    offsets_if(output_layout(spec_).ragged(), "o");
    if (!wants_stats(spec_)) return;
    output("stats", {spec_.batch, spec_.heads_q, spec_.seqlen_q, 1}, stats_strides(spec_), "cudnn.data_type.FLOAT");
    offsets_if(has_ragged_stats(spec_), "stats");
  }

  void backward() {
    tensor("o", o_dims(), o_strides(spec_), frontend_type(output_type(spec_)));
    tensor("d_o", o_dims(), d_o_strides(spec_), frontend_type(d_output_type(spec_)));
    tensor("stats", {spec_.batch, spec_.heads_q, spec_.seqlen_q, 1}, stats_strides(spec_), "cudnn.data_type.FLOAT");
    const bool ragged_o = output_layout(spec_).ragged();
    offsets_if(ragged_o, "o");
    offsets_like("d_o", ragged_o, "o", d_o_strides(spec_), o_strides(spec_));
    offsets_if(has_ragged_stats(spec_), "stats");
    argument("o=o, dO=d_o, stats=stats");
    if (spec_.bias && spec_.bias->grad) {
      tensor("d_bias", bias_dims(spec_), packed(bias_dims(spec_)), frontend_type(bias_gradient_type(spec_)));
      add("d_bias.set_output(True)");
      argument("dBias=d_bias");
    }
    if (spec_.sink) {
      tensor("d_sink", {1, spec_.heads_q, 1, 1}, {spec_.heads_q, 1, 1, 1}, "cudnn.data_type.FLOAT");
      add("d_sink.set_output(True)");
      argument("dSink_token=d_sink");
    }
    if (spec_.deterministic) argument("use_deterministic_algorithm=True");
    if (spec_.max_total_seqlen_q) argument(fmt::format("max_total_seq_len_q={}", *spec_.max_total_seqlen_q));
    if (spec_.max_total_seqlen_kv) argument(fmt::format("max_total_seq_len_kv={}", *spec_.max_total_seqlen_kv));
    add(fmt::format("dq, dk, dv = graph.sdpa_backward(\n    {})", arguments_));
    gradient("q", q_dims(), dq_strides(spec_), spec_.q.ragged(), q_strides(spec_));
    gradient("k", k_dims(), dk_strides(spec_), spec_.k.ragged(), k_strides(spec_));
    gradient("v", v_dims(), dv_strides(spec_), spec_.v.ragged(), v_strides(spec_));
  }

  void gradient(const std::string& of, const Dims& dims, const Strides& strides, bool ragged, const Strides& like) {
    output("d" + of, dims, strides, frontend_type(gradient_type(spec_)));
    offsets_like("d" + of, ragged, of, strides, like);
  }

  const AttentionSpec& spec_;
  const std::string type_;
  std::string text_, arguments_;
};

// Prints the same answer as attnprobe: the engines that pass the support check, in the order of mode A.
constexpr const char* frontend_questions = R"text(
try:
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A])
    graph.check_support()
except (RuntimeError, ValueError, cudnn.cudnnGraphNotSupportedError) as problem:
    print("refused:", problem, cudnn.get_last_error_string())
    sys.exit(1)
for index in range(graph.get_execution_plan_count()):
    print("supported:", graph.get_plan_name_at_index(index))
)text";

// JSON text is also Python text.
std::string python_text(const std::string& text) {
  return json_text(Json(text));
}

}  // namespace

std::string python_frontend_program(const Question& question, const AttentionSpec& spec, const gpu::Target& target) {
  check_frontend(spec);
  const bool is_simulated = target.kind == gpu::Kind::simulated;
  std::string text = python_head(
      question,
      {fmt::format("Prints the answers of cudnn-frontend and cuDNN on {}. cudnn-frontend builds the graph itself.",
                   is_simulated
                       ? fmt::format("a simulated {} ({}; --gpu: on this machine's GPU)", target.name, target.id)
                       : "this machine's first GPU"),
       "", "  pip install nvidia-cudnn-frontend && python3 reproducer.py", "",
       "Without a CUDA driver: LD_PRELOAD=…/libattnprobe_null_driver.so python3 reproducer.py"});
  text +=
      "import sys\n\nimport cudnn\n\nprint(\"cudnn-frontend\", cudnn.__version__, \"cuDNN\", cudnn.backend_version())\n";
  text += fmt::format("device_properties = {}\n", is_simulated ? python_text(json_text(target.properties)) : "None");
  // cudnn-frontend reads missing properties from the CUDA runtime.
  text += fmt::format(
      "if device_properties is None or \"--gpu\" in sys.argv:\n    device = {{\"handle\": cudnn.create_handle()}}\nelse:\n"
      "    device = {{\"device_property\": cudnn.create_device_properties(device_properties), \"sm_version\": {}, "
      "\"sm_count\": {}}}\n",
      target.sm, is_simulated ? target.properties.value("multiProcessorCount", int64_t{0}) : 0);
  text += fmt::format(
      "graph = cudnn.pygraph(io_data_type={}, intermediate_data_type=cudnn.data_type.FLOAT,\n"
      "                      compute_data_type=cudnn.data_type.FLOAT, **device)\n",
      frontend_type(spec.dtype));
  return text + FrontendText(spec).run() + frontend_questions;
}

}  // namespace attnprobe::emit
