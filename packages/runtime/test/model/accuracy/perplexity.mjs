// How well a model foretells stories that it has not seen. JavaScript, as tools/measure/perplexity.mjs runs it too.
import { readFileSync } from 'node:fs';
import { perplexity as perplexityOf } from '@quern/runtime';

/** Stories of the demo model's grammar: `python3 tools/demo-model/grammar.py 24 20261`. */
export const heldOutStories = readFileSync(new URL('held-out-stories.txt', import.meta.url), 'utf8')
  .split('----')
  .map((story) => story.trim())
  .filter((story) => story !== '');

/** exp of the mean of -ln p(token | those before it), over all tokens of all texts but the first of each, which begins it. */
export async function perplexity(model, texts) {
  let [sum, count] = [0, 0];
  for (const text of texts) {
    const { perplexity, tokens } = await perplexityOf(model, text, { window: model.context });
    sum += tokens * Math.log(perplexity);
    count += tokens;
  }
  return Math.exp(sum / count);
}
