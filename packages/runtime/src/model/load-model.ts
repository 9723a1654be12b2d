import { type KvCache, need, yieldToEventLoop } from '@quern/core';
import { describeModel, type LanguageModel, loadLanguageModel, type ModelFile } from '@quern/models';
import { Engine } from '../engine/engine.js';
import { needNotAborted } from '../need-not-aborted.js';
import { Adapters } from './adapters.js';
import { type ChosenBackends, chooseBackends } from './choose-backends.js';
import { type LoadOptions, type ResolvedLoadOptions, resolveLoadOptions } from './load-options.js';
import { loadChatTemplate, loadTokenizer } from './load-text.js';
import { loadedFile } from './loaded-file.js';
import { locateModel, type ModelLocator } from './locate-model.js';
import { Model } from './model.js';
import { openCache } from './open-cache.js';
import { openLanguageFile } from './open-file.js';
import { openOffload } from './open-offload.js';

/**
 * Loads a language model from a path or file: URL (a GGUF file, a safetensors file, a folder with config.json and
 * safetensors), from the name of an installed package that declares a model ('demo'), or from a name of the Hugging Face
 * Hub ('hf:Qwen/Qwen3-0.6B-GGUF'; needs @quern/hub). Plans weights and cache before allocating them. A failure leaves
 * nothing allocated.
 * @throws RuntimeError MODEL_NOT_FOUND, HUB_NOT_FOUND, BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, CONTEXT_TOO_LARGE,
 * MODEL_TOO_LARGE, BAD_OPTION, BAD_ARGUMENT, ABORTED; ModelError, FileError, TokenizerError, ChatTemplateError for
 * faults of the files; BackendError; HubError for names of the Hub.
 */
export async function loadModel(pathOrId: ModelLocator, options: LoadOptions = {}): Promise<Model> {
  const start = performance.now();
  const resolved = resolveLoadOptions('loadModel', options);
  const path = await locateModel('loadModel', pathOrId, resolved.resolveFrom, resolved);
  const file = await openLanguageFile(path, resolved);
  const tokenizer = await loadTokenizer(file);
  await yieldToEventLoop();
  const chatTemplate = await loadChatTemplate(file, tokenizer, resolved.chatTemplate, resolved.onNotice);
  await yieldToEventLoop();
  needNotAborted(resolved.signal, 'loading');
  const chosen = await startBackend(file, resolved);
  try {
    const loaded = await loadOnto(chosen, file, resolved);
    const loadMs = performance.now() - start;
    const { plan, owned } = chosen;
    const parts = {
      path: file.path,
      file: loadedFile(file, describeModel(file)),
      tokenizer,
      chatTemplate,
      plan,
      owned,
      loadMs,
      onNotice: resolved.onNotice,
      deterministic: resolved.deterministic ?? false,
      ...loaded,
    };
    return new Model(parts);
  } catch (error) {
    for (const backend of chosen.owned) backend.dispose();
    throw error;
  }
}

async function startBackend(file: ModelFile, options: ResolvedLoadOptions): Promise<ChosenBackends> {
  options.onProgress?.({ phase: 'backend', done: 0, total: 1 });
  const chosen = await chooseBackends(file, options);
  options.onProgress?.({ phase: 'backend', done: 1, total: 1 });
  if (chosen.plan.context > file.config.context)
    options.onNotice?.(
      `the context of ${chosen.plan.context} is longer than the ${file.config.context} tokens of the model's training: longer text may degrade`,
    );
  return chosen;
}

/** Allocates weights and cache on the backends. A failure leaves nothing allocated. */
async function loadOnto(
  { places, plan, prefillChunk }: ChosenBackends,
  file: ModelFile,
  options: ResolvedLoadOptions,
) {
  const { signal, onProgress, onNotice, mmap } = options;
  if (options.graph) for (const { backend } of places) need(backend, 'graph');
  let cache: KvCache | undefined;
  let weights: LanguageModel | undefined;
  let engine: Engine | undefined;
  try {
    cache = openCache(places, file.config, plan, options);
    await yieldToEventLoop();
    const offload = await openOffload(file, places, cache, options);
    weights = await loadLanguageModel(file, places, {
      ...(signal && { signal }),
      ...(onNotice && { onNotice }),
      ...(mmap !== undefined && { mmap }),
      ...(onProgress && { onProgress }),
    });
    const { deterministic, maxQueue, itlTarget, ttftTarget, graph } = options;
    const limits = { prefillChunk, deterministic, maxQueue, itlTarget, ttftTarget, offload, onNotice };
    engine = new Engine({ model: weights, cache, capture: graph !== false, ...limits });
    const adapters = new Adapters(file, engine, options.cacheDir !== undefined);
    for (const [name, path] of Object.entries(options.adapters ?? {}))
      await adapters.load(name, path, signal);
    return { cache, weights, engine, adapters };
  } catch (error) {
    engine?.dispose();
    weights?.dispose();
    cache?.dispose();
    throw error;
  }
}
