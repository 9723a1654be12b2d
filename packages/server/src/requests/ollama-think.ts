import type { ChatOptions, Model } from '@quern/runtime';
import { badField } from '../errors.js';
import type { NamedModel } from '../models.js';
import { type OllamaGenerating, ollamaStructure } from './ollama.js';

/** Whether a template reads how long the model is to think. */
const takesLevels = ({ chatTemplate }: Model): boolean =>
  /\breasoning_effort\b/.test(chatTemplate?.source ?? '');

/**
 * Whether the model thinks before it answers: as Ollama does, unless the request says false.
 * @throws ApiError 400 where the model cannot do what the request says
 */
export function ollamaThinking(
  body: OllamaGenerating,
  { name, model }: NamedModel<'generation'>,
  notice: (text: string) => void,
): ChatOptions {
  const { think } = body;
  const level = typeof think === 'string' ? think : undefined;
  const can = model.chatTemplate?.thinking ?? 'never';
  const isStructured = Object.keys(ollamaStructure(body)).length > 0;
  const extra = level && takesLevels(model) ? { extra: { reasoning_effort: level } } : {};
  if (think && isStructured)
    throw badField('think', 'think goes with no format: the answer is the JSON alone; leave one of them out');
  if (think && can === 'never' && !('extra' in extra))
    throw badField('think', `"${name}" does not support thinking`);
  if (think === false && can === 'always')
    throw badField('think', `"${name}" always thinks before it answers: leave think out`);
  if (level && !takesLevels(model))
    notice(`think: "${level}" means true: the template of "${name}" has no levels`);
  return can === 'optional' ? { ...extra, thinking: think !== false && !isStructured } : extra;
}
