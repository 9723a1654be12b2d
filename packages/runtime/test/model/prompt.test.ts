import { ChatTemplate } from '../../src/chat/index.js';
import { chatPrompt, textPrompt } from '../../src/model/prompt.js';
import { byteCharacters } from '../../src/tokenizer/byte-level.js';
import { tokenizerFromGguf } from '../../src/tokenizer/index.js';

/** One token per byte, and one token for two bytes. */
function byteTokenizer() {
  const tokens = [...byteCharacters, 'ab'];
  const fields = { model: 'gpt2', pre: 'gpt-2', tokens, merges: ['a b'] };
  const entries = Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const);
  const tokenizer = tokenizerFromGguf(new Map<string, unknown>(entries));
  const encode = tokenizer.encodeInTurns.bind(tokenizer);
  const calls = { count: 0 };
  tokenizer.encodeInTurns = (...given) => {
    calls.count++;
    return encode(...given);
  };
  return { calls, rules: { tokenizer, vocabulary: tokens.length, context: 100 } };
}

test('a text that cannot fit is refused before tokenising', async () => {
  const { calls, rules } = byteTokenizer();
  expect(rules.tokenizer.longestToken).toBe(2);
  await expect(textPrompt('é'.repeat(1_000_000), false, rules)).rejects.toMatchObject({
    code: 'PROMPT_TOO_LONG',
    message: expect.stringMatching(/at least 1000000 tokens.*100/),
  });
  expect(calls.count).toBe(0);
});

test('a text that may fit is tokenised', async () => {
  const { calls, rules } = byteTokenizer();
  await expect(textPrompt('c'.repeat(150), false, rules)).rejects.toMatchObject({ code: 'PROMPT_TOO_LONG' });
  expect((await textPrompt('ab'.repeat(99), false, rules)).ids).toHaveLength(99);
  expect(calls.count).toBe(2);
});

test('a chat that cannot fit is refused before the search for control tokens', async () => {
  const { calls, rules } = byteTokenizer();
  const isControl = rules.tokenizer.isControl.bind(rules.tokenizer);
  let looked = 0;
  rules.tokenizer.isControl = (id) => {
    looked++;
    return isControl(id);
  };
  const template = ChatTemplate.from('{{ messages[0].content }}');
  const messages = [{ role: 'user', content: '<|end|>'.repeat(100_000) }];
  await expect(chatPrompt(template, messages, {}, rules)).rejects.toMatchObject({ code: 'PROMPT_TOO_LONG' });
  expect([calls.count, looked]).toEqual([0, 0]);
});
