import type { Suite } from '../case.js';
import { abort } from './abort.js';
import { bf16 } from './bf16.js';
import { caches } from './caches.js';
import { chain } from './chain.js';
import { collective } from './collective.js';
import { concurrency } from './concurrency.js';
import { errors } from './errors.js';
import { filled } from './filled.js';
import { fused } from './fused.js';
import { generated } from './generated.js';
import { graph } from './graph.js';
import { inFlight } from './in-flight.js';
import { kvQuant } from './kv-quant.js';
import { leaks } from './leaks.js';
import { lifecycle } from './lifecycle.js';
import { manifest } from './manifest.js';
import { memory } from './memory.js';
import { moeFused } from './moe-fused.js';
import { operands, samples, views } from './ops.js';
import { options } from './options.js';
import { pagedKv } from './paged-kv.js';
import { plans } from './plans.js';
import { quantGguf } from './quant-gguf.js';
import { quantGptq } from './quant-gptq.js';
import { rows } from './rows.js';
import { steps } from './steps.js';
import { timer } from './timer.js';
import { undeclared } from './undeclared.js';
import { weights } from './weights.js';
import { words } from './words.js';

/** By name, in run order: basics first. */
export const suites = {
  manifest,
  options,
  leaks, // early: each check is a full garbage collection, which a large heap makes slow
  ops: samples,
  generated,
  views,
  operands,
  errors,
  fused,
  filled,
  plans,
  bf16,
  rows,
  steps,
  lifecycle,
  abort,
  memory,
  weights,
  words,
  concurrency,
  caches,
  pagedKv,
  graph,
  chain,
  inFlight,
  moeFused,
  quantGguf,
  quantGptq,
  kvQuant,
  timer,
  collective,
  undeclared,
} as const satisfies Record<string, Suite>;
