import type { GeluForm } from '@quern/core';
import type { Settings } from './settings.js';

/** transformers' names of gelu variants. */
const gelus: Readonly<Record<string, GeluForm>> = {
  gelu: 'erf',
  gelu_python: 'erf',
  gelu_new: 'tanh',
  gelu_pytorch_tanh: 'tanh',
  gelu_fast: 'tanh',
};

/** The gelu of a feed-forward without gate. @throws ModelError UNSUPPORTED_CONFIG for another activation. */
export function readGelu(settings: Settings, key = 'hidden_act', otherwise = 'gelu'): GeluForm {
  const name = settings.text(key, otherwise);
  const form = Object.hasOwn(gelus, name) ? gelus[name] : undefined;
  return form ?? settings.refuse(key, `this architecture supports ${Object.keys(gelus).join(', ')}`);
}
