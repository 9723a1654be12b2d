# PyTorch's copies, bf16 products and attention on our shapes, as CUDA graphs: what vendors' libraries reach on this device.
#   python3 torch-ops.py REPORT SECONDS [--small] [--ceilings]
# --ceilings: copy bandwidth and bf16 rate alone. The report is written after each figure; a figure that fails does not end the others.
# Exits with an error where there is no PyTorch with a GPU. This file's name cannot be torch.py: `import torch` would find it.
import json
import os
import sys
import time

start = time.monotonic()  # importing torch may take seconds
try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(f"without PyTorch: {error}")
if not torch.cuda.is_available():
    sys.exit("PyTorch sees no GPU")

path, limit = sys.argv[1], float(sys.argv[2])
small = "--small" in sys.argv
report = {"version": torch.__version__, "works": [], "skipped": []}
beyond_caches = 1 if small else 256 * 2**20


def save():
    with open(path + ".new", "w") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".new", path)


def seconds_of(act, times):
    """Least seconds of `act` of several runs."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    best = 1e9
    for _ in range(times):
        begin.record()
        act()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / 1e3)
    return best


def seconds_of_op(acts):
    """Seconds of one of several acts, which read operands that no cache holds, as a CUDA graph."""
    count = max(1, 20 // len(acts)) * len(acts)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for act in acts[:2]:
            act()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            acts[i % len(acts)]()
    graph.replay()
    return seconds_of(graph.replay, 5) / count


def attempt(name, act):
    """`act` if there is time. A failure is a result."""
    if time.monotonic() - start > limit - 2:
        report["skipped"].append(name)
        return
    try:
        with torch.no_grad():
            act()
    except Exception as error:
        report["works"].append({"name": name, "failed": f"{type(error).__name__}: {str(error)[:300]}"})
    save()
    torch.cuda.empty_cache()


def measure(name, make):
    attempt(name, lambda: report["works"].append({"name": name, "seconds": seconds_of_op(make())}))


def copy_bandwidth():
    count = 2**20 if small else 2**31
    source = torch.ones(count, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    report["copyBandwidth"] = 2 * count / seconds_of(lambda: target.copy_(source), 12)


def bf16_rate():
    size = 256 if small else 8192
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        torch.matmul(a, b)
    report["bf16Rate"] = 2 * size**3 * 10 / seconds_of(lambda: [torch.matmul(a, b) for _ in range(10)], 3)


def linear(rows, n, k):
    def make():
        copies = min(64, max(1, -(-beyond_caches // (2 * n * k))))
        weights = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
        x = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
        return [lambda w=w: F.linear(x, w) for w in weights]

    measure(f"linear bf16 {rows}×[{n}×{k}]", make)


def attention(sequences, rows, depth):
    heads, kv_heads, d = (4, 2, 32) if small else (32, 8, 128)
    length = depth + rows

    def make():
        size = 4 * sequences * length * kv_heads * d
        copies = min(64, max(1, -(-beyond_caches // size)))
        shape = (sequences, kv_heads, length, d)
        keys = [[torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2)] for _ in range(copies)]
        q = torch.randn(sequences, heads, rows, d, device="cuda", dtype=torch.bfloat16)
        if rows > 1:  # a prompt
            return [lambda k=k, v=v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True) for k, v in keys]
        grouped = q.view(sequences, kv_heads, heads // kv_heads, d)  # query heads that share keys are rows of one head
        return [lambda k=k, v=v: F.scaled_dot_product_attention(grouped, k, v) for k, v in keys]

    measure(f"attention bf16 {sequences} × {rows} rows, depth {depth}", make)


attempt("copy bandwidth", copy_bandwidth)
attempt("bf16 rate", bf16_rate)
if "--ceilings" not in sys.argv:
    matrices = [(64, 256)] if small else [(4096, 4096), (14336, 4096), (4096, 14336), (6144, 4096)]
    for rows in [1, 16] if small else [1, 16, 64, 256, 2048]:
        for n, k in matrices:
            linear(rows, n, k)
    for shape in [(1, 1, 64)] if small else [(1, 1, 1024), (1, 1, 8192), (1, 1, 32768), (16, 1, 1024), (64, 1, 1024), (1, 512, 0), (1, 2048, 0)]:
        attention(*shape)
save()
