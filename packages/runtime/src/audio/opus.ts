import { TimeSlice } from '@quern/core';
import { sampleRate } from '@quern/models';
import { broken, decodeWith } from './decode-with.js';
import type { Piece } from './decoder-thread.js';
import { laced, type MatroskaPacket, matroskaPackets, scanMatroska } from './matroska.js';
import { oggPackets, scanOgg } from './ogg.js';
import type { Sound } from './sound.js';
import { printable, undecoded } from './undecoded.js';

const opus = { package: 'opus-decoder', decoder: 'OpusDecoder' };

/** Opus counts in 48 kHz. */
const perSample = 48_000 / sampleRate;

/** https://www.rfc-editor.org/rfc/rfc7845#section-5.1 */
interface OpusHead {
  /** Samples at the start to leave out. */
  readonly skip: number;
  /** Factor of the samples. */
  readonly gain: number;
  /** For the decoder's constructor. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A text is the fault of the head. */
function readOpusHead(head: Uint8Array): OpusHead | string {
  if (Buffer.from(head.subarray(0, 8)).toString('latin1') !== 'OpusHead' || head.length < 19)
    return 'it has no Opus header';
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const channels = head[9]!;
  const skip = Math.round(view.getUint16(10, true) / perSample);
  const gain = 10 ** (view.getInt16(16, true) / 256 / 20);
  const mapping = mappingOf(head, channels);
  return typeof mapping === 'string' ? mapping : { skip, gain, options: { ...mapping, sampleRate } };
}

/** Streams of family 0 are decoded as two channels: the decoder's buffer then holds the largest packet. */
function mappingOf(head: Uint8Array, channels: number): Readonly<Record<string, unknown>> | string {
  if (channels === 0) return 'it has no channels';
  if (head[18] === 0)
    return channels <= 2 ? { channels: 2 } : `it has ${channels} channels without a mapping`;
  const [streamCount, coupledStreamCount] = [head[19]!, head[20]!];
  const channelMappingTable = [...head.subarray(21, 21 + channels)];
  if (channelMappingTable.length < channels) return 'its channel mapping is cut off';
  if (streamCount === 0 || coupledStreamCount > streamCount || streamCount + coupledStreamCount > 255)
    return `its channel mapping has ${streamCount} streams, ${coupledStreamCount} of them coupled`;
  return { channels, streamCount, coupledStreamCount, channelMappingTable };
}

/** Samples of a position that counts in 48 kHz. */
const opusSamples = (position: number): number => Math.round(position / perSample);

/** Packets of one message: at most 24 seconds of sound. */
const packetsOfPiece = 200;

/** Packets in lists, copied out of the file. */
async function* packetLists(packets: AsyncIterable<Uint8Array>): AsyncGenerator<Piece, void, void> {
  let list: Uint8Array[] = [];
  for await (const packet of packets) {
    list.push(new Uint8Array(packet)); // a slice of a Buffer would be no copy
    if (list.length < packetsOfPiece) continue;
    yield list;
    list = [];
  }
  if (list.length > 0) yield list;
}

/** The sound without the samples before `skip`, scaled. */
async function scaled(samples: Float32Array, { skip, gain }: OpusHead): Promise<Float32Array> {
  const sound = samples.subarray(skip);
  if (gain === 1) return sound;
  const slice = new TimeSlice();
  for (let from = 0; from < sound.length; from += 2 ** 16) {
    const some = sound.subarray(from, from + 2 ** 16);
    for (let i = 0; i < some.length; i++) some[i]! *= gain;
    if (slice.over) await slice.yield();
  }
  return sound;
}

/** @throws AudioError, as decodeCompressed; the signal's reason */
export async function decodeOggOpus(
  bytes: Uint8Array,
  from: string,
  signal: AbortSignal | undefined,
): Promise<Sound> {
  const stream = new OpusStream('Ogg Opus', from);
  const { fault, chained, granule } = await scanOgg(bytes);
  if (fault !== undefined) throw stream.broken(fault);
  if (chained) throw undecoded(from, 'several Ogg Opus sounds one after the other');
  const packets = oggPackets(bytes);
  const head = stream.head((await packets.next()).value ?? new Uint8Array());
  await packets.next(); // the tags
  const sound = await stream.decode(head, packets, signal);
  return stream.sound(sound.subarray(0, Math.max(0, opusSamples(granule) - head.skip)));
}

const codecs: Readonly<Record<string, string>> = {
  A_VORBIS: 'Vorbis',
  A_AAC: 'AAC',
  A_FLAC: 'FLAC',
  'A_MPEG/L3': 'MP3',
};

/** @throws AudioError, as decodeCompressed; the signal's reason */
export async function decodeMatroska(
  bytes: Uint8Array,
  from: string,
  signal: AbortSignal | undefined,
): Promise<Sound> {
  const { type, track, fault } = await scanMatroska(bytes);
  const container = type === 'webm' ? 'WebM' : 'Matroska';
  const stream = new OpusStream(`${container} Opus`, from);
  if (fault !== undefined) throw stream.broken(fault);
  if (!track) throw undecoded(from, `${container} without a sound track`);
  if (track.codec !== 'A_OPUS')
    throw undecoded(from, `${container} with ${codecs[track.codec] ?? printable(track.codec)}`);
  if (track.encoded) throw undecoded(from, `${container} with compressed or encrypted blocks`);
  const head = stream.head(track.head);
  const end = { discard: 0 };
  const sound = await stream.decode(head, stream.untilEnd(matroskaPackets(bytes, track), end), signal);
  return stream.sound(sound.subarray(0, Math.max(0, sound.length - opusSamples(end.discard * 48e-6))));
}

/** The decoding of one Opus stream. */
class OpusStream {
  constructor(
    readonly name: string,
    private readonly from: string,
  ) {}

  broken(fault: string) {
    return broken(this, this.from, fault);
  }

  head(bytes: Uint8Array): OpusHead {
    const head = readOpusHead(bytes);
    if (typeof head === 'string') throw this.broken(head);
    return head;
  }

  /** The samples after the first `head.skip`. */
  async decode(
    head: OpusHead,
    packets: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const job = { pieces: packetLists(this.filled(packets)), options: head.options };
    const { samples } = await decodeWith({ name: this.name, ...opus }, job, this.from, signal);
    return scaled(samples, head);
  }

  /** @throws AudioError DECODE_FAILED for a sound without samples */
  sound(samples: Float32Array): Sound {
    if (samples.length === 0) throw this.broken('it holds no samples');
    return { sampleRate, channels: [samples] };
  }

  /** The packets of a track; `end` gets what to leave out after the last one, in nanoseconds. */
  async *untilEnd(
    packets: AsyncIterable<MatroskaPacket>,
    end: { discard: number },
  ): AsyncGenerator<Uint8Array, void, void> {
    for await (const packet of packets) {
      if (packet === laced)
        throw undecoded(this.from, `${this.name} with several packets per block (lacing)`);
      if (typeof packet === 'string') throw this.broken(packet);
      end.discard = packet instanceof Uint8Array ? 0 : Math.max(0, packet.discard);
      if (packet instanceof Uint8Array) yield packet;
    }
  }

  /** Decoders take an empty packet for a lost one, and invent its sound. */
  private async *filled(packets: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const packet of packets) {
      if (packet.length === 0) throw this.broken('it has an empty packet');
      yield packet;
    }
  }
}
