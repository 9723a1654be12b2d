import { openGguf } from '@quern/quant';
import { Settings } from '../config/settings.js';
import { ggufWeights } from '../weights/weight-file.js';
import { badAdapter, type Half, pairUp, type StoredAdapter } from './stored-adapter.js';

/**
 * An adapter in a GGUF file, as llama.cpp's convert_lora_to_gguf writes it.
 * @param architecture `general.architecture` of the model
 * @throws ModelError BAD_CONFIG, UNSUPPORTED_CONFIG, BAD_ADAPTER; FileError
 */
export async function openGgufAdapter(
  path: string,
  architecture: string | undefined,
): Promise<StoredAdapter> {
  const file = await openGguf(path);
  const settings = new Settings(path, (key) => file.metadata.get(key));
  const type = settings.text('general.type', 'model');
  if (type !== 'adapter') throw badAdapter(`${path}: is a ${type}, not an adapter (general.type)`);
  if (settings.text('adapter.type') !== 'lora')
    settings.refuse('adapter.type', 'Quern reads adapters of type lora');
  if (settings.has('adapter.alora.invocation_tokens'))
    settings.refuse('adapter.alora.invocation_tokens', 'the adapter begins in the middle of a prompt');
  const own = settings.text('general.architecture');
  if (architecture !== undefined && own !== architecture)
    throw badAdapter(`${path}: is an adapter for '${own}', but the model is '${architecture}'`);
  const alpha = settings.number('adapter.lora.alpha', 0);
  const scaleOf = (_: string, rank: number): number => (alpha === 0 ? 1 : alpha / rank);
  const pairs = pairUp(path, ggufWeights(file).tensors.values(), halfOf, scaleOf);
  return { path, naming: 'gguf', pairs };
}

/** 'blk.0.attn_q.weight.lora_a' → 'blk.0.attn_q.weight' */
function halfOf(name: string): Half | undefined {
  const found = /^(.+)\.lora_([ab])$/.exec(name);
  return found ? { matrix: found[1]!, side: found[2] as 'a' | 'b' } : undefined;
}
