// Longest block of the event loop during loading, a prompt and generation, the first text with a schema, and the first answer that
// must call one of 58 tools (100 kB of schemas), on two threads.
//   node tools/measure/event-loop.mjs model.gguf [--prompt 512] [--tokens 32] [--threads 2] [--limit 20]
// The limit applies to uninterrupted run time of the JavaScript thread (Linux); the rest of a block is waiting for a
// CPU.
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';
import { longestHold } from './hold.mjs';

const { path, prompt, tokens, threads, limit } = readArguments({
  prompt: 512,
  tokens: 32,
  threads: 2,
  limit: 20,
});

/** 1.7 kB of JSON schema. */
const toolOf = (i) => ({
  name: `tool_${i}`,
  parameters: {
    type: 'object',
    description: 'what the tool does, '.repeat(20),
    properties: {
      id: { type: 'string', format: 'uuid' },
      when: { type: 'string', format: 'date-time' },
      url: { type: 'string', format: 'uri' },
      count: { type: 'integer', minimum: 0, maximum: 1000 + i },
      kind: { enum: Array.from({ length: 20 }, (_, k) => `kind_${i}_${k}`) },
      code: { type: 'string', pattern: `^[A-Z]{2}-\\d{4,8}-${i}$` },
      tags: { type: 'array', items: { type: 'string', maxLength: 40 }, maxItems: 10 },
      nested: {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 8 }, (_, k) => [
            `p${k}`,
            { type: ['string', 'null'], description: 'some text' },
          ]),
        ),
      },
    },
    required: ['id', 'when', 'kind'],
    additionalProperties: false,
  },
});

/** Shows the tools' names alone: the prompt stays short. */
const chatTemplate =
  '{% for message in messages %}{{ message.content }}{% endfor %}{% for tool in tools %} {{ tool.function.name }}{% endfor %}';

const show = (value) => value.toFixed(2);
const backend = await createBackend({ threads });
const context = Math.max(prompt + tokens + 1, 1024);
const loading = await longestHold(() => loadModel(path, { backend, context, chatTemplate }));
const model = loading.result;
const ids = promptOf(prompt, model.config.vocabulary);
const options = { temperature: 0, maxTokens: tokens, ignoreEos: true, reuse: false };
const generating = await longestHold(() => model.generate(ids, options).result);
const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const structured = await longestHold(
  () => model.generate(ids.slice(0, 8), { temperature: 0, maxTokens: 16, schema }).result,
);
const tools = Array.from({ length: 58 }, (_, i) => ({ type: 'function', function: toolOf(i) }));
const calls = { tools, toolChoice: 'required', callFormat: 'hermes', temperature: 0, maxTokens: 16 };
const calling = await longestHold(() => model.chat([{ role: 'user', content: 'Go.' }], calls).result);
const { prefillMs, prefillTokensPerSecond, decodeMs, decodeTokensPerSecond } = generating.result;
console.log(`model            ${path}, ${model.architecture}, ${threads} threads, ${backend.profile.isa}`);
console.log(
  `prefill          ${prompt} tokens in ${show(prefillMs)} ms (${show(prefillTokensPerSecond)} tokens/s)`,
);
console.log(
  `decode           ${tokens} tokens in ${show(decodeMs)} ms (${show(decodeTokensPerSecond)} tokens/s)`,
);
for (const [name, { longest, ran, median }] of Object.entries({
  loading,
  generating,
  'first schema': structured,
  '58 tools': calling,
}))
  console.log(
    `${name.padEnd(16)} held at most ${show(longest)} ms (median ${show(median)}); the thread itself ran at most ${show(ran)} ms in one go`,
  );
const worst = Math.max(loading.ran, generating.ran, structured.ran, calling.ran);
console.log(
  `${worst <= limit ? 'PASS' : 'FAIL'}             JavaScript held the event loop for at most ${show(worst)} ms; the limit is ${limit} ms`,
);
model.dispose();
backend.dispose();
process.exitCode = worst <= limit ? 0 : 1;
