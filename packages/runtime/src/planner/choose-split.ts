import { copySeconds, decodeSeconds } from './estimate.js';
import { bytesOf, fitPart, type PartFit, usableMemory } from './part-fit.js';
import type { PlanRequest } from './plan-request.js';
import type { PlannedModel, PlannerDevice } from './planner-device.js';

/** Consecutive layer ranges on consecutive devices. */
interface Parts {
  readonly list: readonly PartFit[];
  /** Seconds per decoded token, copies between the devices included. */
  readonly seconds: number;
  /** Bytes in host memory, which devices that compute there share. */
  readonly hostBytes: number;
}

const isOnHost = ({ profile: { sharesHostMemory, links } }: PlannerDevice): boolean =>
  sharesHostMemory ?? links === undefined;

/**
 * Usable host memory of the devices that compute in it, together: the largest of theirs. One that may take a part of it alone, as
 * GPUs of Apple, leaves the rest to the others.
 */
export const hostMemory = (devices: readonly PlannerDevice[]): number =>
  Math.max(0, ...devices.filter(isOnHost).map(usableMemory));

/** Free bytes of all devices together; host memory counts once. */
export function freeTogether(devices: readonly PlannerDevice[]): number {
  const onHost = devices.filter(isOnHost).map(({ freeMemory }) => freeMemory);
  const apart = devices.filter((device) => !isOnHost(device));
  return apart.reduce((sum, { freeMemory }) => sum + freeMemory, Math.max(0, ...onHost));
}

/** Bytes of the parts in host memory, with `room` tokens in the cache. */
export const hostBytesOf = (parts: readonly PartFit[], room: number): number =>
  parts.reduce((sum, part) => sum + (isOnHost(part.device) ? bytesOf(part, room) : 0), 0);

/** Most tokens in the cache of these parts; negative where even the weights do not fit. */
export function largestRoomOf(parts: readonly PartFit[]): number {
  const perToken = hostBytesOf(parts, 1) - hostBytesOf(parts, 0);
  const left = hostMemory(parts.map(({ device }) => device)) - hostBytesOf(parts, 0);
  const onHost = perToken === 0 && left >= 0 ? Number.POSITIVE_INFINITY : Math.floor(left / perToken);
  return Math.min(onHost, ...parts.map(({ largestRoom }) => largestRoom));
}

/**
 * The split with the least time per token: the layers of each device (≥ 1), in the order of the devices, where every
 * part has memory for `room` tokens in the cache. Undefined where no such split exists.
 */
export function fastestSplit(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
  room: number,
): readonly PartFit[] | undefined {
  const { layers } = model.config;
  const memory = hostMemory(devices);
  const known = new Map<number, readonly Parts[]>();

  /**
   * Candidates for layers ≥ `from` on devices ≥ `d`: fastest first; each next one is slower but needs less host memory.
   */
  const fastestFrom = (d: number, from: number): readonly Parts[] => {
    const key = d * (layers + 1) + from;
    const found = known.get(key) ?? smallerOnes(partsFrom(d, from));
    known.set(key, found);
    return found;
  };

  const partsFrom = (d: number, from: number): Parts[] => {
    const device = devices[d]!;
    const next = devices[d + 1];
    const left = devices.length - 1 - d;
    const all: Parts[] = [];
    for (let to = next ? from + 1 : layers; to <= layers - left; to++) {
      const part = fitPart(model, { device, from, to }, request);
      if (part.largestRoom < room) break; // more layers need more memory
      const copy = next ? copySeconds(model, device, next) : 0;
      const hostBytes = hostBytesOf([part], room);
      for (const rest of next ? fastestFrom(d + 1, to) : [nothing])
        if (hostBytes + rest.hostBytes <= memory)
          all.push({
            list: [part, ...rest.list],
            seconds: decodeSeconds(part) + copy + rest.seconds,
            hostBytes: hostBytes + rest.hostBytes,
          });
    }
    return all;
  };

  return devices.length > layers ? undefined : fastestFrom(0, 0)[0]?.list;
}

const nothing: Parts = { list: [], seconds: 0, hostBytes: 0 };

function smallerOnes(parts: readonly Parts[]): readonly Parts[] {
  const sorted = [...parts].sort((a, b) => a.seconds - b.seconds || a.hostBytes - b.hostBytes);
  let least = Number.POSITIVE_INFINITY;
  return sorted.filter(({ hostBytes }) => {
    const isSmaller = hostBytes < least;
    least = Math.min(least, hostBytes);
    return isSmaller;
  });
}

/** The largest room ≤ `wanted` with a split, in tokens, and the fastest split for it. */
export function splitWithRoom(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
  wanted: number,
): { readonly parts: readonly PartFit[]; readonly room: number } | undefined {
  let [fits, tooLong] = [0, wanted + 1];
  let parts: readonly PartFit[] | undefined;
  for (let room = wanted; fits + 1 < tooLong; room = Math.floor((fits + tooLong) / 2)) {
    const found = fastestSplit(model, devices, request, room);
    if (found) [fits, parts] = [room, found];
    else tooLong = room;
  }
  return parts && { parts, room: fits };
}
