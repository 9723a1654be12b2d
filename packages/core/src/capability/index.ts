import type { Backend } from '../backend.js';
import { BackendError } from '../error.js';
import type { Collective } from './collective.js';
import type { Graph } from './graph.js';
import type { KvQuant } from './kv-quant.js';
import type { MoeFused } from './moe-fused.js';
import type { PagedKv } from './paged-kv.js';
import type { QuantGguf } from './quant-gguf.js';
import type { QuantGptq } from './quant-gptq.js';
import type { Timer } from './timer.js';

/** Every capability, by the name of its property on Backend. Present or absent: that is the only statement of support. */
export interface Capabilities {
  readonly pagedKv: PagedKv;
  readonly moeFused: MoeFused;
  readonly quantGguf: QuantGguf;
  readonly quantGptq: QuantGptq;
  readonly kvQuant: KvQuant;
  readonly graph: Graph;
  readonly collective: Collective;
  readonly timer: Timer;
}

export type CapabilityName = keyof Capabilities;

/** A Backend that is known to have some capabilities: `With<'pagedKv' | 'graph'>`. */
export type With<Name extends CapabilityName> = Backend & Pick<Capabilities, Name>;

/** What a language-model server asks for. */
export type LlmBackend = With<'pagedKv' | 'graph'>;
/** The same for files with quantised weights. */
export type QuantLlmBackend = With<'pagedKv' | 'graph' | 'quantGguf'>;
/** The same for mixtures of experts. */
export type MoeLlmBackend = With<'pagedKv' | 'graph' | 'moeFused'>;

/** Type guard: the backend has all the named capabilities. */
export function has<Name extends CapabilityName>(backend: Backend, ...names: Name[]): backend is With<Name> {
  return names.every((name) => backend[name] !== undefined);
}

/** Assertion: throws UNSUPPORTED, naming what is missing and what there is. */
export function need<Name extends CapabilityName>(
  backend: Backend,
  ...names: Name[]
): asserts backend is With<Name> {
  const missing = names.filter((name) => backend[name] === undefined);
  if (missing.length === 0) return;
  const present = capabilityNames.filter((name) => backend[name] !== undefined);
  throw new BackendError(
    'UNSUPPORTED',
    `backend '${backend.name}' lacks ${missing.join(', ')}; it has ${present.join(', ') || 'no capabilities'}`,
  );
}

export const capabilityNames = [
  'pagedKv',
  'moeFused',
  'quantGguf',
  'quantGptq',
  'kvQuant',
  'graph',
  'collective',
  'timer',
] as const satisfies readonly CapabilityName[];
