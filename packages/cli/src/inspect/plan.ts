import {
  type BackendPlan,
  type FileDescription,
  type Precision,
  planModel,
  RuntimeError,
} from '@quern/runtime';
import type { Command } from 'commander';
import { type LoadFlags, loadOptions } from '../options.js';
import { figure } from '../terminal/figure.js';

/** The plan of `quern run`, or why there is none. */
export type Planned =
  | { readonly plan: BackendPlan }
  | { readonly plan: null; readonly planError: { readonly code: string; readonly message: string } };

/** What this machine lacks, as opposed to a flag that is wrong. */
const lacking: readonly string[] = ['NO_BACKEND', 'BACKEND_FAILED', 'MODEL_TOO_LARGE', 'CONTEXT_TOO_LARGE'];

/** Undefined for files that `quern run` does not take. */
export async function planHere(
  path: string,
  { model }: FileDescription,
  flags: LoadFlags,
  command: Command,
): Promise<Planned | undefined> {
  if (model?.kind !== 'language') {
    needNoFlags(path, command);
    return undefined;
  }
  try {
    return { plan: await planModel(path, { ...loadOptions(flags), onNotice: () => {} }) }; // reasons tell the same
  } catch (error) {
    if (!(error instanceof RuntimeError && lacking.includes(error.code))) throw error;
    return { plan: null, planError: { code: error.code, message: inOneLine(error.message) } };
  }
}

const inOneLine = (text: string): string =>
  text.replace(/(:?)\s*\n\s*/g, (_, colon: string) => (colon === '' ? '; ' : ': '));

const planFlags = ['backend', 'backendOption', 'threads', 'precision', 'ctx', 'split', 'kv'] as const;

function needNoFlags(path: string, command: Command): void {
  const given = planFlags.find((name) => command.getOptionValueSource(name) === 'cli');
  const flag = command.options.find((option) => option.attributeName() === given);
  if (flag) command.error(`error: ${path} is no language model, so there is no plan for ${flag.long}`);
}

const show = (bytes: number): string =>
  bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;

const showLayers = (first: number, last: number): string =>
  first === last ? `layer ${first}` : `layers ${first}-${last}`;

const showPrecision = (precision: Precision | undefined): string =>
  precision ? `, precision ${precision}` : '';

/** Backends, layers, memory and speed; then a reason a line. */
export function* planLines(planned: Planned): Generator<string> {
  if (planned.plan === null) {
    yield `plan: none here: ${planned.planError.message} (${planned.planError.code})`;
    return;
  }
  const { ranges, context, cacheDtype, memory, estimate, reasons } = planned.plan;
  yield `plan: context ${context}, cache ${cacheDtype}, ${show(memory.available)} free`;
  for (const { backend, firstLayer, endLayer, precision, memory: part } of ranges)
    yield `  ${showLayers(firstLayer, endLayer - 1)} on ${backend}${showPrecision(precision)}: weights ${show(part.weights)}, cache ${show(part.cache)}, activations ${show(part.activations)}`;
  const { prefillTokensPerSecond: prefill, decodeTokensPerSecond: decode } = estimate;
  yield `  planned by the devices' rates: prefill ${figure(prefill)}, decode ${figure(decode)} tokens/s`;
  for (const reason of reasons) yield `  ${reason}`;
}
