// Types of caches [blocks, block size, heads, d]: how a head lies in memory. `eight` needs what loads_eights says.
#pragma once
#include "e4m3.h"
#include "formats.h"

namespace quern {
namespace gpu {

using Byte = signed char;

template <class Format>
FUNCTION Eight eight_halves(Uint4 words) {
  Eight eight;
  UNROLL for (int i = 0; i < 8; i++) eight.values[i] = Format::value((unsigned short)(words[i / 2] >> i % 2 * 16));
  return eight;
}

struct CacheF32 {
  static FUNCTION int bytes(int d) { return 4 * d; }
  static FUNCTION float get(Global<const Byte> head, int i) { return as<const float>(head)[i]; }
  static FUNCTION Eight eight(Global<const Byte> head, int i) {
    const Float4 a = as<const Float4>(head + 4 * i)[0], b = as<const Float4>(head + 4 * i)[1];
    return Eight{{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}};
  }
  static FUNCTION void put(Global<Byte> head, int i, float x) { as<float>(head)[i] = x; }
  static FUNCTION float scale(Global<const Byte>, int) { return 1; }
};

struct CacheF16 {
  static FUNCTION int bytes(int d) { return 2 * d; }
  static FUNCTION float get(Global<const Byte> head, int i) { return from_f16(as<const unsigned short>(head)[i]); }
  static FUNCTION Eight eight(Global<const Byte> head, int i) { return eight_halves<F16>(as<const Uint4>(head + 2 * i)[0]); }
  static FUNCTION void put(Global<Byte> head, int i, float x) { as<unsigned short>(head)[i] = to_f16(x); }
  static FUNCTION float scale(Global<const Byte>, int) { return 1; }
};

struct CacheBf16 {
  static FUNCTION int bytes(int d) { return 2 * d; }
  static FUNCTION float get(Global<const Byte> head, int i) { return from_bf16(as<const unsigned short>(head)[i]); }
  static FUNCTION Eight eight(Global<const Byte> head, int i) { return eight_halves<Bf16>(as<const Uint4>(head + 2 * i)[0]); }
  static FUNCTION void put(Global<Byte> head, int i, float x) { as<unsigned short>(head)[i] = to_bf16(x); }
  static FUNCTION float scale(Global<const Byte>, int) { return 1; }
};

// Heads of d bytes, then their scale: an f32 at any address.
struct ScaledCache {
  static FUNCTION int bytes(int d) { return d + 4; }
  static FUNCTION float scale_of(Global<const Byte> head, int d) {
    if (d % 4 == 0) return as<const float>(head + d)[0];
    const Global<const unsigned char> bytes = as<const unsigned char>(head + d);
    return from_bits(unsigned(bytes[0]) | unsigned(bytes[1]) << 8 | unsigned(bytes[2]) << 16 | unsigned(bytes[3]) << 24);
  }
  static FUNCTION void put_scale(Global<Byte> head, int d, float scale) {
    for (int i = 0; i < 4; i++) as<unsigned char>(head + d)[i] = (unsigned char)(to_bits(scale) >> 8 * i);
  }
};

struct CacheI8 : ScaledCache {
  static FUNCTION float get(Global<const Byte> head, int i) { return float(head[i]); }
  static FUNCTION Eight eight(Global<const Byte> head, int i) {
    const unsigned words[2] = {as<const unsigned>(head + i)[0], as<const unsigned>(head + i)[1]};
    Eight eight;
    UNROLL for (int j = 0; j < 8; j++) eight.values[j] = float(Byte(words[j / 4] >> j % 4 * 8));
    return eight;
  }
  static FUNCTION float scale(Global<const Byte> head, int d) { return scale_of(head, d); }
  static FUNCTION float largest_element() { return 127; }
  static FUNCTION Byte element(float x) { return Byte(-largest(-127, -largest(-127, round_even(x)))); }
};

// Elements are read as 1/256 of E4M3's values, scales as 256 times theirs.
struct CacheE4m3 : ScaledCache {
  static FUNCTION float get(Global<const Byte> head, int i) {
    return from_f16((unsigned short)e4m3_halves(unsigned((unsigned char)head[i]) << 8));
  }
  static FUNCTION Eight eight(Global<const Byte> head, int i) {
    const unsigned words[2] = {as<const unsigned>(head + i)[0], as<const unsigned>(head + i)[1]};
    Eight eight;
    UNROLL for (int j = 0; j < 4; j++) {
      const unsigned halves = e4m3_halves(words[j / 2] << (j % 2 ? 0 : 8)); // of bytes 0 and 2, then 1 and 3
      eight.values[j / 2 * 4 + j % 2] = from_f16((unsigned short)halves);
      eight.values[j / 2 * 4 + j % 2 + 2] = from_f16((unsigned short)(halves >> 16));
    }
    return eight;
  }
  static FUNCTION float scale(Global<const Byte> head, int d) { return 256 * scale_of(head, d); }
  static FUNCTION float largest_element() { return 448; }
  static FUNCTION Byte element(float x) { return Byte(to_e4m3(x)); }
};

// Whether all heads allow loads of eight elements: d is a multiple of 8, and the cache begins at a multiple of 16 bytes.
FUNCTION bool loads_eights(Global<const Byte> cache, int d) { return d % 8 == 0 && aligned(cache); }

// Elements i to i + 7 of a head; 0 from d on. i: a multiple of 8. LOADS: loads_eights.
template <class Kind, bool LOADS>
FUNCTION Eight eight_of_head(Global<const Byte> head, int i, int d) {
  Eight eight = {};
  if (LOADS) {
    if (i < d) eight = Kind::eight(head, i);
  } else {
    UNROLL for (int j = 0; j < 8; j++) eight.values[j] = i + j < d ? Kind::get(head, i + j) : 0.0f;
  }
  return eight;
}

} // namespace gpu
} // namespace quern
