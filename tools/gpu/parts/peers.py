# Decoders, encoders and Whisper's encoder in PyTorch, with the shapes and the work of models.mjs: plain modules with SDPA, run
# eagerly, as CUDA graphs, and compiled layer by layer: a layer is compiled once, so that a run ends within ten minutes.
#   python3 peers.py REPORT SECONDS [--small] [--cpu]
# Weights are random bf16; caches are static; decoding is greedy on the device. Each figure is the median of several runs. The report is
# written after each work, so that a run that is cut short keeps what it has.
import gc
import json
import statistics
import sys
import time
from dataclasses import dataclass

start = time.monotonic()  # importing torch may take seconds
try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(f"without PyTorch: {error}")

report, limit = sys.argv[1], float(sys.argv[2])
small, cpu = "--small" in sys.argv, "--cpu" in sys.argv
if not cpu and not torch.cuda.is_available():
    sys.exit("PyTorch sees no GPU")
device = "cpu" if cpu else "cuda"
dtype = torch.bfloat16
works = []


def left():
    return limit - (time.monotonic() - start)


def wait():
    if not cpu:
        torch.cuda.synchronize()


def save():
    with open(report, "w") as file:
        name = "cpu" if cpu else torch.cuda.get_device_name()
        json.dump({"torch": torch.__version__, "device": name, "works": works}, file, indent=1)


def seconds(act, repeat=5, warm=2):
    for _ in range(warm):
        act()
    wait()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        act()
        wait()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measure(model, work, way, tokens, make, steps=1):
    """`make` prepares and returns a step, which computes `tokens`; a run has several steps, and waits once."""
    if left() < 45 and not small:
        print(f"not measured, the time is up: {model}, {work}, {way}")
        return
    entry = {"model": model, "work": work, "way": way}
    try:
        step = make()
        taken = seconds(lambda: [step() for _ in range(steps)]) / steps
        entry |= {"tokensPerSecond": tokens / taken, "milliseconds": 1e3 * taken}
        print(f"{model}, {work}, {way}: {tokens / taken:.1f} tokens/s, {1e3 * taken:.3f} ms", flush=True)
    except Exception as error:  # a way that fails must not hide the others
        entry["failed"] = f"{type(error).__name__}: {str(error)[:300]}"
        print(f"FAILED {model}, {work}, {way}: {entry['failed']}", flush=True)
    works.append(entry)
    save()


def graphed(act):
    """`act` as a CUDA graph."""
    if cpu:
        return act
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            act()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        act()
    return graph.replay


def weight(*shape):
    return torch.randn(*shape, device=device, dtype=dtype) * shape[-1] ** -0.5


@dataclass
class Shape:
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocabulary: int
    theta: float
    head_norms: bool
    tied: bool = False


shapes = {
    "llama-3.1-8b bf16": Shape(32, 4096, 32, 8, 128, 14336, 128256, 5e5, False),
    "qwen3-8b bf16": Shape(36, 4096, 32, 8, 128, 12288, 151936, 1e6, True),
    "qwen3-0.6b bf16": Shape(28, 1024, 16, 8, 128, 3072, 151936, 1e6, True, True),
}
if small:
    shapes = {name: Shape(2, 64, 4, 2, 16, 128, 256, 1e4, s.head_norms, s.tied) for name, s in shapes.items()}


