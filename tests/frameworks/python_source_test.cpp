// Calls in source that is part of a bug report.
#include "frameworks/calls/python_source.hpp"

#include <ctime>

#include "catch.hpp"
#include "frameworks/calls/python_expression.hpp"
#include "support.hpp"

namespace attnprobe::test::python_source_test {

using namespace attnprobe::frameworks;

namespace {

nlohmann::json unordered(const Json& json) {
  return nlohmann::json::parse(json.dump());
}

std::string repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// CPU time of only this thread, because the machine may be busy.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

const std::string known_call =
    "q = torch.randn(2, 8, 512, 64, dtype=torch.half)\nF.scaled_dot_product_attention(q, q, q)\n";

// The only call in the text.
SourceCall call_in(const std::string& text) {
  const auto calls = source_calls(text);
  REQUIRE(calls.size() == 1);
  return calls[0];
}

PythonValue value_of(const std::string& expression, PythonScope scope = {}) {
  return evaluate(expression, scope);
}

}  // namespace

TEST_CASE("Expressions are evaluated as far as sizes depend on them", "[calls]") {
  PythonScope scope;
  scope.names["d"] = 64;
  CHECK(value_of("2 * (d + 1) ** 2 - 7 // 2 % 4", scope) == 2 * 65 * 65 - 3);
  CHECK(value_of("1 << 12") == 4096);
  CHECK(value_of("d / 128", scope) == 0.5);
  CHECK(value_of("-d if False else d", scope) == 64);
  CHECK(value_of("[1, 2] + [3] * 2") == Json::array({1, 2, 3, 3}));
  CHECK(value_of("(1, 2, 3)[-1]") == 3);
  CHECK(value_of("max(4, int(2.5))") == 4);
  CHECK(value_of("1_000, None, 'x'") == Json::array({1000, nullptr, "x"}));
  CHECK_FALSE(is_known(value_of("device")));
  CHECK_FALSE(is_known(value_of("model(x) + 1")));
  CHECK_FALSE(is_known(value_of("lambda x: x")));
  CHECK(value_of("torch.randn(2, 8, 16, d, dtype=torch.half).transpose(1, 2).shape", scope) ==
        Json::array({2, 16, 8, 64}));
  CHECK(value_of("torch.zeros(2, 3, 4).view(2, -1).size(-1)") == 12);
  CHECK(value_of("torch.rand(4, 5)[None, None, :, :].expand(2, 8, -1, -1).shape") == Json::array({2, 8, 4, 5}));
  CHECK(value_of("(torch.rand(4, 5) > 0.5)")["dtype"] == "bool");
  const PythonValue strided = value_of("torch.empty_strided((1, 24, d, 64), (400896, 64, 1536, 1))", scope);
  CHECK(strided["shape"] == Json::array({1, 24, 64, 64}));
  CHECK(strided["strides"] == Json::array({400896, 64, 1536, 1}));
  CHECK(value_of("torch.randn(1, 8, 16, 192).chunk(3, dim=-1)[2].shape") == Json::array({1, 8, 16, 64}));
  CHECK(value_of("nn.Parameter(torch.zeros(2, 3))")["requires_grad"] == true);
  CHECK(value_of("[torch.randn(1, 2, 3, 8) for _ in range(3)]").size() == 3);
  for (const std::string& broken :
       std::vector<std::string>{"", "1 +", "(1, 2", "f(", "x = 3", "'abc", "a b", std::string(99, '(')}) {
    INFO(broken);
    CHECK_THROWS_AS(value_of(broken), Error);
  }
}

TEST_CASE("A call in a report's source is found with the sizes that the source gives", "[calls]") {
  const SourceCall call = call_in(R"(It is wrong on my GPU. To see it:

import torch
B, H, S = 2, 8, 640  # sizes
d_qk = 128; 
def make(d, heads=H):
    return torch.randn(B, S, heads, d, device="cuda",
                       dtype=torch.bfloat16, requires_grad=True).transpose(1, 2)
q = torch.randn(B, S, H, d_qk, dtype=torch.bfloat16).transpose(1, 2)
k, v = (torch.randn(B, 2, S, 64, dtype=torch.bfloat16) for _ in range(2))
mask = torch.ones(S, S, dtype=torch.bool).tril()[None, None]
with torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=0.0, enable_gqa=True, scale=None)
)");
  CHECK(call.framework == "torch");
  CHECK(call.line == 13);
  CHECK(unordered(call.call) == nlohmann::json::parse(R"({
    "query": {"shape": [2, 8, 640, 128], "strides": [655360, 128, 1024, 1], "dtype": "bfloat16"},
    "key": {"shape": [2, 2, 640, 64], "dtype": "bfloat16"}, "value": {"shape": [2, 2, 640, 64], "dtype": "bfloat16"},
    "attn_mask": {"shape": [1, 1, 640, 640], "dtype": "bool"}, "dropout_p": 0.0, "enable_gqa": true,
    "backend": ["CUDNN_ATTENTION"]})"));
}

