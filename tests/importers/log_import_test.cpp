// cuDNN's log, read back: the result is the logged graph, or a list of what is missing.
#include <random>

#include "attention/random_config.hpp"
#include "catch.hpp"
#include "cudnn/library_info.hpp"
#include "libraries.hpp"
#include "log_messages.hpp"
#include "support.hpp"

namespace attnprobe::test::log_import_test {

using namespace attnprobe::graph;
using namespace attnprobe::importers;

namespace {

// The installed cuDNN's log of graphs, and the graphs: the lines of log_writer.
struct Logged {
  std::vector<LogCall> messages;
  std::vector<Json> graphs;  // the finalized ones
};

Logged log_of(const std::string& config_files, const std::string& library = test::cudnn_path()) {
  const TemporaryFolder folder;
  const std::string log = (folder.path() / "log").string(), out = (folder.path() / "out").string();
  const auto run = test::shell(
      std::string(ATTNPROBE_TEST_LOG_WRITER) + " --no-heuristics '" + library + "' '" + out + "' " + config_files,
      {{"CUDNN_LOGLEVEL_DBG", "3"}, {"CUDNN_LOGDEST_DBG", log}, {"ATTNPROBE_NULL_DRIVER", ATTNPROBE_TEST_NULL_DRIVER}});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  Logged logged{log_messages(read_text(log)), {}};
  std::istringstream lines(read_text(out));
  for (std::string line; std::getline(lines, line);)
    if (Json graph = Json::parse(line); graph["status"] == "finalized") logged.graphs.push_back(graph);
  return logged;
}

const Logged& features() {
  static const Logged all = log_of("configs/features/*.json");
  return all;
}

void check_graphs(const std::vector<ImportedGraph>& imported, const std::vector<Json>& graphs) {
  REQUIRE(imported.size() == graphs.size());
  for (size_t i = 0; i < graphs.size(); ++i) {
    INFO(graphs[i]["config"]);
    CHECK(imported[i].missing.empty());
    CHECK(hash(imported[i].graph) == graphs[i]["hash"].get<std::string>());
  }
}

bool is_about(const LogCall& call, const std::string& words) {
  return !call.lines.empty() && test::contains(call.lines[0], words);
}

bool finalizes_graph(const LogCall& call) {
  return call.function == "cudnnBackendFinalize" && is_about(call, "OPERATIONGRAPH");
}

// The message that finalizes the fixture's graph.
struct Fixture {
  std::vector<LogCall> messages;
  OpGraph graph;
  const std::vector<std::string>& tree() const { return messages.back().lines; }
};

Fixture logged_fixture(const std::string& name) {
  Fixture loaded{log_messages(test::unpacked_fixture("logs/" + name + ".log.xz")),
                 from_json(Json::parse(fixture("logs/" + name + ".graph.json")))};
  REQUIRE(finalizes_graph(loaded.messages.back()));
  return loaded;
}

const char* const fixtures[] = {"cudnn-9.0-composite", "cudnn-9.0-legacy", "cudnn-9.10-composite",
                                "cudnn-9.16-composite", "cudnn-9.28-single"};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The error for the tree of `name` after a change to its first line with `from`.
std::string error_with(const std::string& name, const std::string& from, const std::string& to) {
  auto lines = logged_fixture(name).tree();
  for (auto& line : lines)
    if (test::contains(line, from)) {
      line = replaced(line, from, to);
      break;
    }
  return usage_error([&] { import_log_tree(lines); });
}

}  // namespace

TEST_CASE("the log of every feature's graph is imported as the same graph", "[log_import][slow]") {
  CHECK(features().graphs.size() > 100);
  check_graphs(logged_graphs(features().messages), features().graphs);
}

TEST_CASE("the logs of the oldest and the newest cuDNN are imported as the same graphs", "[log_import][versions]") {
  for (const FoundLibrary& library : three_libraries()) {
    INFO(library.version);
    const Logged logged = log_of("configs/features/masks.json configs/features/ragged-and-paged.json", library.path);
    CHECK(logged.graphs.size() > 20);
    check_graphs(logged_graphs(logged.messages), logged.graphs);
  }
}

TEST_CASE("the log of random configs' graphs is imported as the same graphs", "[log_import][random][slow]") {
  const TemporaryFolder folder;
  Json configs = Json::array();
  for (uint64_t seed = 1; seed <= 200; ++seed) configs.push_back(attention::random_config(seed));
  const Logged logged = log_of("'" + folder.file("random.json", configs.dump()).string() + "'");
  CHECK(logged.graphs.size() > 150);
  check_graphs(logged_graphs(logged.messages), logged.graphs);
}

TEST_CASE("the graph is rebuilt if all tensors are created first, as in cudnn-frontend", "[log_import][slow]") {
  std::vector<LogCall> messages, tensors, others;
  const auto flush = [&] {
    messages.insert(messages.end(), tensors.begin(), tensors.end());
    messages.insert(messages.end(), others.begin(), others.end());
    tensors.clear();
    others.clear();
  };
  bool destroying = false;
  for (const LogCall& call : features().messages) {
    const bool destroys = call.function == "cudnnBackendDestroyDescriptor";
    if (destroying && !destroys) flush();  // the previous graph is destroyed before the next one's tensors are made
    destroying = destroys;
    (!destroys && is_about(call, "TENSOR_DESCRIPTOR") ? tensors : others).push_back(call);
    if (finalizes_graph(call)) flush();
  }
  flush();
  check_graphs(logged_graphs(messages), features().graphs);
}

TEST_CASE("the calls of several threads do not mix", "[log_import][slow]") {
  std::vector<LogCall> mixed;
  const auto& messages = features().messages;
  const size_t count = std::min<size_t>(messages.size(), 20000);
  for (size_t i = 0; i < count; ++i)
    for (const char* thread : {"a", "b"}) {
      mixed.push_back(messages[i]);
      // A truncated message has no thread; its graph's operations were set just before.
      if (!mixed.back().thread.empty()) mixed.back().thread = thread;
    }
  const auto both = logged_graphs(mixed);
  REQUIRE(both.size() > 20);
  for (size_t i = 0; i < both.size(); ++i)
    CHECK(hash(both[i].graph) == features().graphs[i / 2]["hash"].get<std::string>());
}

TEST_CASE("logs of older and newer versions", "[log_import]") {
  for (const char* name : fixtures) {
    INFO(name);
    const Fixture loaded = logged_fixture(name);
    const auto imported = logged_graphs(loaded.messages);
    REQUIRE(imported.size() == 1);
    CHECK(imported[0].missing.empty());
    CHECK(hash(imported[0].graph) == hash(loaded.graph));
  }
}

TEST_CASE("a tree without the calls before it: missing parts are reported", "[log_import]") {
  const auto imported = import_log_tree(logged_fixture("cudnn-9.10-composite").tree());
  CHECK(imported.graph.operations.size() == logged_fixture("cudnn-9.10-composite").graph.operations.size());
  const auto says = [](const std::vector<std::string>& lines, const std::string& words) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return test::contains(line, words); });
  };
  CHECK(says(imported.missing, "lengths for each batch entry (M, N, K), if there are any, of operation") == 2);
  CHECK(says(imported.missing, "the axis of operation") == 4);
  CHECK(says(imported.missing, "seed and offset of operation") == 1);
  CHECK(says(imported.missing, "reorderings and ragged offsets, if there are any, of tensors ") == 1);
  CHECK(says(imported.inferred, "b of operation") == 2);
  CHECK(says(imported.inferred, "the order of the operations") == 1);
  // All lost facts are reported; with them, the graph equals the built one.
  CHECK(says(imported.missing, "whether sizes may change at execution") == 1);
  CHECK(imported.missing.size() == 9);
  CHECK(!hash(imported.graph).empty());

  // 9.28 logs everything about a unified operation and its sub-graph except reorderings, and nothing about the graph
  // itself.
  const auto single = import_log_tree(logged_fixture("cudnn-9.28-single").tree());
  CHECK(hash(single.graph) == hash(logged_fixture("cudnn-9.28-single").graph));
  REQUIRE(single.missing.size() == 2);
  CHECK_THAT(single.missing[0], StartsWith("reorderings and ragged offsets"));
  CHECK_THAT(single.missing[1], StartsWith("whether sizes may change"));
}