# A mask excludes FlashAttention. Without one a decode step reads `filled` keys, as many as there are at the depth.
class Decoder:
    """Llama or Qwen3 with a static cache for `batch` sequences of `context` tokens."""

    def __init__(self, shape, batch, context):
        s = self.shape = shape
        q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
        self.layers = [
            {
                "qkv": weight(q + 2 * kv, s.width),
                "out": weight(s.width, q),
                "gate_up": weight(2 * s.feed_forward, s.width),
                "down": weight(s.width, s.feed_forward),
                "norms": torch.ones(2, s.width, device=device, dtype=dtype),
                "head_norms": torch.ones(2, s.head_dim, device=device, dtype=dtype),
                "k": torch.zeros(batch, s.kv_heads, context, s.head_dim, device=device, dtype=dtype),
                "v": torch.zeros(batch, s.kv_heads, context, s.head_dim, device=device, dtype=dtype),
            }
            for _ in range(s.layers)
        ]
        self.embedding = weight(s.vocabulary, s.width)
        self.head = self.embedding if s.tied else weight(s.vocabulary, s.width)
        self.norm = torch.ones(s.width, device=device, dtype=dtype)
        self.batch, self.context = batch, context
        self.filled = None
        frequencies = s.theta ** (-torch.arange(0, s.head_dim, 2, device=device, dtype=torch.float32) / s.head_dim)
        angles = torch.arange(context, device=device, dtype=torch.float32)[:, None] * frequencies
        angles = torch.cat([angles, angles], dim=1)
        self.cos, self.sin = angles.cos().to(dtype), angles.sin().to(dtype)
        self.keys = torch.arange(context, device=device)
        self.tokens = torch.ones(batch, 1, device=device, dtype=torch.long)
        self.position = torch.zeros(1, device=device, dtype=torch.long)

    def rotated(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]  # [T, d]
        half = x.shape[-1] // 2
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * sin

    def attention(self, x, layer, positions, mask):
        s = self.shape
        batch, rows, _ = x.shape
        q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
        parts = F.linear(x, layer["qkv"]).split([q, kv, kv], dim=-1)
        q, k, v = (part.view(batch, rows, -1, s.head_dim).transpose(1, 2) for part in parts)
        if s.head_norms:
            q = F.rms_norm(q, (s.head_dim,), layer["head_norms"][0], 1e-6)
            k = F.rms_norm(k, (s.head_dim,), layer["head_norms"][1], 1e-6)
        q, k = self.rotated(q, positions), self.rotated(k, positions)
        if mask is None and self.filled is None:  # a prompt: its own keys are all
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            layer["k"].index_copy_(2, positions, k)
            layer["v"].index_copy_(2, positions, v)
            # One row: the query heads that share keys are rows of one head.
            grouped = q.reshape(batch, s.kv_heads, -1, s.head_dim)
            k, v = layer["k"][:, :, : self.filled], layer["v"][:, :, : self.filled]
            y = F.scaled_dot_product_attention(grouped, k, v, attn_mask=mask).reshape(q.shape)
        return F.linear(y.transpose(1, 2).reshape(batch, rows, -1), layer["out"])

    def block(self, x, layer, positions, mask):
        width = (self.shape.width,)
        x = x + self.attention(F.rms_norm(x, width, layer["norms"][0], 1e-6), layer, positions, mask)
        gate, up = F.linear(F.rms_norm(x, width, layer["norms"][1], 1e-6), layer["gate_up"]).chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, layer["down"])

    def compile(self):
        self.block = torch.compile(self.block, dynamic=False)

    def forward(self, tokens, positions, mask):
        x = F.embedding(tokens, self.embedding)
        for layer in self.layers:
            x = self.block(x, layer, positions, mask)
        return F.linear(F.rms_norm(x[:, -1], (self.shape.width,), self.norm, 1e-6), self.head)

    def step(self):
        """One token of each sequence; the next follows at the next position."""
        mask = (self.keys <= self.position)[None, None, None] if self.filled is None else None
        logits = self.forward(self.tokens, self.position, mask)
        self.tokens.copy_(logits.argmax(dim=-1, keepdim=True))
        self.position.add_(1).remainder_(self.context)

    def prompt(self, count):
        tokens = torch.ones(self.batch, count, device=device, dtype=torch.long)
        return lambda: self.forward(tokens, self.keys[:count], None)


