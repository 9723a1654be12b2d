import { decode, decodeIq8, formats, type GgufFormat, iq8 } from '@quern/quant';
import type { Codec } from './conformance-options.js';

const codecOf = (format: GgufFormat): Codec => ({
  format,
  blockSize: formats[format].blockSize,
  blockBytes: formats[format].blockBytes,
  decode(bytes, count) {
    const values = new Float32Array(count);
    decode(format, bytes, 0, values, 0, count);
    return values;
  },
});

const { name, ...layout } = iq8;

/** Float definitions of all block formats of @quern/quant, for `quantGguf`. */
export const knownCodecs: readonly Codec[] = [
  ...(Object.keys(formats) as GgufFormat[]).map(codecOf),
  { format: name, ...layout, decode: decodeIq8 },
];
