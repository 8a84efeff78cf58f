"""Calls that a framework refuses, and the same calls with the fix that `attnprobe explain` advises: (name, framework, refused, fix).

The statements use the names of PREAMBLES. `explain` is asked about the last line of the error message.
"""

PREAMBLES = {
    "torch": """
import torch, torch.nn as nn, torch.nn.functional as F
from torch.nn.attention import sdpa_kernel, SDPBackend as B
from torch.nn.attention.flex_attention import flex_attention, create_block_mask
bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32
def t(*shape, dtype=bf16, device="cuda", grad=False):
    return torch.randn(*shape, device=device).to(dtype).requires_grad_(grad)
def qkv(batch=2, heads=8, tokens=512, head_dim=64, kv_heads=None, kv_tokens=None, **more):
    kv = (batch, kv_heads or heads, kv_tokens or tokens, head_dim)
    return t(batch, heads, tokens, head_dim, **more), t(*kv, **more), t(*kv, **more)
sdpa = F.scaled_dot_product_attention
flex = torch.compile(flex_attention)
causal = lambda b, h, q, kv: q >= kv
""",
    "jax": """
import jax, jax.numpy as jnp
dpa = jax.nn.dot_product_attention
def t(*shape, dtype=jnp.bfloat16):
    return jax.random.normal(jax.random.PRNGKey(0), shape).astype(dtype)
def qkv(batch=2, tokens=512, heads=8, head_dim=64, kv_heads=None, dtype=jnp.bfloat16):
    kv = (batch, tokens, kv_heads or heads, head_dim)
    return t(batch, tokens, heads, head_dim, dtype=dtype), t(*kv, dtype=dtype), t(*kv, dtype=dtype)
""",
}

