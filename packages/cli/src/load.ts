import { type Embedder, type LoadOptions, loadEmbedder, loadModel, type Model } from '@quern/runtime';
import { type BackendFlags, type LoadFlags, loadOptions, oneBackendOptions } from './options.js';
import { progressBar } from './terminal/progress.js';
import { detail, notice } from './terminal/report.js';

/** Loads a model by the flags, with a progress bar. For several backends it prints the plan's reasons. */
export async function load(
  path: string,
  flags: LoadFlags,
  signal: AbortSignal,
  more: LoadOptions = {},
): Promise<Model> {
  const bar = progressBar();
  const model = await loadModel(path, {
    ...loadOptions(flags),
    ...more,
    signal,
    onProgress: bar.update,
    onNotice: notice,
  }).finally(() => bar.stop());
  const { ranges, reasons } = model.plan;
  for (const reason of reasons) (ranges.length > 1 ? notice : detail)(reason);
  return model;
}

/** Loads a model, calls `use`, saves its cache, frees the model also after an error. */
export async function withModel<T>(
  path: string,
  flags: LoadFlags,
  signal: AbortSignal,
  use: (model: Model) => Promise<T>,
  more?: LoadOptions,
): Promise<T> {
  using model = await load(path, flags, signal, more);
  const result = await use(model);
  await model.saveCache();
  return result;
}

/** `withModel` for encoders. */
export async function withEmbedder<T>(
  path: string,
  flags: BackendFlags,
  signal: AbortSignal,
  use: (model: Embedder) => Promise<T>,
): Promise<T> {
  const bar = progressBar();
  using model = await loadEmbedder(path, {
    ...oneBackendOptions(flags),
    signal,
    onProgress: bar.update,
    onNotice: notice,
  }).finally(() => bar.stop());
  return await use(model);
}
