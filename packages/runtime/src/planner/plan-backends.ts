import {
  type BackendPlan,
  checkArgument,
  checkOptions,
  type KvDtype,
  type Rule,
  rules,
  type Schema,
} from '@quern/core';
import { badArgument, badOption, RuntimeError } from '../error.js';
import { loadSchema } from '../model/load-options.js';
import { estimateSpeed } from './estimate.js';
import { activationBytes, cacheBytesPerToken, showBytes } from './memory.js';
import type { PlannedModel, PlannerDevice } from './planner-device.js';

/** What the caller wants of a plan. */
export interface PlanRequest {
  /** The caller chose the device; default false. */
  readonly named?: boolean | undefined;
  /** Tokens of context of one sequence. Absent: the most that makes sense, see `defaultContext`. */
  readonly context?: number | undefined;
  readonly cacheDtype: KvDtype;
  /** Sequences that the cache holds at once, each of the whole context. */
  readonly sequences: number;
  /** Most rows of one step. */
  readonly prefillChunk: number;
}

/** Of each option: what it must be, and its default. */
export const planSchema = {
  named: { ...rules.flag, about: 'the caller chose the device', byDefault: false },
  context: loadSchema.context,
  cacheDtype: { ...loadSchema.cacheDtype, required: true },
  sequences: { ...loadSchema.sequences, required: true },
  prefillChunk: { ...loadSchema.prefillChunk, required: true },
} as const satisfies Schema<PlanRequest>;

const described: Rule<PlannedModel> = {
  must: 'a description, from describeModel',
  holds: (value): value is PlannedModel => rules.isObject(value) && rules.isObject(value.config),
};

const deviceList = rules.listOf('devices, from plannerDevice', rules.object);

/** Context when the caller names none: enough for most uses, and its cache is cheap. */
export const defaultContext = 4096;

/** Part of the free memory that is left to the rest of the process and the system. */
const reservedPart = 1 / 16;

/** A model on one device: what it takes, and what remains for the cache. */
interface Fit {
  readonly device: PlannerDevice;
  readonly weights: number;
  readonly activations: number;
  readonly bytesPerToken: number;
  /** Most tokens of context for which there is memory; negative when the weights alone do not fit. */
  readonly largestContext: number;
}

function fit(model: PlannedModel, device: PlannerDevice, request: PlanRequest): Fit {
  const weights = device.weightBytes;
  const activations = activationBytes(model, request.prefillChunk, request.sequences);
  const bytesPerToken = request.sequences * cacheBytesPerToken(model, request.cacheDtype);
  const usable = device.freeMemory * (1 - reservedPart);
  const largestContext = Math.floor((usable - weights - activations) / bytesPerToken);
  return { device, weights, activations, bytesPerToken, largestContext };
}

const needs = ({ device, weights, activations }: Fit) =>
  `${showBytes(weights)} of weights and ${showBytes(activations)} of activations do not fit in the ` +
  `${showBytes(device.freeMemory)} that are free on '${device.backend}' (a sixteenth of which stays free)`;

const tooLong = (context: number, { device, bytesPerToken, largestContext, weights }: Fit) =>
  `a context of ${context} takes ${showBytes(context * bytesPerToken)} of cache beside ${showBytes(weights)} of weights, but ` +
  `'${device.backend}' has ${showBytes(device.freeMemory)} free: the largest context that fits is ${largestContext}`;

const tooMany = (sequences: number, { device, bytesPerToken, activations, weights }: Fit) =>
  `sequences is ${sequences}; for one token of each they take ${showBytes(bytesPerToken)} of cache and ${showBytes(activations)} of ` +
  `activations beside ${showBytes(weights)} of weights, but '${device.backend}' has ${showBytes(device.freeMemory)} free: one sequence would fit`;

/** Why a device cannot serve the request, or undefined. */
function refusal(model: PlannedModel, found: Fit, request: PlanRequest): RuntimeError | undefined {
  const { context, sequences } = request;
  if (
    found.largestContext < 1 &&
    sequences > 1 &&
    fit(model, found.device, { ...request, sequences: 1 }).largestContext >= 1
  )
    return new RuntimeError('BAD_OPTION', tooMany(sequences, found));
  if (found.largestContext < 1)
    return new RuntimeError('MODEL_TOO_LARGE', `the model is too large: ${needs(found)}`);
  if (context !== undefined && context > found.largestContext)
    return new RuntimeError('CONTEXT_TOO_LARGE', tooLong(context, found));
  return undefined;
}

/** The context, and the sentence that says why. */
function chooseContext(model: PlannedModel, { context }: PlanRequest, found: Fit): [number, string] {
  const trained = model.config.context;
  if (context !== undefined && context > trained)
    return [
      context,
      `context ${context}, as asked; the model was trained for ${trained}, beyond which its text may degrade`,
    ];
  if (context !== undefined) return [context, `context ${context}, as asked`];
  const chosen = Math.min(trained, found.largestContext, defaultContext);
  const why =
    chosen === trained
      ? 'all that the model was trained for'
      : chosen === defaultContext
        ? `the default; the model was trained for ${trained}, and asking for more costs ${showBytes(found.bytesPerToken)} per token`
        : `all that fits in memory; the model was trained for ${trained}`;
  return [chosen, `context ${chosen}: ${why}`];
}

/** Why this device. */
function choice({ device }: Fit, devices: readonly PlannerDevice[], { named }: PlanRequest): string {
  const { name, isa, threads } = device.profile;
  const why = named
    ? 'the backend asked for'
    : devices.length === 1
      ? 'the only backend that loads'
      : 'the fastest by measurement that fits';
  return `'${device.backend}' on ${name} (${isa}, ${threads} ${threads === 1 ? 'thread' : 'threads'}): ${why}`;
}

/** What the driver lacks: it costs a copy to the host, or a few ops more. */
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

function planOn(
  model: PlannedModel,
  request: PlanRequest,
  found: Fit,
  reasons: readonly string[],
): BackendPlan {
  const { device, weights, activations, bytesPerToken } = found;
  const [context, why] = chooseContext(model, request, found);
  return {
    ranges: [{ backend: device.backend, firstLayer: 0, endLayer: model.config.layers }],
    context,
    cacheDtype: request.cacheDtype,
    memory: { weights, activations, cache: context * bytesPerToken, available: device.freeMemory },
    estimate: estimateSpeed(model, device),
    reasons: [...reasons, why],
  };
}

/**
 * Decides, before anything is allocated, which device computes a model and how much context it affords. Pure.
 * @param devices best first; the first that has the memory is taken. One device: it is taken or refused.
 * @throws RuntimeError MODEL_TOO_LARGE, CONTEXT_TOO_LARGE (with the largest that fits), BAD_OPTION (sequences) for the first device,
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
  const refusals: RuntimeError[] = [];
  for (const device of devices) {
    const found = fit(model, device, request);
    const refused = refusal(model, found, request);
    if (!refused) {
      const rejected = refusals.map(({ message }) => `rejected: ${message}`);
      const reasons = [...rejected, choice(found, devices, request), ...filledHoles(device)];
      return planOn(model, request, found, reasons);
    }
    refusals.push(refused);
  }
  throw refusals[0] ?? new RuntimeError('NO_BACKEND', 'there is no device to plan for');
}
