import { json, loadDemo, post, served } from './serving.js';

const server = served(() => loadDemo(2, { context: 64 }), { textsPerRequest: 64 });

const route = () => `${server.url}/v1/completions`;
const fields = { max_tokens: 12, temperature: 0, ignore_eos: true };
const prompts = Array.from({ length: 16 }, (_, i) => `Prompt ${i}:`);

test('each text is that of a request of its own; usage sums all prompts', async () => {
  const all = await json(await post(route(), { ...fields, prompt: prompts, n: 4 }));
  const single = await Promise.all(
    prompts.map(async (prompt) => json(await post(route(), { ...fields, prompt }))),
  );
  const texts = single.flatMap(({ choices }) => Array(4).fill(choices[0].text));
  expect(all.choices.map(({ text }: { text: string }) => text)).toEqual(texts);
  const sum = single.reduce((total, { usage }) => total + usage.prompt_tokens, 0);
  expect(all.usage).toMatchObject({
    prompt_tokens: sum,
    completion_tokens: 64 * 12,
    total_tokens: sum + 64 * 12,
  });
});

test('another request does not wait for all of them', async () => {
  let isOver = false;
  const many = post(route(), { ...fields, prompt: prompts, n: 4, max_tokens: 40 }).then(async (response) => {
    isOver = true;
    return json(response);
  });
  while (server.model.stats().waiting === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const small = await json(await post(route(), { ...fields, prompt: 'Small', max_tokens: 2 }));
  expect([small.choices.length, isOver]).toEqual([1, false]);
  expect((await many).choices).toHaveLength(64);
});

test.each([
  ['prompts × n', { prompt: prompts, n: 5 }, 'prompt', 80],
  ['n', { prompt: 'x', n: 65 }, 'n', 65],
])('more texts than the server allows: %s', async (_, more, param, texts) => {
  const response = await post(route(), { ...fields, ...more });
  expect([response.status, (await json(response)).error]).toEqual([
    400,
    expect.objectContaining({
      param,
      message: `the request asks for ${texts} texts (prompts × n); at most 64 are made`,
    }),
  ]);
});
