import type { Embedder, Model, SpeechModel } from '@quern/runtime';
import type { ServedModel } from '../kinds.js';
import type { ModelFacts } from './source.js';

/** What lists show of a loaded model. */
export function factsOf(model: ServedModel): ModelFacts {
  if (isSpeech(model)) return { path: model.path };
  const { path, file, architecture, config: sizes } = model;
  return { path, file, architecture, sizes, context: contextOf(model), capabilities: capabilitiesOf(model) };
}

const isSpeech = (model: ServedModel): model is SpeechModel => !('generate' in model || 'embed' in model);

/** Most tokens of a request. */
const contextOf = (model: Model | Embedder): number => ('context' in model ? model.context : model.maxTokens);

function capabilitiesOf(model: Model | Embedder): readonly string[] {
  if (!('generate' in model)) return ['embedding'];
  const { takesTools, thinking = 'never' } = model.chatTemplate ?? {};
  return ['completion', ...(takesTools ? ['tools'] : []), ...(thinking === 'never' ? [] : ['thinking'])];
}

/** Planned bytes of a generating model: weights, cache and activations; of others, those of their file. */
export function bytesOf(model: ServedModel): number {
  if (!('plan' in model)) return 'file' in model ? model.file.byteLength : 0;
  const { weights, cache, activations } = model.plan.memory;
  return weights + cache + activations;
}