def decode(name, batch, context, depth=0):
    def make(way):
        def prepared():
            model = Decoder(shapes[name], batch, context)
            model.position.fill_(depth)
            if way.endswith("without a mask"):
                model.filled = depth + 1
            if way.startswith("torch.compile"):
                model.compile()
            return model.step if way.startswith("eager") else graphed(model.step)

        return prepared

    work = "decode" + (f" × {batch}" if batch > 1 else "") + (f" at depth {depth}" if depth else "")
    ways = ["torch.compile, CUDA graph", "CUDA graph", "eager"]
    for way in ([f"{way}, without a mask" for way in ways] if depth else []) + ways:
        with torch.no_grad():
            measure(name, work, way, batch, make(way), steps=2 if small else 16)
        release()


def release():
    torch._dynamo.reset()
    gc.collect()
    if not cpu:
        torch.cuda.empty_cache()


def prefill(name, count):
    def make(way):
        def prepared():
            model = Decoder(shapes[name], 1, count)
            if way == "torch.compile":
                model.compile()
            return model.prompt(count)

        return prepared

    for way in ["torch.compile", "eager"]:
        with torch.no_grad():
            measure(name, f"prefill {count}", way, count, make(way))
        release()


class Encoder(torch.nn.Module):
    """Layers of BERT (norm after) or Whisper (norm before), on hidden states."""

    def __init__(self, layers, width, heads, feed_forward, norm_first):
        super().__init__()
        self.heads, self.norm_first = heads, norm_first
        make = lambda i, o: torch.nn.Linear(i, o, device=device, dtype=torch.float16 if not cpu else dtype)
        norm = lambda: torch.nn.LayerNorm(width, device=device, dtype=torch.float16 if not cpu else dtype)
        self.layers = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    "qkv": make(width, 3 * width),
                    "out": make(width, width),
                    "up": make(width, feed_forward),
                    "down": make(feed_forward, width),
                    "first": norm(),
                    "second": norm(),
                }
            )
            for _ in range(layers)
        )

    def attend(self, layer, x):
        batch, rows, width = x.shape
        q, k, v = (p.view(batch, rows, self.heads, -1).transpose(1, 2) for p in layer["qkv"](x).chunk(3, dim=-1))
        return layer["out"](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, rows, width))

    def forward(self, x):
        for layer in self.layers:
            feed = lambda h: layer["down"](F.gelu(layer["up"](h)))
            if self.norm_first:
                x = x + self.attend(layer, layer["first"](x))
                x = x + feed(layer["second"](x))
            else:
                x = layer["first"](x + self.attend(layer, x))
                x = layer["second"](x + feed(x))
        return x


def encode(name, work, batch, rows, *shape):
    def make(way):
        def prepared():
            model = Encoder(*shape).eval()
            x = torch.randn(batch, rows, shape[1], device=device, dtype=torch.float16 if not cpu else dtype)
            if way == "torch.compile":
                compiled = torch.compile(model)
                return lambda: compiled(x)
            return graphed(lambda: model(x)) if way == "CUDA graph" else lambda: model(x)

        return prepared

    for way in ["torch.compile", "CUDA graph", "eager"]:
        with torch.no_grad():
            measure(name, work, way, batch * rows, make(way))
        release()


context = 64 if small else 512
decode("llama-3.1-8b bf16", 1, context)
prefill("llama-3.1-8b bf16", 16 if small else 2048)
decode("qwen3-0.6b bf16", 1, context)
for batch in [2] if small else [16, 64, 256]:
    decode("qwen3-8b bf16", batch, context)
bge = (2, 32, 2, 64, False) if small else (12, 384, 12, 1536, False)
for texts in [2] if small else [64, 256, 1024]:
    encode("bge-small f16", f"{texts} texts of 128", texts, 128, *bge)
whisper = (2, 32, 2, 64, True) if small else (4, 384, 6, 1536, True)
encode("whisper-tiny f16", "one window, encoder", 1, 64 if small else 1500, *whisper)
decode("llama-3.1-8b bf16", 1, 64 if small else 32768 + 512, depth=32 if small else 32768)
save()
