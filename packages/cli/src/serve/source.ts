import { type LoadPlan, loadEmbedder, loadSpeechModel, Model, type ModelKind } from '@quern/runtime';
import type { ModelKindName, ModelSource, ServedModel } from '@quern/server';
import { type AdapterFlags, adapterPaths } from '../adapters.js';
import { load } from '../load.js';
import { type LoadFlags, loadOptions, oneBackendOptions } from '../options.js';
import { notice } from '../terminal/report.js';
import type { NamedPath } from './model-name.js';
import { type Budget, type PlannedSource, planSource, stampOf } from './plan-source.js';

/** Flags that a served model is loaded with. */
export interface SourceFlags extends LoadFlags, AdapterFlags {
  readonly sequences: number;
  readonly maxQueue?: number;
  readonly itlTarget?: number;
  readonly ttftTarget?: number;
}

const kinds: Readonly<Record<ModelKind, ModelKindName>> = {
  language: 'generation',
  encoder: 'embedding',
  speech: 'speech',
};

const cachingOf = ({ sequences, maxQueue, itlTarget, ttftTarget }: SourceFlags) => ({
  sequences,
  ...(maxQueue !== undefined && { maxQueue }),
  ...(itlTarget !== undefined && { itlTarget }),
  ...(ttftTarget !== undefined && { ttftTarget }),
});

/** A model that loads at its first request, planned now. Rejects as `planLoad`. */
export async function plannedSource(
  { name, path }: NamedPath,
  flags: SourceFlags,
  budget: Budget,
  pinned: boolean,
): Promise<ModelSource & { readonly plans: LoadPlan }> {
  const options = { ...loadOptions(flags), ...cachingOf(flags), onNotice: () => {} };
  const planned = () => planSource(path, options, budget);
  const file = new PlannedFile(await planned(), planned);
  await file.bytes(); // notes the stamp
  const { plan } = file.now;
  return {
    ...commonSource(name, kinds[plan.kind], flags, pinned),
    ...{ plans: plan, bytes: plan.bytes, facts: factsOf(plan) },
    plan: () => file.bytes(),
    load: (signal) => loadServed({ name, path }, file.now.plan.kind, flags, signal, file.now.memoryBytes),
  };
}

/** The only model of a server, loaded at its start. */
export function pinnedSource({ name, path }: NamedPath, kind: ModelKind, flags: SourceFlags): ModelSource {
  return {
    ...commonSource(name, kinds[kind], flags, true),
    load: (signal) => loadServed({ name, path }, kind, flags, signal),
  };
}

/** Plans again where the files have changed. */
class PlannedFile {
  private stamp: string | undefined;

  constructor(
    public now: PlannedSource,
    private readonly plan: () => Promise<PlannedSource>,
  ) {}

  async bytes(): Promise<number> {
    const stamp = await stampOf(this.now.plan.path);
    if (this.stamp !== undefined && this.stamp !== stamp) this.now = await this.plan();
    this.stamp = stamp;
    return this.now.plan.bytes;
  }
}

const commonSource = (name: string, kind: ModelKindName, flags: SourceFlags, pinned: boolean) => ({
  kind,
  pinned,
  adapters: Object.keys(adapterPaths(flags)),
  unload: async (model: ServedModel) => {
    if (model instanceof Model) await model.saveCache().finally(() => model.dispose());
    else model.dispose();
    if (!pinned) notice(`${name}: unloaded`);
  },
});

const factsOf = ({ path, architecture, file, context, config: sizes }: LoadPlan) => ({
  ...{ path, architecture, file, context, sizes },
});

async function loadServed(
  { name, path }: NamedPath,
  kind: ModelKind,
  flags: SourceFlags,
  signal: AbortSignal,
  memoryBytes?: number,
): Promise<ServedModel> {
  const one = { ...oneBackendOptions(flags), signal, onNotice: notice };
  if (kind === 'encoder') return loadEmbedder(path, one);
  if (kind === 'speech') return loadSpeechModel(path, one);
  const model = await load(path, flags, signal, {
    ...cachingOf(flags),
    adapters: adapterPaths(flags),
    ...(memoryBytes !== undefined && { memoryBytes }),
  });
  notice(`${name}: ${model.plan.reasons.at(-1)}`);
  return model;
}
