import { type Backend, type BackendPlan, needKvDtype } from '@quern/core';
import { describeModel, type ModelFile, type PartPlace } from '@quern/models';
import { RuntimeError } from '../error.js';
import { giveNotice } from '../notice.js';
import { neededRoom } from '../planner/default-room.js';
import { bytesOf, fitPart } from '../planner/part-fit.js';
import { planBackends } from '../planner/plan-backends.js';
import type { PlanRequest } from '../planner/plan-request.js';
import { type PlannerDevice, plannerDevice } from '../planner/planner-device.js';
import { isAsRoomy, longChunk, takesLongChunk, usualChunk } from '../planner/prefill-chunk.js';
import { rehearseSteps } from '../planner/rehearse-steps.js';
import { type Allowed, allowed, passedOver } from './choose-backend.js';
import type { BackendChoice, ResolvedLoadOptions } from './load-options.js';
import { usualBlockSize } from './open-cache.js';
import { parseSplit } from './parse-split.js';

/** The backends of a model, and its plan. */
export interface ChosenBackends {
  /** In the order of the layers. */
  readonly places: readonly PartPlace[];
  readonly plan: BackendPlan;
  /** Most prompt tokens in one step: as asked for, or by the speed of the plan's devices. */
  readonly prefillChunk: number;
  /** Loaded here: disposed with the model. */
  readonly owned: readonly Backend[];
}

/** A backend that may compute. `name`: its name in the plan. */
interface Candidate {
  readonly name: string;
  readonly backend: Backend;
  readonly owned: boolean;
}

interface Candidates {
  readonly list: readonly Candidate[];
  /** Notices for the application about backends that did not load. */
  readonly missing: readonly string[];
}

/** 'cpu,reference' is a list of two. */
const choicesOf = (backend: ResolvedLoadOptions['backend']): readonly BackendChoice[] => {
  if (isList(backend)) return backend;
  return typeof backend === 'string' ? backend.split(',').map((name) => name.trim()) : [backend];
};

/** Whether several backends share a model. */
export const isList = (backend: ResolvedLoadOptions['backend']): backend is readonly BackendChoice[] =>
  Array.isArray(backend);

/**
 * Plans a model on the allowed backends and keeps the backends of the plan. Disposes the others; on failure, all
 * backends loaded here. Gives a notice where a better backend exists but cannot be used.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, MODEL_TOO_LARGE, CONTEXT_TOO_LARGE, BAD_OPTION;
 * BackendError UNSUPPORTED (the cache's dtype), WRONG_CONTRACT
 */
export async function chooseBackends(file: ModelFile, options: ResolvedLoadOptions): Promise<ChosenBackends> {
  const choices = choicesOf(options.backend);
  needChoices(choices, options);
  const candidates = await candidatesOf(choices, options);
  let kept: readonly Candidate[] = [];
  try {
    needDistinct(candidates.list);
    const chosen = await planOn(candidates, file, options, choices);
    kept = candidates.list.filter(({ backend }) => chosen.places.some((place) => place.backend === backend));
    return { ...chosen, owned: kept.filter(({ owned }) => owned).map(({ backend }) => backend) };
  } finally {
    for (const candidate of candidates.list)
      if (candidate.owned && !kept.includes(candidate)) candidate.backend.dispose();
  }
}

const oneRange =
  'a backend computes one range of layers. For two backends of one package give instances from its createBackend; for a package with several ' +
  'devices name each device';

/** @throws RuntimeError BAD_OPTION */
function needChoices(
  choices: readonly BackendChoice[],
  { split, backendOptions }: ResolvedLoadOptions,
): void {
  const names = choices.filter((choice) => typeof choice === 'string');
  const shown = names.map((name) => `'${name}'`).join(', ');
  const refuse = (message: string): never => {
    throw new RuntimeError('BAD_OPTION', message);
  };
  if (choices.some((choice, i) => choices.indexOf(choice) !== i))
    refuse(`backend names ${shown || 'an instance'} twice: ${oneRange}`);
  if (choices.length > 1 && names.includes('auto'))
    refuse(`backend is ${shown}: 'auto' chooses by itself, so it stands alone; name the backends`);
  if (split !== undefined && names.includes('auto'))
    refuse(
      "split says which layers each backend computes: name the backends too, as in backend: 'cpu,reference'",
    );
  if (choices.length === 1 || backendOptions === undefined) return;
  const strange = Object.keys(backendOptions).find((name) => !names.includes(name));
  if (strange !== undefined)
    refuse(
      `backendOptions of several backends are keyed by name: '${strange}' is not among ${shown || 'them: the backends are instances'}`,
    );
}

async function candidatesOf(
  choices: readonly BackendChoice[],
  options: ResolvedLoadOptions,
): Promise<Candidates> {
  const found: (Allowed & { readonly owned: boolean })[] = [];
  try {
    for (const backend of choices) {
      const backendOptions = optionsOf(backend, choices, options);
      const owned = typeof backend === 'string';
      found.push({ ...(await allowed({ ...options, backend, backendOptions })), owned });
    }
  } catch (error) {
    for (const { backends, owned } of found) if (owned) for (const backend of backends) backend.dispose();
    throw error;
  }
  const all = found.flatMap(({ backends, owned }) => backends.map((backend) => ({ backend, owned })));
  return { list: named(all), missing: found.flatMap(({ missing }) => missing) };
}

