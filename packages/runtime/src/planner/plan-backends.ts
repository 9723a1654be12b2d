import {
  type BackendPlan,
  checkArgument,
  checkOptions,
  type PlannedRange,
  type Rule,
  rules,
} from '@quern/core';
import { type LayerRange, rangeFault, showLayers, showRange } from '@quern/models';
import { badArgument, badOption, RuntimeError } from '../error.js';
import { freeTogether, hostBytesOf, hostMemory, largestRoomOf, splitWithRoom } from './choose-split.js';
import {
  defaultContext,
  defaultRoom,
  modestContext,
  neededRoom,
  ownContext,
  wholeBlocks,
} from './default-room.js';
import { decodeSeconds, estimateSpeed, streamBytes } from './estimate.js';
import { showBytes } from './memory.js';
import { bytesOf, fitPart, type PartFit } from './part-fit.js';
import { type PlanRequest, planSchema } from './plan-request.js';
import type { PlannedModel, PlannerDevice } from './planner-device.js';
import { decodedNote, needs, showContext, showDevice, tooLong, tooMany } from './refusals.js';

const described: Rule<PlannedModel> = {
  must: 'a description, from describeModel',
  holds: (value): value is PlannedModel => rules.isObject(value) && rules.isObject(value.config),
};

const deviceList = rules.listOf('devices, from plannerDevice', rules.object);

/** The reason why a device cannot compute these layers, or undefined. */
function refusal(model: PlannedModel, found: PartFit, request: PlanRequest): RuntimeError | undefined {
  const { context, sequences } = request;
  const alone = () => fitPart(model, found, { ...request, sequences: 1 });
  if (found.largestRoom < sequences && sequences > 1 && alone().largestRoom >= 1)
    return new RuntimeError('BAD_OPTION', tooMany(sequences, found));
  if (found.largestRoom < sequences) return new RuntimeError('MODEL_TOO_LARGE', needs(model, found));
  if (context !== undefined && context * sequences > found.largestRoom)
    return new RuntimeError('CONTEXT_TOO_LARGE', tooLong(context, sequences, found));
  return undefined;
}

/** A model cannot compute positions beyond its table of learned positions. @throws RuntimeError CONTEXT_TOO_LARGE */
function needPositions({ config: { positionRows } }: PlannedModel, { context }: PlanRequest): void {
  if (positionRows === undefined || context === undefined || context <= positionRows) return;
  throw new RuntimeError(
    'CONTEXT_TOO_LARGE',
    `a context of ${context} is not possible: the model's table of positions has ${positionRows} rows; ask for ${positionRows} at most`,
  );
}

/** The reason for the chosen context. */
function whyContext(
  model: PlannedModel,
  request: PlanRequest,
  plan: CachePlan,
  parts: readonly PartFit[],
): string {
  const trained = model.config.context;
  const { context } = request;
  if (context !== undefined && context > trained)
    return `context ${context}, as asked; the model was trained for ${trained}: longer text may degrade`;
  if (context !== undefined) return `context ${context}, as asked`;
  return `context ${plan.context}: ${whyDefault(model, plan, parts)}${showRoom(request, plan)}`;
}

/** The reason for a context that the planner chose. */
function whyDefault(model: PlannedModel, { context, room }: CachePlan, parts: readonly PartFit[]): string {
  const { context: trained, shortRope } = model.config;
  const own = ownContext(model);
  if (context === trained) return 'all that the model was trained for';
  if (context === own)
    return shortRope?.context === own
      ? `the model's factors for short texts end here; ask for more, up to ${trained}, to use those for long texts`
      : `the model's table of positions has ${own} rows`;
  const cost = parts.reduce((total, { bytesPerToken }) => total + bytesPerToken, 0);
  const more = `the model was trained for ${trained}; a token takes ${showBytes(cost)} of cache`;
  if (room >= largestRoomOf(parts)) return `all that fits in memory; ${more}`;
  if (context === modestContext) return `the default where memory is short; ${more}`;
  return `the cache takes half of the memory beside the weights; ${more}`;
}

/** The room of a cache that sequences share. */
const showRoom = ({ sequences }: PlanRequest, { room }: CachePlan): string =>
  sequences > 1 ? `; ${room} tokens for all sequences together` : '';

/** Tokens of the cache. */
type CachePlan = Pick<BackendPlan, 'context' | 'room'>;

function plannedRange(part: PartFit, room: number): PlannedRange {
  const { device, from, to, weights, activations, bytesPerToken } = part;
  const memory = {
    weights,
    activations,
    cache: part.states + room * bytesPerToken,
    available: device.freeMemory,
  };
  const { precision } = device.profile;
  return {
    backend: device.backend,
    firstLayer: from,
    endLayer: to,
    ...(precision && { precision }),
    memory,
  };
}

/** The rehearsed size of the largest step, if it was rehearsed. */
const stepReason = ({ device, activations }: PartFit): string[] =>
  device.steps
    ? [
        `the largest step takes ${showBytes(activations)} on '${device.backend}' beside weights and cache, as rehearsed`,
      ]
    : [];

