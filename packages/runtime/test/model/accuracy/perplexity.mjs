// How well a model foretells stories that it has not seen. JavaScript, as tools/measure/perplexity.mjs runs it too.
import { readFileSync } from 'node:fs';

const { exp, log, max } = Math; // Jest makes every look at a global slow

/** Stories of the demo model's grammar: `python3 tools/demo-model/grammar.py 24 20261`. */
export const heldOutStories = readFileSync(new URL('held-out-stories.txt', import.meta.url), 'utf8')
  .split('----')
  .map((story) => story.trim())
  .filter((story) => story !== '');

/** exp of the mean of -ln p(token | those before it), over all tokens of all texts but the first of each, which begins it. */
export async function perplexity(model, texts) {
  let [sum, count] = [0, 0];
  for (const text of texts) {
    const ids = model.tokenize(text);
    const logits = await model.logits(ids); // [T][V]
    for (let t = 0; t + 1 < ids.length; t++) sum -= logProbability(logits[t], ids[t + 1]);
    count += ids.length - 1;
  }
  return exp(sum / count);
}

function logProbability(logits, id) {
  let most = logits[0];
  for (const logit of logits) most = max(most, logit);
  let sum = 0;
  for (const logit of logits) sum += exp(logit - most);
  return logits[id] - most - log(sum);
}
