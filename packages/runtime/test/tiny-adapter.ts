import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import { writeSafetensors } from './quantize/safetensors.mjs';
import { tiny } from './tiny-model.js';

const { width, heads, kvHeads, headDim, feedForward } = tiny;

const shapes: Readonly<Record<string, readonly [number, number]>> = {
  'self_attn.q_proj': [heads * headDim, width],
  'self_attn.k_proj': [kvHeads * headDim, width],
  'self_attn.v_proj': [kvHeads * headDim, width],
  'self_attn.o_proj': [width, heads * headDim],
  'mlp.gate_proj': [feedForward, width],
  'mlp.up_proj': [feedForward, width],
  'mlp.down_proj': [width, feedForward],
};

export interface TinyAdapterOptions {
  readonly rank?: number;
  readonly seed?: number;
  /** Default: all. */
  readonly modules?: readonly string[];
}

/** Writes an adapter for the tiny model, in PEFT's layout, to its own folder. */
export function writeTinyAdapter({ rank = 4, seed = 100, modules }: TinyAdapterOptions = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'quern-adapter-'));
  let next = seed;
  const values = (shape: readonly number[]) => Float32Array.from(normal(next++, shape, 0.5).values);
  const tensors = Array.from({ length: tiny.layers }, (_, i) =>
    Object.entries(shapes)
      .filter(([module]) => modules?.includes(module) ?? true)
      .flatMap(([module, [N, K]]) => {
        const name = `base_model.model.model.layers.${i}.${module}`;
        return [
          { name: `${name}.lora_A.weight`, shape: [rank, K], values: values([rank, K]) },
          { name: `${name}.lora_B.weight`, shape: [N, rank], values: values([N, rank]) },
        ];
      }),
  ).flat();
  writeSafetensors(join(folder, 'adapter_model.safetensors'), tensors);
  const config = { peft_type: 'LORA', r: rank, lora_alpha: rank };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  return folder;
}
