import { broken, type Coding, decodeWith } from './decode-with.js';
import { AudioError } from './error.js';
import { isMatroska } from './matroska.js';
import { isMp4, mp4Codec } from './mp4.js';
import { firstPacket, isOgg, scanOgg } from './ogg.js';
import { decodeMatroska, decodeOggOpus } from './opus.js';
import type { Sound } from './sound.js';
import { ffmpegCommand, printable, undecoded, undecodedKind } from './undecoded.js';

/** A file that its decoder package reads as a whole. */
interface Kind extends Coding {
  /** Whether a file starts like this kind. */
  begins(bytes: Uint8Array): boolean;
  /** The visible fault of an incomplete file, from the number of decoded samples. */
  cutOff?(bytes: Uint8Array, samples: number): string | undefined;
}

const text = (bytes: Uint8Array, from: number, to: number) =>
  String.fromCharCode(...bytes.subarray(from, to));

const flac = { package: '@wasm-audio-decoders/flac', decoder: 'FLACDecoder' };

const kinds: readonly Kind[] = [
  { name: 'FLAC', begins: (bytes) => text(bytes, 0, 4) === 'fLaC', ...flac, cutOff: flacCutOff },
  { name: 'Ogg FLAC', begins: (bytes) => isOgg(bytes) && firstPacket(bytes).startsWith('\x7fFLAC'), ...flac },
  {
    name: 'Ogg Vorbis',
    begins: (bytes) => isOgg(bytes) && firstPacket(bytes).startsWith('\x01vorbis'),
    package: '@wasm-audio-decoders/ogg-vorbis',
    decoder: 'OggVorbisDecoder',
  },
  {
    name: 'MP3',
    begins: (bytes) => text(bytes, 0, 3) === 'ID3' || (bytes[0] === 0xff && (bytes[1]! & 0xe6) === 0xe2),
    package: 'mpg123-decoder',
    decoder: 'MPEGDecoder',
  },
];

/** Files with a sound of any codec in them. */
const containers = [isOgg, isMatroska, isMp4];

/** What is read, for messages and docs. */
const readable = 'WAV, FLAC, MP3, Ogg (Vorbis, Opus, FLAC), WebM (Opus)';

/**
 * The samples of a compressed file. An optional package decodes it in a separate thread.
 * @param from source of the bytes, for messages
 * @throws AudioError NOT_AUDIO, UNSUPPORTED, DECODER_MISSING, DECODER_FAILED, DECODE_FAILED or TOO_LARGE; the signal's
 * reason
 */
export async function decodeCompressed(
  bytes: Uint8Array,
  from: string,
  signal: AbortSignal | undefined,
): Promise<Sound> {
  const kind = kinds.find((each) => each.begins(bytes));
  if (kind) return decodeKind(kind, bytes, from, signal);
  if (isMatroska(bytes)) return decodeMatroska(bytes, from, signal);
  if (isOgg(bytes) && firstPacket(bytes) === 'OpusHead') return decodeOggOpus(bytes, from, signal);
  if (isOgg(bytes)) throw undecoded(from, `Ogg with ${oggCodec(bytes)}`);
  if (isMp4(bytes)) throw undecoded(from, `MP4 with ${mp4Codec(bytes) ?? 'no sound track'}`);
  const name = undecodedKind(bytes);
  if (name !== undefined) throw undecoded(from, name);
  throw new AudioError(
    'NOT_AUDIO',
    `${from}: is not a readable audio file; readable are ${readable}; most others become WAV with: ${ffmpegCommand(from)}`,
  );
}

/** The codec of an Ogg file, from its first packet: 'Speex   ', '\x80theora'. */
const oggCodec = (bytes: Uint8Array): string =>
  firstPacket(bytes).replaceAll(/[^A-Za-z0-9]/g, '') || printable(firstPacket(bytes));

async function decodeKind(
  kind: Kind,
  bytes: Uint8Array,
  from: string,
  signal: AbortSignal | undefined,
): Promise<Sound> {
  const fault = isOgg(bytes) ? await oggFault(kind, bytes, from) : undefined;
  if (fault !== undefined) throw broken(kind, from, fault);
  const { samples, sampleRate } = await decodeWith(kind, { pieces: piecesOf(bytes) }, from, signal);
  const missing = samples.length === 0 ? 'it holds no samples' : kind.cutOff?.(bytes, samples.length);
  if (missing !== undefined) throw broken(kind, from, missing);
  return { sampleRate, channels: [samples] };
}

async function oggFault({ name }: Kind, bytes: Uint8Array, from: string): Promise<string | undefined> {
  const { fault, chained } = await scanOgg(bytes);
  if (chained && fault === undefined) throw undecoded(from, `several ${name} sounds one after the other`);
  return fault;
}

/** Bytes that a decoder gets at a time: a hostile FLAC file has 20,000 samples per byte. */
const bytesOfPiece = 2 ** 14;

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += bytesOfPiece)
    yield new Uint8Array(bytes.subarray(at, at + bytesOfPiece)); // a message copies the whole buffer of a view
}

/** FLAC's header gives the number of samples, 36 bits at bit 172 of the file; 0: unknown. */
function flacCutOff(bytes: Uint8Array, samples: number): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const promised = (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
  return promised > samples ? `${samples} of ${promised} samples could be decoded` : undefined;
}

/** Whether more than the head of such a file must be read. */
export const isCompressed = (head: Uint8Array): boolean =>
  [...kinds.map(({ begins }) => begins), ...containers].some((begins) => begins(head));
