// Types of caches [blocks, block size, heads, d]: how a head lies in memory.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

using Byte = signed char;

struct CacheF32 {
  static FUNCTION int bytes(int d) { return 4 * d; }
  static FUNCTION float get(Global<const Byte> head, int i) { return as<const float>(head)[i]; }
  static FUNCTION void put(Global<Byte> head, int i, float x) { as<float>(head)[i] = x; }
  static FUNCTION float scale(Global<const Byte>, int) { return 1; }
};

struct CacheF16 {
  static FUNCTION int bytes(int d) { return 2 * d; }
  static FUNCTION float get(Global<const Byte> head, int i) { return from_f16(as<const unsigned short>(head)[i]); }
  static FUNCTION void put(Global<Byte> head, int i, float x) { as<unsigned short>(head)[i] = to_f16(x); }
  static FUNCTION float scale(Global<const Byte>, int) { return 1; }
};

struct CacheBf16 {
  static FUNCTION int bytes(int d) { return 2 * d; }
  static FUNCTION float get(Global<const Byte> head, int i) { return from_bf16(as<const unsigned short>(head)[i]); }
  static FUNCTION void put(Global<Byte> head, int i, float x) { as<unsigned short>(head)[i] = to_bf16(x); }
  static FUNCTION float scale(Global<const Byte>, int) { return 1; }
};

// d elements, then their scale: an f32 at any address.
struct CacheI8 {
  static FUNCTION int bytes(int d) { return d + 4; }
  static FUNCTION float get(Global<const Byte> head, int i) { return float(head[i]); }
  static FUNCTION void put(Global<Byte> head, int i, float x) { head[i] = Byte(x); }
  static FUNCTION float scale(Global<const Byte> head, int d) {
    if (d % 4 == 0) return as<const float>(head + d)[0];
    const Global<const unsigned char> bytes = as<const unsigned char>(head + d);
    return from_bits(unsigned(bytes[0]) | unsigned(bytes[1]) << 8 | unsigned(bytes[2]) << 16 | unsigned(bytes[3]) << 24);
  }
  static FUNCTION void put_scale(Global<Byte> head, int d, float scale) {
    for (int i = 0; i < 4; i++) as<unsigned char>(head + d)[i] = (unsigned char)(to_bits(scale) >> 8 * i);
  }
};

} // namespace gpu
} // namespace quern