TEST_CASE("The backends enabled in the source are part of the call", "[calls]") {
  const auto context = [](const std::string& before) {
    const SourceCall call = call_in("q = torch.randn(2, 8, 64, 64, dtype=torch.half)\n" + before +
                                    "\n    F.scaled_dot_product_attention(q, q, q)\n");
    Json said = Json::object();
    for (const auto& [key, value] : call.call.items())
      if (key == "backend" || key == "set_priority" || key.ends_with("_sdp_enabled")) said[key] = value;
    return said;
  };
  CHECK(context("with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH]):") ==
        Json{{"backend", {"CUDNN_ATTENTION", "MATH"}}});
  CHECK(context("with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):") ==
        Json{{"backend", {"CUDNN_ATTENTION", "FLASH_ATTENTION"}}, {"set_priority", true}});
  CHECK(context("with torch.backends.cuda.sdp_kernel(enable_flash=False, enable_math=False):") ==
        Json{{"flash_sdp_enabled", false}, {"math_sdp_enabled", false}});
  CHECK(context("torch.backends.cuda.enable_cudnn_sdp(False)\nif True:") == Json{{"cudnn_sdp_enabled", false}});
}

TEST_CASE("A function's arguments and a loop's first values are parameters", "[calls]") {
  const SourceCall call = call_in(R"(
def attend(q, k, v, causal=True):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
for length, dim in [(1024, 64), (4096, 128)]:
    x = torch.empty(1, 16, length, dim).half()
    attend(x, x, x)
    x.sum().backward()
)");
  CHECK(call.call["query"]["shape"] == Json::array({1, 16, 1024, 64}));
  CHECK(call.call["query"]["dtype"] == "float16");
  CHECK(call.call["is_causal"] == true);
  CHECK(call.call["query"]["requires_grad"] == true);
  REQUIRE(call.guesses.size() == 2);
  CHECK_THAT(call.guesses[0], ContainsSubstring("backward()"));
  CHECK(call.guesses[1] == "length is the first of 2 values");
}

TEST_CASE("JAX's call is also found, and its unknown parts are reported", "[calls]") {
  const SourceCall call = call_in(R"(import jax
B, H, L, D = 4, 8, 128, 64
>>> q, k, v = jax.random.normal(key, (3, B, L, H, D), dtype=jnp.bfloat16)
>>> jax.nn.dot_product_attention(q, k, v, mask=load_mask(), is_causal=True, implementation="cudnn")
)");
  CHECK(call.framework == "jax");
  CHECK(call.call["query"]["shape"] == Json::array({4, 128, 8, 64}));
  CHECK(call.call["implementation"] == "cudnn");
  CHECK(call.call["is_causal"] == true);
  CHECK(call.guesses == std::vector<std::string>{"without mask, whose value the source does not show"});
}

