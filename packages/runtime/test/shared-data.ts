import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Material of others beside the repository; see the README there. */
export const sharedData = fileURLToPath(new URL('../../../../shared/data', import.meta.url));

export const hasSharedData = existsSync(sharedData);

if (!hasSharedData) console.warn(`tests that need ${sharedData} are skipped: it is not there`);

/** `test`, skipped where the shared data is absent. */
export const testShared = hasSharedData ? test : test.skip;

const folder = join(sharedData, 'llama-stories260K');

/** A trained Llama of 260 thousand parameters. */
export const stories = join(folder, 'stories260K.gguf');

/** Its 200 greedy tokens after the beginning-of-sequence token, by another implementation. */
export function expectedStory(): { readonly ids: readonly number[]; readonly text: string } {
  const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
  return { ids: expected.token_ids_greedy_numpy_f32_check, text: expected.expected_text };
}
