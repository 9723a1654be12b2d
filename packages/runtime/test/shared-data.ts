import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Third-party test data beside the repository; see its README. */
export const sharedData = fileURLToPath(new URL('../../../../shared/data', import.meta.url));

export const hasSharedData = existsSync(sharedData);

if (!hasSharedData) console.warn(`tests that need ${sharedData} are skipped: it is not there`);

/** `test`, skipped if the shared data is absent. */
export const testShared = hasSharedData ? test : test.skip;

const folder = join(sharedData, 'llama-stories260K');

/** A trained Llama with 260 000 parameters. */
export const stories = join(folder, 'stories260K.gguf');

/** 200 greedy tokens after the beginning-of-sequence token, from another implementation. */
export function expectedStory(): { readonly ids: readonly number[]; readonly text: string } {
  const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
  return { ids: expected.token_ids_greedy_numpy_f32_check, text: expected.expected_text };
}
