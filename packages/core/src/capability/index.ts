import type { Collective } from './collective.js';
import type { Graph } from './graph.js';
import type { KvQuant } from './kv-quant.js';
import type { MoeFused } from './moe-fused.js';
import type { PagedKv } from './paged-kv.js';
import type { QuantGguf } from './quant-gguf.js';
import type { QuantGptq } from './quant-gptq.js';
import type { Timer } from './timer.js';

/** All capabilities, by property name on Backend. A present property is the only statement of support. */
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