/** The options of one backend: of several backends, `backendOptions` has one entry per name. */
function optionsOf(
  backend: BackendChoice,
  choices: readonly BackendChoice[],
  { backendOptions }: ResolvedLoadOptions,
): Readonly<Record<string, unknown>> | undefined {
  if (choices.length === 1 || typeof backend !== 'string')
    return choices.length === 1 ? backendOptions : undefined;
  return backendOptions?.[backend] as Readonly<Record<string, unknown>> | undefined;
}

/** 'cpu' and '@quern/backend-cpu' are one backend. @throws RuntimeError BAD_OPTION */
function needDistinct(list: readonly Candidate[]): void {
  const names = list.filter(({ owned }) => owned).map(({ backend }) => backend.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new RuntimeError('BAD_OPTION', `backend names '${twice}' twice: ${oneRange}`);
}

/** Instances of one package are numbered: 'cpu#1', 'cpu#2'. */
function named(all: readonly Omit<Candidate, 'name'>[]): readonly Candidate[] {
  return all.map((candidate, i) => {
    const { name } = candidate.backend;
    const isAlone = all.every(({ backend }, j) => j === i || backend.name !== name);
    const before = all.slice(0, i).filter(({ backend }) => backend.name === name).length;
    return { ...candidate, name: isAlone ? name : `${name}#${before + 1}` };
  });
}

/** Steps are rehearsed (20 ms) where the planner's estimate exceeds this part of the free memory. */
const plentifulFraction = 1 / 2;

/** A backend with the model on it. Rehearses the largest steps where memory is scarce (`plentifulFraction`). */
async function plannedDevice(
  { name, backend }: Candidate,
  file: ModelFile,
  request: PlanRequest,
  { memoryBytes = Number.POSITIVE_INFINITY }: Pick<ResolvedLoadOptions, 'memoryBytes'>,
): Promise<PlannerDevice> {
  const whole = plannerDevice(backend, file, name);
  const device = { ...whole, freeMemory: Math.min(whole.freeMemory, memoryBytes) };
  if (estimatedBytes(file, device, request) <= plentifulFraction * device.freeMemory) return device;
  const { prefillChunk, context = file.config.context, sequences } = request;
  const sizes = { prefillChunk: Math.min(prefillChunk, context), sequences };
  return { ...device, steps: await rehearseSteps(backend, file, sizes) };
}

/** Bytes of all layers on one device, with the cache that is worth the last free memory. */
function estimatedBytes(file: ModelFile, device: PlannerDevice, request: PlanRequest): number {
  const model = { architecture: file.architecture.name, config: file.config };
  const whole = fitPart(model, { device, from: 0, to: file.config.layers }, request);
  return bytesOf(whole, neededRoom(model, request));
}

interface Planned {
  readonly plan: BackendPlan;
  readonly devices: readonly PlannerDevice[];
}

/** @throws RuntimeError MODEL_TOO_LARGE, CONTEXT_TOO_LARGE, BAD_OPTION */
async function planned(
  list: readonly Candidate[],
  file: ModelFile,
  request: PlanRequest,
  options: ResolvedLoadOptions,
): Promise<Planned> {
  const devices: PlannerDevice[] = [];
  for (const candidate of list) devices.push(await plannedDevice(candidate, file, request, options));
  return { plan: planBackends(describeModel(file), devices, request), devices };
}

/** The plan with longer steps for prompts, where the devices are fast and it takes nothing from the cache. */
async function planWithLongChunk(
  { plan, devices }: Planned,
  list: readonly Candidate[],
  file: ModelFile,
  request: PlanRequest,
  options: ResolvedLoadOptions,
): Promise<BackendPlan | undefined> {
  if (!takesLongChunk(plan, devices)) return undefined;
  try {
    const { plan: longer } = await planned(list, file, { ...request, prefillChunk: longChunk }, options);
    return isAsRoomy(longer, plan) ? longer : undefined;
  } catch (error) {
    if (error instanceof RuntimeError) return undefined; // no room for it
    throw error;
  }
}

async function planOn(
  { list, missing }: Candidates,
  file: ModelFile,
  options: ResolvedLoadOptions,
  choices: readonly BackendChoice[],
): Promise<Omit<ChosenBackends, 'owned'>> {
  const request = planRequest(options, choices);
  const usual = await planned(list, file, request, options);
  const longer =
    options.prefillChunk === undefined
      ? await planWithLongChunk(usual, list, file, request, options)
      : undefined;
  const plan = longer ?? usual.plan;
  const places = plan.ranges.map(({ backend: wanted, firstLayer, endLayer }) => {
    const { backend } = list.find(({ name }) => name === wanted)!;
    return { backend, from: firstLayer, to: endLayer };
  });
  for (const { backend } of places) needKvDtype(backend, options.cacheDtype);
  const backends = list.map(({ backend }) => backend);
  const notices = places.length > 1 ? missing : [...missing, ...passedOver(backends, places[0]!.backend)];
  for (const text of notices) giveNotice(options.onNotice, text);
  const prefillChunk = longer ? longChunk : request.prefillChunk;
  return { places, prefillChunk, plan: { ...plan, reasons: [...missing, ...plan.reasons] } };
}

const planRequest = (options: ResolvedLoadOptions, choices: readonly BackendChoice[]): PlanRequest => {
  const { split, context, cacheDtype, sequences, prefillChunk = usualChunk } = options;
  const { blockSize = usualBlockSize } = options;
  return {
    named: choices[0] !== 'auto',
    ...(split !== undefined && { ranges: parseSplit(split) }),
    ...(context !== undefined && { context }),
    blockSize: Math.min(blockSize, context ?? blockSize),
    cacheDtype,
    sequences,
    prefillChunk,
  };
};
