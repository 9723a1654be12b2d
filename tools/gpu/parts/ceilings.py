# PyTorch's copy bandwidth and bf16 rate; the last line is JSON. Exits with 3 where there is no PyTorch with a GPU.
import json
import sys

try:
    import torch
except ImportError:
    sys.exit("without PyTorch")
if not torch.cuda.is_available():
    sys.exit("PyTorch sees no GPU")

small = "--small" in sys.argv


def seconds(act, times=20):
    for _ in range(3):
        act()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    best = 1e9
    for _ in range(times):
        start.record()
        act()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3)
    return best


def mean_seconds(act, times=20):
    for _ in range(3):
        act()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        act()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3 / times


count = 2**20 if small else 2**31
source = torch.ones(count, dtype=torch.uint8, device="cuda")
target = torch.empty_like(source)
copy = 2 * count / seconds(lambda: target.copy_(source))
del source, target
size = 256 if small else 8192
a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
b = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
rate = 2 * size**3 / mean_seconds(lambda: torch.matmul(a, b))
print(json.dumps({"version": torch.__version__, "copyBandwidth": copy, "bf16Rate": rate}))
