import { printable } from './undecoded.js';

const ascii = (bytes: Uint8Array, from: number, to: number) =>
  String.fromCharCode(...bytes.subarray(from, to));

export const isMp4 = (bytes: Uint8Array): boolean => ascii(bytes, 4, 8) === 'ftyp';

/** Boxes that are read into; others are skipped as a whole. */
const masters: readonly string[] = ['moov', 'trak', 'mdia', 'minf', 'stbl'];
/** A file has some dozens. */
const maxBoxes = 10_000;

const names: Readonly<Record<string, string>> = {
  mp4a: 'AAC',
  alac: 'Apple Lossless (ALAC)',
  Opus: 'Opus',
  fLaC: 'FLAC',
  'ac-3': 'AC-3',
  'ec-3': 'E-AC-3',
};

/** The codec of an MP4 file's first sound track; undefined: it has none. */
export function mp4Codec(bytes: Uint8Array): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let isSound = false;
  for (let at = 0, count = 0; at + 16 <= bytes.length && count < maxBoxes; count++) {
    const [size, type] = [view.getUint32(at), ascii(bytes, at + 4, at + 8)];
    const content = at + (size === 1 ? 16 : 8);
    if (type === 'hdlr') isSound = ascii(bytes, content + 8, content + 12) === 'soun';
    if (type === 'stsd' && isSound) {
      const code = ascii(bytes, content + 12, content + 16);
      return names[code] ?? printable(code);
    }
    if (masters.includes(type)) at = content;
    else if (size === 0)
      return undefined; // to the file's end
    else at += Math.max(8, size === 1 ? Number(view.getBigUint64(at + 8)) : size);
  }
  return undefined;
}
