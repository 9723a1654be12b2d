import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import type { Model } from '@quern/runtime';
import { writeSafetensors } from '../../runtime/test/quantize/safetensors.mjs';

/** Writes an adapter for a model's first feed-forward, in PEFT's layout. */
export function writeDemoAdapter(folder: string, { config }: Model, seed = 7): string {
  mkdirSync(folder, { recursive: true });
  const values = (shape: readonly number[], more: number) =>
    Float32Array.from(normal(seed + more, shape, 1).values);
  const name = 'base_model.model.model.layers.0.mlp.up_proj';
  const [a, b] = [
    [4, config.width],
    [config.feedForward, 4],
  ];
  writeSafetensors(join(folder, 'adapter_model.safetensors'), [
    { name: `${name}.lora_A.weight`, shape: a, values: values(a, 0) },
    { name: `${name}.lora_B.weight`, shape: b, values: values(b, 1) },
  ]);
  writeFileSync(
    join(folder, 'adapter_config.json'),
    JSON.stringify({ peft_type: 'LORA', lora_alpha: 4, r: 4 }),
  );
  return folder;
}