TEST_CASE("attributes of the graph itself are in the calls before it, not in its tree", "[log_import]") {
  const Fixture loaded = logged_fixture("cudnn-9.28-single");
  // Messages that set the graph's attributes `names`; "" is a message truncated before the name. The last is the
  // graph's.
  const auto with = [&](const std::vector<std::string>& names) {
    auto messages = loaded.messages;
    for (const std::string& name : names) {
      LogCall call{"cudnnBackendSetAttribute", messages.back().thread, loaded.tree()};
      while (call.lines.back().find("descriptor: ") == std::string::npos && call.lines.size() > 5)
        call.lines.pop_back();
      if (name.empty()) {
        call.thread.clear();
        call.lines.back().resize(call.lines.back().size() / 2);
      } else {
        const std::string indent(call.lines[0].find("descriptor"), ' ');
        call.lines.push_back(indent + "attributeName: type=cudnnBackendAttributeName_t; val=" + name + ";");
        call.lines.push_back(indent + "attributeType: type=cudnnBackendAttributeType_t; val=CUDNN_TYPE_BOOLEAN (2);");
        call.lines.push_back(indent + "elementCount: type=int64_t; val=1;");
        call.lines.push_back(indent + "[0]: type=bool; val=true;");
      }
      messages.insert(messages.end() - 1, call);
    }
    const auto imported = logged_graphs(messages);
    REQUIRE(imported.size() == 1);
    return imported[0];
  };
  const auto dynamic = with({"CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED (803)"});
  CHECK(dynamic.graph.dynamic_shapes);
  CHECK_FALSE(dynamic.graph.override_shapes);
  CHECK(dynamic.missing.empty());
  CHECK(with({"CUDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED (805)"}).graph.override_shapes);
  const auto unknown = with({"CUDNN_ATTR_OPERATIONGRAPH_IS_NEW (899)"});
  REQUIRE(unknown.missing.size() == 1);
  CHECK(unknown.missing[0] == "CUDNN_ATTR_OPERATIONGRAPH_IS_NEW = true of the graph: attnprobe has no such attribute");
  // One message is the handle; other truncated messages may be anything.
  const auto cut = with({""});
  CHECK(cut.missing.empty());
  REQUIRE(cut.inferred.size() == 1);
  CHECK_THAT(cut.inferred[0], ContainsSubstring("attnprobe assumes that it sets the handle"));
  const auto twice = with({"", ""});
  REQUIRE(twice.missing.size() == 1);
  CHECK_THAT(twice.missing[0], ContainsSubstring("cuDNN truncated 2 messages"));
}

