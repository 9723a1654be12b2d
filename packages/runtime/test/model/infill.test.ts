import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { loadModel, type Model } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

const spellings: Readonly<Record<string, string>> = {
  '▁v': '<0x0A>',
  '▁w': '<|repo_name|>',
  '▁x': '<|fim_prefix|>',
  '▁y': '<|fim_suffix|>',
  '▁z': '<|fim_middle|>',
};

let backend: Backend;
let model: Model;
let plain: Model;
beforeAll(async () => {
  backend = await createBackend();
  const load = (path: string) => loadModel(path, { backend, onNotice: () => {} });
  model = await load(await writeTinyModel({ spell: (token) => spellings[token] ?? token }));
  plain = await load(await writeTinyModel());
}, 120_000);
afterAll(() => {
  for (const each of [model, plain, backend]) each.dispose();
});

const bare = { addBos: false };
const ids = (text: string, of = model) => of.tokenize(text, bare);
/** The tokens of a text in the middle of another one. */
const inner = (text: string) => ids(`a${text}`).slice(1);

test('prefix, suffix, middle; the suffix gets no space before it', async () => {
  const { prefix, suffix, middle } = model.tokenizer!.fim!;
  const found = await model.infillTokens('the a', 'b');
  expect(found).toEqual([1, prefix, ...ids('the a'), suffix, ...inner('b'), middle]);
  expect(ids('b')).not.toEqual(inner('b'));
});

test('other files come before', async () => {
  const { prefix, suffix, middle, repository } = model.tokenizer!.fim!;
  const files = [{ name: 'one', text: 'a b' }];
  const found = await model.infillTokens('a', 'b', { files, repository: 'mine' });
  const snippet = ids('\n\n--- snippet ---\n\na b'); // the vocabulary has no token between files
  const before = [1, repository, ...ids('mine\n'), ...snippet];
  expect(found).toEqual([...before, prefix, ...ids('a'), suffix, ...inner('b'), middle]);
});

test('a file separator stands before each name', async () => {
  const path = await writeTinyModel({
    spell: (token) => (token === '▁u' ? '<|file_sep|>' : (spellings[token] ?? token)),
  });
  using separated = await loadModel(path, { backend, onNotice: () => {} });
  const { prefix, suffix, middle, file, repository } = separated.tokenizer!.fim!;
  const files = [{ name: 'one', text: 'a' }];
  const of = (text: string) => ids(text, separated);
  const named = [repository, ...of('myproject\n'), file, ...of('one\na'), file, ...of('two\n')];
  expect(await separated.infillTokens('a', '', { files, name: 'two' })).toEqual([
    ...[1, ...named, prefix, ...of('a')],
    ...[suffix, middle],
  ]);
});

test('a model continues the prompt', async () => {
  const prompt = await model.infillTokens('the a', 'b');
  const { promptTokens, tokens } = await model.generate(prompt, { maxTokens: 2, ignoreEos: true }).result;
  expect([promptTokens, tokens.length]).toEqual([prompt.length, 2]);
});

test('a prompt that is too long, and a model without the tokens', async () => {
  await expect(model.infillTokens('a '.repeat(100), 'b')).rejects.toMatchObject({ code: 'PROMPT_TOO_LONG' });
  await expect(plain.infillTokens('a', 'b')).rejects.toMatchObject({
    code: 'NO_FIM',
    message: expect.stringContaining('trained for it'),
  });
});

test('chatTokens: addGenerationPrompt: false leaves the start of the answer out', async () => {
  const template =
    '{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %} b{% endif %}';
  using chat = await loadModel(await writeTinyModel(), {
    backend,
    chatTemplate: template,
    onNotice: () => {},
  });
  const messages = [{ role: 'user', content: 'a' }];
  expect(await chat.chatTokens(messages, { addGenerationPrompt: false })).toEqual([1, ...ids('a', chat)]);
  expect(await chat.chatTokens(messages)).toEqual([1, ...ids('a b', chat)]);
});
