// Perplexity on held-out stories. JavaScript, because tools/measure/perplexity.mjs also runs it.
import { readFileSync } from 'node:fs';
import { perplexity as perplexityOf } from '@quern/runtime';

/** Stories of the demo model's grammar: `python3 tools/demo-model/grammar.py 24 20261`. */
export const heldOutStories = readFileSync(new URL('held-out-stories.txt', import.meta.url), 'utf8')
  .split('----')
  .map((story) => story.trim())
  .filter((story) => story !== '');

/** exp(mean of −ln p(token | previous tokens)), over all tokens of all texts except each text's first token. */
export async function perplexity(model, texts) {
  let [sum, count] = [0, 0];
  for (const text of texts) {
    const { perplexity, tokens } = await perplexityOf(model, text, { window: model.context });
    sum += tokens * Math.log(perplexity);
    count += tokens;
  }
  return Math.exp(sum / count);
}