CASES = [
    ("mask of integers", "torch", "m = torch.ones(512, 512, dtype=torch.int64, device='cuda'); sdpa(*qkv(), attn_mask=m)", "sdpa(*qkv(), attn_mask=torch.ones(512, 512, dtype=torch.int64, device='cuda').bool())"),
    ("f32 mask with bf16 inputs", "torch", "sdpa(*qkv(), attn_mask=torch.zeros(512, 512, device='cuda'))", "sdpa(*qkv(), attn_mask=torch.zeros(512, 512, device='cuda').to(bf16))"),
    ("mask and is_causal", "torch", "sdpa(*qkv(), attn_mask=torch.ones(512, 512, dtype=torch.bool, device='cuda'), is_causal=True)", "sdpa(*qkv(), is_causal=True)"),
    ("types differ", "torch", "q, k, v = qkv(); sdpa(q, k.half(), v)", "q, k, v = qkv(); sdpa(q, k.half().to(q.dtype), v)"),
    ("devices differ", "torch", "q, k, v = qkv(); sdpa(q, k.cpu(), v)", "q, k, v = qkv(); sdpa(q, k.cpu().to(q.device), v)"),
    ("two dimensions are too few", "torch", "sdpa(t(64), t(64), t(64))", "sdpa(t(1, 64), t(1, 64), t(1, 64))"),
    ("GQA without enable_gqa", "torch", "F.scaled_dot_product_attention(*qkv(heads=8, kv_heads=2))", "sdpa(*qkv(heads=8, kv_heads=2), enable_gqa=True)"),
    ("GQA, heads not a multiple", "torch", "sdpa(*qkv(heads=8, kv_heads=3), enable_gqa=True)", "sdpa(*qkv(heads=9, kv_heads=3), enable_gqa=True)"),
    ("flash with a mask", "torch", "m = torch.ones(512, 512, dtype=torch.bool, device='cuda')\nwith sdpa_kernel(B.FLASH_ATTENTION): sdpa(*qkv(), attn_mask=m)", "m = torch.ones(512, 512, dtype=torch.bool, device='cuda')\nwith sdpa_kernel([B.FLASH_ATTENTION, B.EFFICIENT_ATTENTION]): sdpa(*qkv(), attn_mask=m)"),
    ("flash with f32", "torch", "with sdpa_kernel(B.FLASH_ATTENTION): sdpa(*qkv(dtype=f32))", "with sdpa_kernel(B.FLASH_ATTENTION): sdpa(*qkv(dtype=bf16))"),
    ("flash with head_dim 512", "torch", "with sdpa_kernel(B.FLASH_ATTENTION): sdpa(*qkv(head_dim=512))", "with sdpa_kernel([B.FLASH_ATTENTION, B.EFFICIENT_ATTENTION]): sdpa(*qkv(head_dim=512))"),
    ("cuDNN with f32", "torch", "with sdpa_kernel(B.CUDNN_ATTENTION): sdpa(*qkv(dtype=f32))", "with sdpa_kernel(B.CUDNN_ATTENTION): sdpa(*qkv(dtype=f16))"),
    ("cuDNN with head_dim 320", "torch", "with sdpa_kernel(B.CUDNN_ATTENTION): sdpa(*qkv(head_dim=320))", "with sdpa_kernel([B.CUDNN_ATTENTION, B.EFFICIENT_ATTENTION]): sdpa(*qkv(head_dim=320))"),
    ("cuDNN with dropout 0.1", "torch", "with sdpa_kernel(B.CUDNN_ATTENTION): sdpa(*qkv(), dropout_p=0.1)", "with sdpa_kernel(B.CUDNN_ATTENTION): sdpa(*qkv(), dropout_p=0.125)"),
    ("flash, one head_dim for Q and another for V", "torch", "q, k, v = qkv()\nwith sdpa_kernel(B.FLASH_ATTENTION): sdpa(q, k, t(2, 8, 512, 32))", "q, k, v = qkv()\nwith sdpa_kernel(B.EFFICIENT_ATTENTION): sdpa(q, k, t(2, 8, 512, 32))"),
    ("mask of another size", "torch", "F.scaled_dot_product_attention(*qkv(), attn_mask=torch.ones(512, 500, dtype=torch.bool, device='cuda'))", "sdpa(*qkv(), attn_mask=torch.ones(512, 512, dtype=torch.bool, device='cuda'))"),
    ("second derivative", "torch", "q, k, v = qkv(grad=True, dtype=f16)\nwith sdpa_kernel(B.FLASH_ATTENTION): o = sdpa(q, k, v)\ng, = torch.autograd.grad(o.sum(), q, create_graph=True); g.sum().backward()", "q, k, v = qkv(grad=True, dtype=f16)\nwith sdpa_kernel(B.MATH): o = sdpa(q, k, v)\ng, = torch.autograd.grad(o.sum(), q, create_graph=True); g.sum().backward()"),
    ("forward-mode derivative", "torch", "q, k, v = qkv()\nwith sdpa_kernel(B.FLASH_ATTENTION): torch.func.jvp(lambda x: sdpa(x, k, v), (q,), (q,))", "q, k, v = qkv()\nwith sdpa_kernel(B.MATH): torch.func.jvp(lambda x: sdpa(x, k, v), (q,), (q,))"),
    ("nested tensor with a mask", "torch", "n = torch.nested.nested_tensor([t(5, 8, 64), t(7, 8, 64)], layout=torch.jagged).transpose(1, 2); sdpa(n, n, n, attn_mask=torch.ones(7, 7, dtype=torch.bool, device='cuda'))", "n = torch.nested.nested_tensor([t(5, 8, 64), t(7, 8, 64)], layout=torch.jagged).transpose(1, 2); sdpa(n, n, n)"),
    ("MultiheadAttention, embed_dim and heads", "torch", "nn.MultiheadAttention(100, 8)", "nn.MultiheadAttention(96, 8)"),
    ("MultiheadAttention, is_causal without a mask", "torch", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, is_causal=True, need_weights=False)", "x = t(2, 16, 64, dtype=f32); m = nn.Transformer.generate_square_subsequent_mask(16, device='cuda'); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, attn_mask=m, is_causal=True, need_weights=False)"),
    ("MultiheadAttention, shape of the mask", "torch", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, attn_mask=torch.zeros(2, 16, 16, device='cuda'))", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, attn_mask=torch.zeros(2 * 4, 16, 16, device='cuda'))"),
    ("MultiheadAttention, shape of the padding mask", "torch", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4).cuda()(x, x, x, key_padding_mask=torch.zeros(2, 16, dtype=torch.bool, device='cuda'))", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, key_padding_mask=torch.zeros(2, 16, dtype=torch.bool, device='cuda'))"),
    ("flex, types differ", "torch", "q, k, v = qkv(); flex(q, k, v.float())", "q, k, v = qkv(); flex(q, k, v.float().to(q.dtype))"),
    ("flex, GQA without enable_gqa", "torch", "flex(*qkv(heads=8, kv_heads=2))", "flex(*qkv(heads=8, kv_heads=2), enable_gqa=True)"),
    ("flex, a mask for other lengths", "torch", "m = create_block_mask(causal, None, None, 256, 256); flex(*qkv(), block_mask=m)", "m = create_block_mask(causal, None, None, 512, 512); flex(*qkv(), block_mask=m)"),
    ("flex, too much shared memory", "torch", "flex(*qkv(head_dim=256, dtype=f32), kernel_options={'BLOCK_M': 128, 'BLOCK_N': 128, 'num_stages': 3})", "flex(*qkv(head_dim=256, dtype=f32), kernel_options={'BLOCK_M': 32, 'BLOCK_N': 16, 'num_stages': 1})"),
    ("flex, if in mask_mod", "torch", "def m(b, h, q, kv):\n    if q >= kv: return True\n    return False\ncreate_block_mask(m, None, None, 512, 512)", "create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512)"),
    ("flex, small blocks", "torch", "m = create_block_mask(causal, None, None, 512, 512, BLOCK_SIZE=16); flex(*qkv(), block_mask=m)", "m = create_block_mask(causal, None, None, 512, 512, BLOCK_SIZE=128); flex(*qkv(), block_mask=m)"),
    ("flex, BLOCK_M that does not divide", "torch", "m = create_block_mask(causal, None, None, 512, 512, BLOCK_SIZE=64); flex(*qkv(), block_mask=m, kernel_options={'BLOCK_M': 128, 'BLOCK_N': 128})", "m = create_block_mask(causal, None, None, 512, 512, BLOCK_SIZE=64); flex(*qkv(), block_mask=m, kernel_options={'BLOCK_M': 64, 'BLOCK_N': 64})"),
    ("flex, backward on the CPU", "torch", "q, k, v = qkv(device='cpu', dtype=f32, grad=True, tokens=128); flex(q, k, v).sum().backward()", "q, k, v = qkv(device='cuda', dtype=f32, grad=True, tokens=128); flex(q, k, v).sum().backward()"),
    ("flex, head_dim 8", "torch", "flex(*qkv(head_dim=8))", "flex(*qkv(head_dim=16))"),
    ("flex, Q and K of two head dimensions", "torch", "flex(t(2, 8, 512, 64), t(2, 8, 512, 32), t(2, 8, 512, 64))", "flex(t(2, 8, 512, 64), t(2, 8, 512, 64), t(2, 8, 512, 64))"),
    ("flex, batches differ", "torch", "flex(t(2, 8, 512, 64), t(3, 8, 512, 64), t(3, 8, 512, 64))", "flex(t(3, 8, 512, 64), t(3, 8, 512, 64), t(3, 8, 512, 64))"),
    ("flex, no fused kernel without compile", "torch", "import warnings; warnings.simplefilter('error'); flex_attention(*qkv())", "import warnings; warnings.simplefilter('error'); flex(*qkv())"),
    ("cross attention, causal, flash", "torch", "q, k, v = qkv(tokens=128, kv_tokens=512)\nwith sdpa_kernel(B.FLASH_ATTENTION): sdpa(q, k, v, attn_mask=torch.ones(128, 512, dtype=torch.bool, device='cuda').tril(384))", "from torch.nn.attention.bias import causal_lower_right\nq, k, v = qkv(tokens=128, kv_tokens=512)\nwith sdpa_kernel(B.FLASH_ATTENTION): sdpa(q, k, v, attn_mask=causal_lower_right(128, 512))"),
    ("MultiheadAttention, a mask of four dimensions", "torch", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, attn_mask=torch.zeros(2, 4, 16, 16, device='cuda'))", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, attn_mask=torch.zeros(2, 4, 16, 16, device='cuda').flatten(0, 1))"),
    ("MultiheadAttention, a tokenizer's mask", "torch", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, key_padding_mask=torch.ones(2, 16, dtype=torch.int64, device='cuda'))", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x, key_padding_mask=torch.ones(2, 16, dtype=torch.int64, device='cuda') == 0)"),
    ("MultiheadAttention, another embed_dim", "torch", "x = t(2, 16, 32, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x)", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x)"),
    ("MultiheadAttention, an image", "torch", "x = t(2, 64, 4, 4, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x)", "x = t(2, 64, 4, 4, dtype=f32).flatten(2).transpose(1, 2); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x)"),
    ("MultiheadAttention, key and value of two lengths", "torch", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x[:, :8])", "x = t(2, 16, 64, dtype=f32); nn.MultiheadAttention(64, 4, batch_first=True).cuda()(x, x, x)"),
    ("Transformer, batches that differ", "torch", "nn.Transformer(64, 4, 1, 1, 64).cuda()(t(10, 2, 64, dtype=f32), t(10, 3, 64, dtype=f32))", "nn.Transformer(64, 4, 1, 1, 64).cuda()(t(10, 2, 64, dtype=f32), t(10, 2, 64, dtype=f32))"),
    ("causal bias and is_causal", "torch", "from torch.nn.attention.bias import causal_lower_right\nsdpa(*qkv(), attn_mask=causal_lower_right(512, 512), is_causal=True)", "from torch.nn.attention.bias import causal_lower_right\nsdpa(*qkv(), attn_mask=causal_lower_right(512, 512))"),
    ("a backend by its name", "torch", "with sdpa_kernel('flash'): sdpa(*qkv())", "with sdpa_kernel(B.FLASH_ATTENTION): sdpa(*qkv())"),
    ("a backend by a wrong name", "torch", "with sdpa_kernel(B.FLASH): sdpa(*qkv())", "with sdpa_kernel(B.FLASH_ATTENTION): sdpa(*qkv())"),
    ("nested and dense", "torch", "n = torch.nested.nested_tensor([t(5, 8, 64), t(7, 8, 64)], layout=torch.jagged).transpose(1, 2); k = t(2, 8, 7, 64); sdpa(n, k, k)", "n = torch.nested.nested_tensor([t(5, 8, 64), t(7, 8, 64)], layout=torch.jagged).transpose(1, 2); sdpa(n, n, n)"),
    ("a very large batch", "torch", "q = t(70000, 1, 16, 64)\nwith sdpa_kernel(B.EFFICIENT_ATTENTION): F.scaled_dot_product_attention(q, q, q)", "q = t(70000, 1, 16, 64)\nwith sdpa_kernel(B.EFFICIENT_ATTENTION): torch.cat([F.scaled_dot_product_attention(x, x, x) for x in q.split(60000)])"),
    ("key and value of two lengths", "torch", "with sdpa_kernel(B.EFFICIENT_ATTENTION): F.scaled_dot_product_attention(t(2, 8, 64, 64), t(2, 8, 64, 64), t(2, 8, 32, 64))", "with sdpa_kernel(B.EFFICIENT_ATTENTION): F.scaled_dot_product_attention(t(2, 8, 64, 64), t(2, 8, 64, 64), t(2, 8, 64, 64))"),
    ("varlen_attn in f32", "torch", "from torch.nn.attention.varlen import varlen_attn\nc = torch.tensor([0, 10, 30], dtype=torch.int32, device='cuda'); x = t(30, 8, 64, dtype=f32); varlen_attn(x, x, x, c, c, 20, 20)", "from torch.nn.attention.varlen import varlen_attn\nc = torch.tensor([0, 10, 30], dtype=torch.int32, device='cuda'); x = t(30, 8, 64, dtype=bf16); varlen_attn(x, x, x, c, c, 20, 20)"),
    ("FlashAttention 3 without its package", "torch", "torch.nn.attention.activate_flash_attention_impl('FA3'); sdpa(*qkv())", "sdpa(*qkv())"),
    ("an implementation that is not registered", "torch", "torch.nn.attention.activate_flash_attention_impl('FA7')", "print(torch.nn.attention.list_flash_attention_impls())"),
    ("an argument that scaled_dot_product_attention does not have", "torch", "sdpa(*qkv(), window=128)", "sdpa(*qkv())"),
    ("flex, a block mask on the CPU", "torch", "m = create_block_mask(causal, None, None, 512, 512, device='cpu'); flex(*qkv(), block_mask=m)", "m = create_block_mask(causal, None, None, 512, 512, device='cuda'); flex(*qkv(), block_mask=m)"),
    ("flex, a mask of more heads than there are", "torch", "m = create_block_mask(causal, 2, 4, 512, 512); flex(*qkv(heads=8), block_mask=m)", "m = create_block_mask(causal, 2, None, 512, 512); flex(*qkv(heads=8), block_mask=m)"),
    ("flex, three dimensions", "torch", "flex(t(8, 512, 64), t(8, 512, 64), t(8, 512, 64))", "flex(t(1, 8, 512, 64), t(1, 8, 512, 64), t(1, 8, 512, 64))"),
    ("flex, a tensor instead of a block mask", "torch", "flex(*qkv(), block_mask=torch.ones(512, 512, dtype=torch.bool, device='cuda'))", "flex(*qkv(), block_mask=create_block_mask(causal, None, None, 512, 512))"),
    ("flex, head_dim 512 in f32", "torch", "q, k, v = qkv(head_dim=512, dtype=f32, grad=True); flex(q, k, v).sum().backward()", "q, k, v = qkv(head_dim=128, dtype=bf16, grad=True); flex(q, k, v).sum().backward()"),
    ("a query that is not one of jagged tensors", "torch", "n = torch.nested.nested_tensor([t(8, 5, 64), t(8, 7, 64)]); sdpa(n, n, n, attn_mask=torch.ones(7, 7, dtype=torch.bool, device='cuda'))", "n = torch.nested.nested_tensor([t(8, 5, 64), t(8, 7, 64)]); sdpa(n, n, n)"),
    ("cuDNN, f32", "jax", "dpa(*qkv(dtype=jnp.float32), implementation='cudnn')", "dpa(*qkv(dtype=jnp.bfloat16), implementation='cudnn')"),
    ("cuDNN, types differ", "jax", "q, k, v = qkv(); dpa(q, k.astype(jnp.float16), v, implementation='cudnn')", "q, k, v = qkv(); dpa(q, k.astype(jnp.bfloat16), v, implementation='cudnn')"),
    ("heads are not a multiple", "jax", "dpa(*qkv(heads=8, kv_heads=3))", "dpa(*qkv(heads=9, kv_heads=3))"),
    ("cuDNN, head_dim 320", "jax", "dpa(*qkv(head_dim=320), implementation='cudnn').block_until_ready()", "dpa(*qkv(head_dim=320), implementation='xla').block_until_ready()"),
    ("cuDNN, head_dim 100", "jax", "dpa(*qkv(head_dim=100), implementation='cudnn').block_until_ready()", "dpa(*qkv(head_dim=104), implementation='cudnn').block_until_ready()"),
    ("mask of floats", "jax", "dpa(*qkv(), mask=jnp.ones((1, 1, 512, 512)))", "dpa(*qkv(), mask=jnp.ones((1, 1, 512, 512), dtype=bool))"),
    ("mask of another rank", "jax", "dpa(*qkv(), mask=jnp.ones((512, 512), dtype=bool))", "dpa(*qkv(), mask=jnp.ones((1, 1, 512, 512), dtype=bool))"),
    ("bias of another shape", "jax", "dpa(*qkv(), bias=jnp.ones((1, 3, 512, 512), jnp.bfloat16))", "dpa(*qkv(), bias=jnp.ones((1, 8, 512, 512), jnp.bfloat16))"),
    ("an implementation that does not exist", "jax", "dpa(*qkv(), implementation='flash')", "dpa(*qkv(), implementation='cudnn')"),
    ("lengths of keys in int64", "jax", "jax.config.update('jax_enable_x64', True); dpa(*qkv(), key_value_seq_lengths=jnp.array([5, 7]))", "jax.config.update('jax_enable_x64', True); dpa(*qkv(), key_value_seq_lengths=jnp.array([5, 7], dtype=jnp.int32))"),
    ("values of another head_dim", "jax", "q, k, v = qkv(); dpa(q, k, v[..., :32])", "q, k, v = qkv(); dpa(q, k, v)[..., :32]"),
    ("three dimensions", "jax", "q, k, v = qkv(); dpa(q, k, v[0])", "q, k, v = qkv(); dpa(q, k, v)"),
]
