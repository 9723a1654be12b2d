import { AudioError } from './error.js';

const ascii = (bytes: Uint8Array, from: number, to: number) =>
  String.fromCharCode(...bytes.subarray(from, to));

/** Kinds of audio files that are known by their first bytes, and not decoded. */
const kinds: readonly { readonly name: string; begins(head: Uint8Array): boolean }[] = [
  { name: 'AAC', begins: (head) => head[0] === 0xff && (head[1]! & 0xf6) === 0xf0 },
  { name: 'AIFF', begins: (head) => ascii(head, 0, 4) === 'FORM' && ascii(head, 8, 11) === 'AIF' },
  { name: 'CAF (Core Audio)', begins: (head) => ascii(head, 0, 4) === 'caff' },
  { name: 'AU', begins: (head) => ascii(head, 0, 4) === '.snd' },
  { name: 'AMR', begins: (head) => ascii(head, 0, 5) === '#!AMR' },
  { name: 'Windows Media (ASF)', begins: (head) => ascii(head, 0, 4) === '\x30\x26\xb2\x75' },
  { name: 'RF64', begins: (head) => ascii(head, 0, 4) === 'RF64' },
  { name: 'Wave64', begins: (head) => ascii(head, 0, 4) === 'riff' },
  { name: 'AVI', begins: (head) => ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'AVI ' },
  { name: 'WavPack', begins: (head) => ascii(head, 0, 4) === 'wvpk' },
  { name: "Monkey's Audio", begins: (head) => ascii(head, 0, 4) === 'MAC ' },
];

/** The kind of a file that is not decoded. */
export const undecodedKind = (head: Uint8Array): string | undefined =>
  kinds.find(({ begins }) => begins(head))?.name;

/**
 * The command that converts a file into WAV.
 * @param from path of the file, or words for bytes
 */
export const ffmpegCommand = (from: string): string => `ffmpeg -i ${fileName(from)} -ar 16000 -ac 1 out.wav`;

function fileName(from: string): string {
  if (from === inMemory) return 'IN';
  return /^[\w./:@%+,=-]+$/.test(from) ? from : `"${from.replaceAll(/["\\$`]/g, '\\$&')}"`;
}

/** In place of a path, for bytes in memory. */
export const inMemory = 'the sound given';

/** @param what container and codec: 'MP4 with AAC' */
export const undecoded = (from: string, what: string): AudioError =>
  new AudioError(
    'UNSUPPORTED',
    `${from}: is ${what}, which Quern does not decode; convert it: ${ffmpegCommand(from)}`,
  );

/** Text of a file for a message, without control characters. */
export const printable = (text: string): string => text.replaceAll(/[^ -~]/g, '?').slice(0, 32);
