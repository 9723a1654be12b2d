import { decode, decodeF8Blocks, decodeIq8, f8Blocks, formats, type GgufFormat, iq8 } from '@quern/quant';
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

const layoutOf = ({ name, ...layout }: Pick<typeof iq8 | typeof f8Blocks, keyof typeof iq8>) => ({
  format: name,
  ...layout,
});

/** Float definitions of all block formats of @quern/quant, for `quantGguf`. */
export const knownCodecs: readonly Codec[] = [
  ...(Object.keys(formats) as GgufFormat[]).map(codecOf),
  { ...layoutOf(iq8), decode: decodeIq8 },
  { ...layoutOf(f8Blocks), decode: decodeF8Blocks },
];