TEST_CASE("lines below the graph's own line suffice, and a truncated message is reported", "[log_import]") {
  const auto whole = logged_fixture("cudnn-9.10-composite").tree();
  const std::vector<std::string> below(whole.begin() + 1, whole.end());
  CHECK(hash(import_log_tree(below).graph) == hash(import_log_tree(whole).graph));
  std::vector<std::string> cut(whole.begin(), whole.begin() + 100);
  cut.back().resize(cut.back().size() / 2);
  const auto imported = import_log_tree(cut);
  CHECK(imported.graph.operations.size() < 4);
  CHECK(test::contains(imported.missing.at(0), "cuDNN truncated its message after"));
}

TEST_CASE("earlier calls complete a truncated message", "[log_import]") {
  Fixture loaded = logged_fixture("cudnn-9.10-composite");
  auto& tree = loaded.messages.back().lines;
  tree.resize(200);
  tree.back().resize(tree.back().size() / 2);
  loaded.messages.back().thread.clear();
  const auto imported = logged_graphs(loaded.messages);
  REQUIRE(imported.size() == 1);
  CHECK(imported[0].missing.empty());
  CHECK(hash(imported[0].graph) == hash(loaded.graph));
}

TEST_CASE("parts of a log that an operation graph cannot express are reported", "[log_import]") {
  Fixture loaded = logged_fixture("cudnn-9.10-composite");
  for (auto& call : loaded.messages)
    for (auto& line : call.lines) {
      line = replaced(line, "alpha2: type=double; val=1;", "alpha2: type=double; val=0.5;");
      line = replaced(line, "CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC", "CUDNN_ATTR_OPERATION_MATMUL_NEW");
    }
  LogGraphReader reader;
  std::optional<ImportedGraph> imported;
  for (const auto& call : loaded.messages)
    if (auto found = reader.read(call)) imported = std::move(found);
  REQUIRE(imported);
  const auto says = [&](const std::string& words) {
    return std::count_if(imported->missing.begin(), imported->missing.end(),
                         [&](const std::string& line) { return test::contains(line, words); });
  };
  CHECK(says("CUDNN_ATTR_OPERATION_MATMUL_NEW = ") == 1);
  // Factors of a pointwise operation cannot be expressed.
  CHECK(std::get<Pointwise>(imported->graph.operations.at(1)).alpha2 == 0.5);
}

