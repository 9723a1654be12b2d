import { TimeSlice } from '@quern/core';

export const isMatroska = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x1a && bytes[1] === 0x45 && bytes[2] === 0xdf && bytes[3] === 0xa3;

/** Elements, https://www.rfc-editor.org/rfc/rfc9559 */
const ids = {
  docType: 0x4282,
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  contentEncodings: 0x6d80,
  cluster: 0x1f43b675,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
  discardPadding: 0x75a2,
} as const;

/** Elements that are read into; others are skipped as a whole. */
const masters: ReadonlySet<number> = new Set([
  0x1a45dfa3,
  ids.segment,
  ids.tracks,
  ids.trackEntry,
  ids.cluster,
  ids.blockGroup,
]);

interface Element {
  readonly id: number;
  /** The content; empty for elements that are read into. */
  readonly content: Uint8Array;
}

/** A number of variable length: its first bit that is set tells the length. `kept`: that bit is part of the number. */
function readNumber(
  bytes: Uint8Array,
  at: number,
  kept: boolean,
): { value: number; next: number } | undefined {
  const first = bytes[at];
  if (first === undefined || first === 0) return undefined;
  const length = Math.clz32(first) - 23;
  if (at + length > bytes.length) return undefined;
  let value = kept ? first : first & (0xff >> length);
  let isUnknown = !kept && value === 0xff >> length;
  for (let i = 1; i < length; i++) {
    value = value * 256 + bytes[at + i]!;
    isUnknown &&= bytes[at + i] === 0xff;
  }
  return { value: isUnknown ? Number.POSITIVE_INFINITY : value, next: at + length };
}

/** All elements in the order of the file; a text is its fault. Sizes of live recordings are unknown. */
async function* elements(bytes: Uint8Array): AsyncGenerator<Element | string, void, void> {
  const slice = new TimeSlice();
  for (let at = 0; at < bytes.length; ) {
    if (slice.over) await slice.yield();
    const id = readNumber(bytes, at, true);
    const size = id && readNumber(bytes, id.next, false);
    if (!id || !size) return yield `there is no element at byte ${at}`;
    const isMaster = masters.has(id.value);
    const isEndless = isMaster && size.value === Number.POSITIVE_INFINITY;
    if (!isEndless && size.next + size.value > bytes.length)
      return yield `the element at byte ${at} ends beyond byte ${bytes.length}`;
    const end = isMaster ? size.next : size.next + size.value;
    yield { id: id.value, content: bytes.subarray(size.next, end) };
    at = end;
  }
}

const unsigned = (content: Uint8Array): number => content.reduce((sum, byte) => sum * 256 + byte, 0);
const signed = (content: Uint8Array): number =>
  content.length === 0 ? 0 : Number(BigInt.asIntN(8 * content.length, BigInt(`0x${hex(content)}`)));
const hex = (content: Uint8Array): string => Buffer.from(content).toString('hex');
const words = (content: Uint8Array): string => Buffer.from(content.subarray(0, 64)).toString('latin1');

/** The first sound track of a file. */
export interface MatroskaTrack {
  readonly number: number;
  /** 'A_OPUS', 'A_VORBIS', … */
  readonly codec: string;
  readonly head: Uint8Array;
  /** Compressed or encrypted. */
  readonly encoded: boolean;
}

export interface MatroskaScan {
  /** 'webm' or 'matroska'. */
  readonly type: string;
  readonly track?: MatroskaTrack;
  readonly fault?: string;
}

type OpenTrack = { -readonly [Name in keyof MatroskaTrack]: MatroskaTrack[Name] } & { type: number };

/** Reads the tracks, which precede the sound. */
export async function scanMatroska(bytes: Uint8Array): Promise<MatroskaScan> {
  let type = 'matroska';
  const tracks: OpenTrack[] = [];
  const firstSound = () => tracks.find((track) => track.type === 2);
  for await (const element of elements(bytes)) {
    if (typeof element === 'string') return { type, fault: element };
    if (element.id === ids.cluster) break;
    if (element.id === ids.docType) type = words(element.content);
    if (element.id === ids.trackEntry)
      tracks.push({ type: 0, number: 0, codec: '', head: new Uint8Array(), encoded: false });
    const track = tracks.at(-1);
    if (track) describe(track, element);
  }
  const track = firstSound();
  return { type, ...(track && { track }) };
}

function describe(track: OpenTrack, { id, content }: Element): void {
  if (id === ids.trackNumber) track.number = unsigned(content);
  else if (id === ids.trackType) track.type = unsigned(content);
  else if (id === ids.codecId) track.codec = words(content);
  else if (id === ids.codecPrivate) track.head = content;
  else if (id === ids.contentEncodings) track.encoded = true;
}

/** Blocks of several packets each. */
export const laced = 'laced';

/** A packet of sound; or the nanoseconds to leave out at its end, as the file says after it; or a fault, or `laced`. */
export type MatroskaPacket = Uint8Array | { readonly discard: number } | string;

export async function* matroskaPackets(
  bytes: Uint8Array,
  { number }: MatroskaTrack,
): AsyncGenerator<MatroskaPacket, void, void> {
  let isOurs = false;
  for await (const element of elements(bytes)) {
    if (typeof element === 'string') return yield element;
    const { id, content } = element;
    if (id === ids.discardPadding && isOurs) yield { discard: signed(content) };
    if (id !== ids.block && id !== ids.simpleBlock) continue;
    const track = readNumber(content, 0, false);
    if (!track || content.length < track.next + 3) return yield 'a block is too short';
    isOurs = track.value === number;
    if (!isOurs) continue;
    if ((content[track.next + 2]! & 6) !== 0) return yield laced;
    yield content.subarray(track.next + 3);
  }
}