function planOf(
  model: PlannedModel,
  request: PlanRequest,
  parts: readonly PartFit[],
  cache: CachePlan,
  reasons: readonly string[],
): BackendPlan {
  const ranges = parts.map((part) => plannedRange(part, cache.room));
  const sum = (of: (memory: BackendPlan['memory']) => number) =>
    ranges.reduce((total, { memory }) => total + of(memory), 0);
  return {
    ranges,
    ...cache,
    cacheDtype: request.cacheDtype,
    memory: {
      weights: sum(({ weights }) => weights),
      activations: sum(({ activations }) => activations),
      cache: sum(({ cache }) => cache),
      available: freeTogether(parts.map(({ device }) => device)),
    },
    estimate: estimateSpeed(model, parts),
    reasons: [
      ...reasons,
      ...parts.flatMap(({ device }) => filledHoles(device)),
      ...parts.flatMap(stepReason),
      whyContext(model, request, cache, parts),
    ],
  };
}

/** The cache of these parts. @param room tokens that fit, where a context is requested */
function cacheOf(
  model: PlannedModel,
  request: PlanRequest,
  parts: readonly PartFit[],
  room = neededRoom(model, request),
): CachePlan {
  const { context, sequences } = request;
  if (context !== undefined) {
    const fitting = Math.min(context, Math.floor(room / sequences));
    return { context: fitting, room: sequences * wholeBlocks(request, fitting) };
  }
  const chosen = defaultRoom(model, request, parts);
  return { context: defaultContext(model, chosen), room: chosen };
}

/** The reason for this device. */
function choice({ device }: PartFit, devices: readonly PlannerDevice[], { named }: PlanRequest): string {
  const why = named
    ? 'the backend asked for'
    : devices.length === 1
      ? 'the only backend that loads'
      : 'the fastest by measurement that fits';
  return `${showDevice(device)}: ${why}`;
}

/** Ops missing in the driver: each costs a copy to the host, or a few more ops. */
function filledHoles({ backend, filled = {} }: PlannerDevice): string[] {
  const by = (how: 'host' | 'decomposed') =>
    Object.entries(filled).flatMap(([op, fill]) => (fill === how ? [op] : []));
  const [host, decomposed] = [by('host'), by('decomposed')];
  return [
    ...(host.length > 0
      ? [`${host.join(', ')}: computed by the host, since '${backend}' has no kernel`]
      : []),
    ...(decomposed.length > 0
      ? [`${decomposed.join(', ')}: computed as older ops, since '${backend}' has no kernel`]
      : []),
  ];
}

const showMs = (ms: number): string => (ms < 100 ? ms.toPrecision(3) : ms.toFixed(0));

/** The layers of each device, and the cost of each part. */
function splitReasons(model: PlannedModel, parts: readonly PartFit[], room: number, why: string): string[] {
  const bytes = showBytes(streamBytes(model));
  const each = parts.map((part) => {
    const { device, weights, bytesPerToken } = part;
    const cost = `${showBytes(weights)} of weights, ${showBytes(room * bytesPerToken)} of cache`;
    const time = `about ${showMs(1000 * decodeSeconds(part))} ms of each token`;
    return `${showLayers(part)} on ${showDevice(device)}: ${cost}, ${time}${decodedNote(device)}`;
  });
  return [why, ...each, `${bytes} of hidden state per token go through host memory between two parts`];
}

const showParts = (parts: readonly LayerRange[]): string => parts.map(showRange).join(',');

/** A plan with the caller's ranges. */
function planRanges(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
): BackendPlan {
  const ranges = request.ranges!;
  const fault = rangeFault(ranges, model.config.layers);
  if (fault) throw new RuntimeError('BAD_OPTION', `the split ${showParts(ranges)} is not possible: ${fault}`);
  if (ranges.length !== devices.length)
    throw new RuntimeError(
      'BAD_OPTION',
      `the split ${showParts(ranges)} has ${ranges.length} ranges for ${devices.length} backends (${showNames(devices)}): give one range for each`,
    );
  const parts = ranges.map(({ from, to }, d) => fitPart(model, { device: devices[d]!, from, to }, request));
  for (const part of parts) {
    const refused = refusal(model, part, request);
    if (refused) throw refused;
  }
  needHostMemory(parts, request.sequences * (request.context ?? 1));
  const cache = cacheOf(model, request, parts);
  return planOf(model, request, parts, cache, splitReasons(model, parts, cache.room, 'split as asked'));
}

/** Checks shared host memory. @throws RuntimeError MODEL_TOO_LARGE */
function needHostMemory(parts: readonly PartFit[], room: number): void {
  const [taken, memory] = [hostBytesOf(parts, room), hostMemory(parts.map(({ device }) => device))];
  if (taken <= memory) return;
  throw new RuntimeError(
    'MODEL_TOO_LARGE',
    `the parts ${showParts(parts)} take ${showBytes(taken)} of the host's memory together, but only ${showBytes(memory)} may be used: ` +
      'these backends share it, so a split gains no room',
  );
}

