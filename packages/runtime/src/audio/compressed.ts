import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { here } from '../here.js';
import { type Decoded, decodeInThread } from './decoder-thread.js';
import { AudioError } from './error.js';
import type { Sound } from './sound.js';

interface Kind {
  readonly name: string;
  /** Whether a file starts like this kind. */
  begins(bytes: Uint8Array): boolean;
  /** The optional decoder package, and its class. */
  readonly package: string;
  readonly decoder: string;
  /** The visible fault of an incomplete file, before decoding. Absent for MP3: a stream shows none. */
  fault?(bytes: Uint8Array): string | undefined;
  /** The visible fault of an incomplete file, from the number of decoded samples. */
  cutOff?(bytes: Uint8Array, samples: number): string | undefined;
}

const text = (bytes: Uint8Array, from: number, to: number) =>
  String.fromCharCode(...bytes.subarray(from, to));
/** The codec's name on the first page of an Ogg file. */
const firstPage = (bytes: Uint8Array) => text(bytes, 28, 36);

const kinds: readonly Kind[] = [
  {
    name: 'FLAC',
    begins: (bytes) => text(bytes, 0, 4) === 'fLaC',
    package: '@wasm-audio-decoders/flac',
    decoder: 'FLACDecoder',
    cutOff: flacCutOff,
  },
  {
    name: 'Ogg Vorbis',
    begins: (bytes) => text(bytes, 0, 4) === 'OggS' && firstPage(bytes).startsWith('\x01vorbis'),
    package: '@wasm-audio-decoders/ogg-vorbis',
    decoder: 'OggVorbisDecoder',
    fault: oggFault,
  },
  {
    name: 'MP3',
    begins: (bytes) => text(bytes, 0, 3) === 'ID3' || (bytes[0] === 0xff && (bytes[1]! & 0xe6) === 0xe2),
    package: 'mpg123-decoder',
    decoder: 'MPEGDecoder',
  },
];

/**
 * The samples of an MP3, FLAC or Ogg Vorbis file. An optional package decodes it in a separate thread.
 * @param from source of the bytes, for messages
 * @throws AudioError NOT_AUDIO, DECODER_MISSING, DECODER_FAILED or DECODE_FAILED; the signal's reason
 */
export async function decodeCompressed(
  bytes: Uint8Array,
  from: string,
  signal: AbortSignal | undefined,
): Promise<Sound> {
  const kind = kinds.find((each) => each.begins(bytes));
  if (!kind)
    throw new AudioError(
      'NOT_AUDIO',
      `${from}: is not a readable audio file; readable are WAV, ${kinds.map(({ name }) => name).join(', ')}`,
    );
  const fault = kind.fault?.(bytes);
  if (fault !== undefined) throw broken(kind, from, fault);
  const module = decoderModule(kind, from);
  const answer = await decodeInThread({ module, decoder: kind.decoder, bytes }, signal);
  if ('unusable' in answer)
    throw new AudioError(
      'DECODER_FAILED',
      `${from}: ${kind.name} is decoded by ${kind.package}, which is installed but does not work: ${answer.unusable}`,
    );
  if ('broken' in answer) throw broken(kind, from, answer.broken);
  return checked(answer.decoded, bytes, kind, from);
}

/** URL of the decoder package, resolved from this package. */
function decoderModule(kind: Kind, from: string): string {
  try {
    return pathToFileURL(createRequire(here).resolve(kind.package)).href;
  } catch (cause) {
    throw new AudioError(
      'DECODER_MISSING',
      `${from}: ${kind.name} is decoded by a package that is not installed: npm install ${kind.package}`,
      { cause },
    );
  }
}

const broken = ({ name }: Kind, from: string, fault: string) =>
  new AudioError('DECODE_FAILED', `${from}: the ${name} data is broken or cut off: ${fault}`);

/** Checks the result: decoders skip unusable data and often report no error. */
function checked(
  { channelData, sampleRate, samplesDecoded, errors }: Decoded,
  bytes: Uint8Array,
  kind: Kind,
  from: string,
): Sound {
  const fault =
    errors[0]?.message ??
    (samplesDecoded === 0 || channelData.length === 0
      ? 'it holds no samples'
      : kind.cutOff?.(bytes, samplesDecoded));
  if (fault !== undefined) throw broken(kind, from, fault);
  return { sampleRate, channels: channelData };
}

/** FLAC's header gives the number of samples, 36 bits at bit 172 of the file; 0: unknown. */
function flacCutOff(bytes: Uint8Array, samples: number): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const promised = (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
  return promised > samples ? `${samples} of ${promised} samples could be decoded` : undefined;
}

/** The pages of an Ogg file are contiguous; the last page has a flag. */
function oggFault(bytes: Uint8Array): string | undefined {
  let marked = false;
  for (let at = 0; at < bytes.length; ) {
    if (text(bytes, at, at + 4) !== 'OggS') return `there is no page at byte ${at}`;
    const segments = bytes[at + 26] ?? 0;
    const lengths = bytes.subarray(at + 27, at + 27 + segments);
    const end = at + 27 + segments + lengths.reduce((sum, length) => sum + length, 0);
    if (end > bytes.length || lengths.length < segments)
      return `its last page ends beyond byte ${bytes.length}`;
    marked = (bytes[at + 5]! & 4) !== 0;
    at = end;
  }
  return marked ? undefined : 'it has no last page';
}

/** Whether a file starts like one of these kinds. */
export const isCompressed = (head: Uint8Array): boolean => kinds.some(({ begins }) => begins(head));
