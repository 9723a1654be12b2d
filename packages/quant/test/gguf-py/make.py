# Makes expected.json: SHA-256 of values that gguf-py (pip install gguf) decodes from blocks of a seeded generator, and of blocks
# that it encodes. gguf-py.test.ts makes the same blocks. Run: python3 make.py > expected.json
import hashlib
import json

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize

# Byte offsets with bit 6 cleared: the top exponent bit of f16 fields. So no field is an infinity or NaN: NaN payloads differ.
FORMATS = {
    "Q2_K": [81, 83], "Q3_K": [109], "Q4_K": [1, 3], "Q5_K": [1, 3], "Q6_K": [209],
    "Q4_0": [1], "Q4_1": [1, 3], "Q5_0": [1], "Q5_1": [1, 3], "Q8_0": [1],
    "IQ4_NL": [1], "IQ4_XS": [1], "MXFP4": [], "NVFP4": [], "IQ1_S": [1], "IQ1_M": [55],
    "IQ2_XXS": [1], "IQ2_XS": [1], "IQ2_S": [1], "IQ3_XXS": [1], "IQ3_S": [1], "TQ1_0": [53], "TQ2_0": [65],
}
BLOCKS = 256


def random_bytes(count: int) -> np.ndarray:
    out = np.empty(count, dtype=np.uint8)
    state = 1
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out[i] = state >> 24
    return out


expected = {}
for name, cleared in FORMATS.items():
    kind = GGMLQuantizationType[name]
    blocks = random_bytes(BLOCKS * GGML_QUANT_SIZES[kind][1]).reshape(BLOCKS, -1)
    blocks[:, cleared] &= 0xBF
    values = dequantize(blocks, kind).astype(np.float32)
    values[values == 0] = 0  # the sign of zero is not defined
    expected[name.lower()] = {"cleared": cleared, "sha256": hashlib.sha256(values.tobytes()).hexdigest()}
floats = (random_bytes(32 * BLOCKS).astype(np.float32) - 127) / np.repeat(np.float32(2) ** (np.arange(BLOCKS) % 32), 32)
encoded = {"mxfp4": hashlib.sha256(quantize(floats, GGMLQuantizationType.MXFP4).tobytes()).hexdigest()}
print(json.dumps({"blocks": BLOCKS, "formats": expected, "encoded": encoded}, indent=2))