TEST_CASE("wrong values in a log are reported", "[log_import]") {
  const char* composite = "cudnn-9.10-composite";
  CHECK_THAT(
      error_with(composite, "CUDNN_DATA_HALF", "CUDNN_DATA_QUARTER"),
      ContainsSubstring("line ") && ContainsSubstring("CUDNN_DATA_QUARTER") && ContainsSubstring("CUDNN_DATA_HALF"));
  CHECK_THAT(error_with(composite, "CUDNN_POINTWISE_MUL", "CUDNN_POINTWISE_MULL"), ContainsSubstring("MULL"));
  CHECK_THAT(error_with(composite, "val=[2,2,128,64]", "val=[2,2,x,64]"), ContainsSubstring("a list of integers"));
  CHECK_THAT(error_with(composite, "val=[2,2,128,64]", "val=[2,2,128]"),
             ContainsSubstring("as many numbers as in dimA"));
  CHECK_THAT(error_with(composite, "isVirtual: type=bool; val=true", "isVirtual: type=bool; val=2"),
             ContainsSubstring("isVirtual is \"2\"; expected true or false"));
  CHECK_THAT(error_with(composite, "dimA:", "dimB:"), ContainsSubstring("expected a line \"dimA\" below it"));
  CHECK_THAT(usage_error([] { import_log_tree({}); }), ContainsSubstring("no operation"));
  CHECK_THAT(usage_error([] { import_log_tree({"    descriptor: type=CUDNN_BACKEND_ENGINE_DESCRIPTOR:"}); }),
             ContainsSubstring("not an operation graph"));
}

TEST_CASE("damaged logs give consistent graphs or usage errors", "[log_import][random]") {
  std::mt19937 random(7);
  const auto below = [&](size_t limit) { return random() % std::max<size_t>(limit, 1); };
  size_t graphs = 0, errors = 0;
  for (const char* name : {"cudnn-9.0-legacy", "cudnn-9.16-composite", "cudnn-9.28-single"}) {
    const Fixture loaded = logged_fixture(name);
    for (int round = 0; round < 60; ++round) {
      auto messages = loaded.messages;
      for (int damage = 0; damage < 4; ++damage) {
        auto& lines = (damage % 2 == 0 ? messages.back() : messages[below(messages.size())]).lines;
        if (lines.empty()) continue;
        std::string& line = lines[below(lines.size())];
        switch (below(5)) {
          case 0:
            line.clear();
            break;
          case 1:
            line.resize(below(line.size()));
            break;
          case 2:
            line.insert(0, below(40), ' ');
            break;
          case 3:
            line = lines[below(lines.size())];
            break;
          default:
            line[below(line.size())] = static_cast<char>(below(256));
            break;
        }
      }
      if (below(4) == 0) messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(below(messages.size())));
      std::vector<ImportedGraph> imported;
      const std::string error = usage_error([&] { imported = logged_graphs(messages); });
      const std::string alone = usage_error([&] { imported.push_back(import_log_tree(messages.back().lines)); });
      for (const auto& graph : imported) CHECK(!hash(graph.graph).empty());
      graphs += imported.size();
      for (const std::string& each : {error, alone}) {
        if (each == "no error") continue;
        ++errors;
        CHECK_THAT(each, StartsWith("cuDNN log: "));
      }
    }
  }
  CHECK(graphs > 50);
  CHECK(errors > 50);
}

}  // namespace attnprobe::test::log_import_test