TEST_CASE("A program is read by Python's rules", "[calls]") {
  const std::string q = "q = torch.randn(2, 8, 512, 64, dtype=torch.half)\n";
  for (const std::string& text : std::vector<std::string>{
           R"(B = 2; H = 8  # it's a comment (
q = torch.randn(B, H, 512, 64, dtype=torch.half); k = q
if True: out = F.scaled_dot_product_attention(q, k, k))",
           q + R"(@torch.no_grad()
@torch.compile(mode='max-autotune')
def attend(x: torch.Tensor, *, causal: bool = False) -> torch.Tensor:
    """It's attention (of x"""
    return F.scaled_dot_product_attention(x, x, x)
attend(q))",
           q + "fn = lambda a, b: F.scaled_dot_product_attention(a, b, b)\nfn(q, q)",
           R"(shape = \
  (2, 8, 512, 64)
q = torch.randn(*shape, dtype=torch.half)
out = \
  F.scaled_dot_product_attention(q, q, \
    q))",
           R"(DOC = '''
it's (
q = torch.randn(1, 1, 1, 1)
'''
s = 'it\'s ('
)" + q + "F.scaled_dot_product_attention(q, q, q)",
           R"(cfg = dict(b=2, h=8)
opts = {'dtype': torch.half}
q = torch.randn(cfg['b'], cfg['h'], 512, 64, **opts)
args = (q, q, q)
F.scaled_dot_product_attention(*args))",
           R"(class T:
    def setUp(self):
        self.q = torch.randn(2, 8, 512, 64, dtype=torch.half)
    def test(self):
        F.scaled_dot_product_attention(self.q, self.q, self.q))",
           "from torch.nn.functional import scaled_dot_product_attention as sdpa\n" + q + "sdpa(q, q, q)",
           R"(async def main():
    q = torch.randn(2, 8, 512, 64, dtype=torch.half)
    async with lock, other(1):
        await run([F.scaled_dot_product_attention(q, q, q) for _ in x]))",
           q + R"(print(f'{q.shape!r:>{10}} # no comment (', file=log)
assert same(F.scaled_dot_product_attention(q, q, q), 1), "it's")",
           R"(if (n := 512) > 1:
    q = torch.randn(2, 8, n, 64, dtype=torch.half)
    F.scaled_dot_product_attention(q, q, q))"}) {
    INFO(text);
    CHECK(call_in(text).call["query"] == Json({{"shape", {2, 8, 512, 64}}, {"dtype", "float16"}}));
  }
  const Json in_context = call_in("dtype = torch.bfloat16\n" + q + R"(
with torch.autocast('cuda', dtype=dtype), sdpa_kernel(backends=[SDPBackend.MATH]):
    F.scaled_dot_product_attention(q, q, q))")
                              .call;
  CHECK(in_context["query"]["dtype"] == "bfloat16");
  CHECK(in_context["backend"] == Json::array({"MATH"}));
  CHECK(
      source_calls("q = torch.randn(2, 8, int(os.environ['S']), 64)\nF.scaled_dot_product_attention(q, q, q)").empty());
  CHECK(source_calls("q = torch.randn(2, 8, S, 64)\nF.scaled_dot_product_attention(q, q, q)").empty());
}

TEST_CASE("A program is found in the text around it", "[calls]") {
  for (const std::string text : {
           R"(In [2]: q = torch.randn(2, 8, 512, 64)
In [3]: %timeit F.scaled_dot_product_attention(q, q, q)
12.3 µs ± 1 µs per loop)",
           R"(File train.py
    10  q = torch.randn(2, 8, 512, 64)
--> 11  F.scaled_dot_product_attention(q, q, q))",
           R"(>>> q = torch.randn(2, 8, 512, 64)
>>> with a:
...     F.scaled_dot_product_attention(
...         q, q, q)
...)",
           R"(Traceback (most recent call last):
  File "train.py", line 12, in <module>
    out = F.scaled_dot_product_attention(q, q, q)
          ^^^^^^^^^^
RuntimeError: cuDNN error

Code:
q = torch.randn(2, 8, 512, 64)
F.scaled_dot_product_attention(q, q, q))",
           R"(This is an example for the operator in cuDNN. It's for this:

In [None]:
q = torch.randn(2, 8, 512, 64)
```
Call the kernel:
F.scaled_dot_product_attention(q, q, q))",
           R"(Output (NaN, NaN
loss = [1, 2
print(f"{x}"
q = torch.randn(2, 8, 512, 64)
x = {'a': 1,
F.scaled_dot_product_attention(q, q, q))",
           R"(import torch
  q = torch.randn(2, 8, 512, 64)
 print 'shape', q.shape
for i in x:
F.scaled_dot_product_attention(q, q, q))"}) {
    INFO(text);
    CHECK(call_in(text).call["query"]["shape"] == Json::array({2, 8, 512, 64}));
  }
}

TEST_CASE("Text without source or sizes gives no call", "[calls]") {
  CHECK(source_calls("").empty());
  CHECK(source_calls("scaled_dot_product_attention( is refused, and dot_product_attention(q too").empty());
  CHECK(source_calls("out = F.scaled_dot_product_attention(q, k, v)").empty());
  CHECK(source_calls("x = (((((\n" + std::string(5000, '(') + "\nF.scaled_dot_product_attention(a, b").empty());
  CHECK(source_calls("def f(:\n  x = = 3\nfor in :\nwith (\nF.scaled_dot_product_attention(**d)").empty());
}

TEST_CASE("A deeply nested expression is refused, for any kind of nesting", "[calls]") {
  for (const std::string nest :
       {"-", "~", "+", "not ", "2**", "1 if 1 else ", "f(", "a[", "[", "(", "{1:", "f(a=", "*"}) {
    INFO(nest);
    CHECK_THROWS_AS(value_of(repeated(nest, 7900 / nest.size()) + "1"), Error);
  }
  CHECK_THROWS_WITH(value_of(std::string(5000, '-') + "1"), ContainsSubstring("nested too deeply"));
  CHECK(value_of(std::string(40, '-') + "1") == 1);
  CHECK(value_of(std::string(30, '(') + "1" + std::string(30, ')')) == 1);
  CHECK(source_calls("x = (\n" + std::string(20000, '-') + "1)\n" + known_call).size() == 1);
}

TEST_CASE("A short source cannot create large values", "[calls]") {
  PythonScope scope;
  scope.names["x"] = Json::array({Json::array({1, 2, 3})});
  CHECK(value_of("x * 3", scope).size() == 3);
  CHECK_FALSE(is_known(value_of("x * 5000", scope)));
  CHECK_FALSE(is_known(value_of("x * 9223372036854775807", scope)));
  CHECK_FALSE(is_known(value_of("[[1] * 64 for _ in [1] * 100]")));
  const std::string ends_in_a_call = known_call;
  for (const std::string& grows : std::vector<std::string>{
           "x = [1] * 64\n" + repeated("x = x * 64\n", 8), "x = [1]\n" + repeated("x = x + x\n", 1000),
           "x = [1]\n" + repeated("x = [x, x]\n", 200), "x = [1]\n" + repeated("x = [x]\n", 3000),
           "x = {'a': 1}\n" + repeated("x = {'a': x, 'b': x}\n", 200),
           "x = [1] * 64\n" + repeated("x = [x for _ in x]\n", 8),
           "x = a\n" + repeated("x = x." + std::string(900, 'b') + "\n", 900),
           "x = torch.randn(2, 2)\n" + repeated("x = x[None]\n", 5000),
           "x = [1] * 4000\n" + repeated("y = [*x, *x, *x, *x, *x, *x, *x, *x]\n", 900),
           "x = torch.randn(2, 2)\n" + repeated("x = x.repeat(9, 9, 9223372036854775807, 2)\n", 90)}) {
    INFO(grows.substr(0, 60));
    const double begin = cpu_seconds();
    CHECK(source_calls(known_call + grows).size() == 1);
    CHECK(cpu_seconds() - begin < 3);  // generous, for a slow machine with a sanitizer
  }
  CHECK_FALSE(is_known(value_of("torch.randn(2, 0, 4).split(2, 1)")));
  CHECK_FALSE(is_known(value_of("-(-9223372036854775807 - 1)")));
  CHECK_FALSE(is_known(value_of("int(1e300)")));
}

TEST_CASE("The cost of a source grows only with its length", "[calls]") {
  for (const std::string& text : std::vector<std::string>{
           repeated("scaled_dot_product_attention(q,k,v)\n", 3000),
           repeated("scaled_dot_product_attention(q,k,v)\n", 1000) + "#" + std::string(1'000'000, 'x'),
           known_call + repeated("F.scaled_dot_product_attention(q, q, q)\n", 1000),
           known_call + repeated("for i in range(9):\n", 1000) +
               repeated("F.scaled_dot_product_attention(q, q, q)\n", 1000),
           known_call + repeated("a = ", 1900) + "1\n",
           known_call + repeated("((", 1900) + "a" + repeated(",),)", 1900) + " = 1\n",
           known_call + repeated("print print )]}) def class in is not or and if else\n", 20'000),
           known_call + repeated("a, b c d e f ' \" ( [ x = \n", 20'000), known_call + repeated("[{(\n", 20'000),
           known_call + repeated("q(\n", 3000), known_call + "x = (" + repeated("a.", 100'000),
           known_call + "x = (\n" + repeated("a.", 100'000),
           known_call + repeated("x = " + repeated("a.", 3900) + "b\n", 100),
           known_call + repeated("f(" + repeated("a=1,", 1900) + ")\n", 20),
           known_call + repeated("x = 1, 2\n", 20'000), known_call + std::string(4'000'000, '\0'),
           known_call + std::string(4'000'000, '('), known_call + repeated("x = (\n", 150'000)}) {
    INFO(text.substr(0, 60) << " and " << text.size() - 60 << " more");
    const double begin = cpu_seconds();
    source_calls(text);
    CHECK(cpu_seconds() - begin < 3);
  }
}

TEST_CASE("A call on tensors of three dimensions with strides of any order is answered", "[calls]") {
  const auto explained = [](const std::string& made) {
    return run_attnprobe("--torch 'scaled_dot_product_attention(" + made + "," + made + "," + made +
                         ",dtype=float16)' --target h100 --quick --format json");
  };
  for (const std::string made : {"torch.randn(6,8,4).transpose(1,2)", "torch.randn(2,6,8,4).transpose(2,3)"}) {
    const Run run = explained(made);
    INFO(run.out << run.err);
    REQUIRE(run.exit_code == 0);
    const Json result = run.json()["results"][0];
    CHECK(result["usable"] == "but");  // cuDNN itself supports it
    CHECK(result["frameworks"][0]["takes"] == "refused");
    CHECK(result["frameworks"][0]["refusals"][0]["id"] == "last_stride");
  }
}

TEST_CASE("explain answers the call in a text by rule, and --torch asks cuDNN about it", "[calls]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("issue.txt",
                                       "PyTorch 2.15.0 on an NVIDIA H100 is slow here:\n"
                                       "q = torch.randn(2, 8, 512, 64, dtype=torch.float16, device='cuda')\n"
                                       "F.scaled_dot_product_attention(q, q, q, dropout_p=0.1)\n");
  const Run explained = run_attnprobe("explain " + file + " --format json");
  REQUIRE(explained.exit_code == 0);
  const Json calls = Json::parse(explained.out)["calls"];
  REQUIRE(calls.size() == 1);
  CHECK(calls[0]["line"] == 3);
  CHECK(calls[0]["target"] == "h100");
  CHECK(calls[0]["target_is_named"] == true);
  CHECK(calls[0]["is_taken"] == false);
  CHECK_THAT(calls[0]["says"].get<std::string>(), ContainsSubstring("PyTorch 2.15.0 refuses dropout 0.1"));
  const Run words = run_attnprobe("explain " + file);
  CHECK_THAT(words.out, ContainsSubstring("line 3: sdpa"));
  CHECK_THAT(words.out, ContainsSubstring("attnprobe --torch " + file + " --target h100"));
  const Run asked = run_attnprobe("--torch " + file + " --target h100 --quick --format json");
  CHECK(asked.exit_code == 0);
  const Json report = Json::parse(asked.out);
  REQUIRE(report["results"].size() == 1);
  CHECK(report["results"][0]["config"]["head_dim_qk"] == 64);
  CHECK(report["results"][0]["frameworks"][0]["takes"] == "refused");
  // No word about a refusal, but still an answer.
  const Run alone =
      run_attnprobe("explain 'q = torch.zeros(1, 8, 128, 64).half()\nF.scaled_dot_product_attention(q, q, q)'");
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.out, ContainsSubstring("line 2: sdpa"));
}

}  // namespace attnprobe::test::python_source_test