const showNames = (devices: readonly PlannerDevice[]): string =>
  devices.map(({ backend }) => `'${backend}'`).join(', ');

/**
 * The fastest split over all these devices, in this order. Its context may be shorter than requested. Undefined where
 * no split fits.
 */
function planSplit(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
  why: string,
): BackendPlan | undefined {
  const found = splitWithRoom(model, devices, request, neededRoom(model, request));
  if (!found || found.room < request.sequences) return undefined;
  const { parts, room } = found;
  const cache = cacheOf(model, request, parts, room);
  return planOf(model, request, parts, cache, splitReasons(model, parts, cache.room, why));
}

const isTooShort = ({ context }: BackendPlan, request: PlanRequest): boolean =>
  context < (request.context ?? 1);

/** The caller named the devices: each one must compute layers. */
function planNamed(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
): BackendPlan {
  const { layers } = model.config;
  if (devices.length > layers)
    throw new RuntimeError(
      'BAD_OPTION',
      `${devices.length} backends are named (${showNames(devices)}), but the model has ${layers} layers: name ${layers} at most`,
    );
  const why = `split over ${showNames(devices)}, as asked, so that a token takes the least time by the devices' rates`;
  const plan = planSplit(model, devices, request, why);
  if (!plan) throw new RuntimeError('MODEL_TOO_LARGE', notTogether(model, devices, request));
  if (!isTooShort(plan, request)) return plan;
  throw new RuntimeError(
    'CONTEXT_TOO_LARGE',
    `no split over ${showNames(devices)} has the memory for ${showContext(request)}: the largest context that fits is ${plan.context}`,
  );
}

/** Where no single device fits the model: the smallest number of devices that fits, fastest first. */
function planTogether(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
): BackendPlan | undefined {
  const most = Math.min(devices.length, model.config.layers);
  for (let count = 2; count <= most; count++) {
    const some = devices.slice(0, count);
    const why = `split over ${showNames(some)}: none of them holds the model alone`;
    const plan = planSplit(model, some, request, why);
    if (plan && !isTooShort(plan, request)) return plan;
  }
  return undefined;
}

function notTogether(model: PlannedModel, devices: readonly PlannerDevice[], request: PlanRequest): string {
  const { layers } = model.config;
  const each = devices.map((device) => {
    const whole = fitPart(model, { device, from: 0, to: layers }, request);
    return `all layers take ${showBytes(bytesOf(whole, 1))} on '${device.backend}', which has ${showBytes(device.freeMemory)} free${decodedNote(device)}`;
  });
  return (
    `no split of the ${layers} layers over ${showNames(devices)} has the memory: ${each.join('; ')}. ` +
    "Backends that compute in the host's memory share it"
  );
}

/**
 * Assigns layers to devices and chooses the context, before anything is allocated. Pure.
 * @param devices best first. Takes the first device that fits, else the smallest number of devices that fits together.
 * One device: taken or refused. With `named` or `ranges`: every device computes layers, in the order given.
 * @throws RuntimeError MODEL_TOO_LARGE, CONTEXT_TOO_LARGE (with the largest that fits), BAD_OPTION (sequences, ranges),
 * NO_BACKEND, BAD_ARGUMENT
 */
export function planBackends(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
): BackendPlan {
  checkArgument('planBackends', 'model', model, described, badArgument);
  checkArgument('planBackends', 'devices', devices, deviceList, badArgument);
  checkOptions('planBackends', request, planSchema, badOption);
  needPositions(model, request);
  if (request.ranges && devices.length > 0) return planRanges(model, devices, request);
  if (request.named && devices.length > 1) return planNamed(model, devices, request);
  return planFirst(model, devices, request);
}

function planFirst(
  model: PlannedModel,
  devices: readonly PlannerDevice[],
  request: PlanRequest,
): BackendPlan {
  const refusals: RuntimeError[] = [];
  const rejected = () => refusals.map(({ message }) => `rejected: ${message}`);
  for (const device of devices) {
    const found = fitPart(model, { device, from: 0, to: model.config.layers }, request);
    const refused = refusal(model, found, request);
    if (!refused) {
      const cache = cacheOf(model, request, [found]);
      return planOf(model, request, [found], cache, [...rejected(), choice(found, devices, request)]);
    }
    refusals.push(refused);
  }
  const plan = planTogether(model, devices, request);
  if (plan) return { ...plan, reasons: [...rejected(), ...plan.reasons] };
  const [first] = refusals;
  if (!first) throw new RuntimeError('NO_BACKEND', 'there is no device to plan for');
  if (devices.length === 1) throw first;
  throw new RuntimeError(
    first.code,
    `${first.message}; no split over ${showNames(devices)} has the memory either`,
  );
}
