"""Writes GGUF version 3: header, key-value metadata, tensor descriptions, tensors at multiples of 32 bytes.

Q8_0: 32 weights are a float16 scale d = max|x| / 127 and 32 bytes round(x / d), as in ggml: the division uses d before its
rounding to float16, and halves round away from zero."""

import struct

import numpy as np

ALIGNMENT = 32
BLOCK = 32
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
F32, Q8_0 = 0, 8


def quantise_q8_0(x):
    """x [rows, cols], cols a multiple of 32 → (scales float16 [n, 1], values int8 [n, 32])."""
    blocks = np.ascontiguousarray(x, np.float32).reshape(-1, BLOCK)
    d = np.abs(blocks).max(1, keepdims=True) / np.float32(127)
    inverse = np.divide(np.float32(1), d, out=np.zeros_like(d), where=d > 0)
    scaled = (blocks * inverse).astype(np.float64)
    values = np.trunc(scaled + np.copysign(0.5, scaled))
    return d.astype(np.float16), values.astype(np.int8)


def dequantise_q8_0(scales, values, shape):
    return (scales.astype(np.float32) * values.astype(np.float32)).reshape(shape)


def pack_q8_0(scales, values):
    return np.concatenate([scales.view(np.uint8), values.view(np.uint8)], axis=1).tobytes()


def pack_string(text):
    data = text.encode()
    return struct.pack('<Q', len(data)) + data


def pack_scalar(kind, value):
    if kind == STRING:
        return pack_string(value)
    return struct.pack({UINT32: '<I', INT32: '<i', FLOAT32: '<f', BOOL: '<?'}[kind], value)


def pack_entry(key, kind, value):
    """A metadata entry; `kind` is a type, or (ARRAY, type of the elements)."""
    if isinstance(kind, tuple):
        _, element = kind
        body = struct.pack('<IIQ', ARRAY, element, len(value)) + b''.join(pack_scalar(element, v) for v in value)
    else:
        body = struct.pack('<I', kind) + pack_scalar(kind, value)
    return pack_string(key) + body


def padded(data):
    return data + b'\0' * (-len(data) % ALIGNMENT)


def write_gguf(path, metadata, tensors):
    """metadata: (key, kind, value) entries. tensors: (name, shape in numpy's order, F32 or Q8_0, bytes)."""
    head = struct.pack('<4sIQQ', b'GGUF', 3, len(tensors), len(metadata))
    head += b''.join(pack_entry(*entry) for entry in metadata)
    offset = 0
    for name, shape, kind, data in tensors:
        dims = shape[::-1]
        head += pack_string(name) + struct.pack(f'<I{len(dims)}QIQ', len(dims), *dims, kind, offset)
        offset += len(padded(data))
    with open(path, 'wb') as file:
        file.write(padded(head))
        for *_, data in tensors:
            file.write(padded(data))
