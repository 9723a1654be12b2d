// The openai client: QUERN_URL=http://127.0.0.1:8080 node client-openai.js. First start serve-hono.js, or quern serve demo.
import OpenAI from 'openai';

const baseURL = `${process.env.QUERN_URL ?? 'http://127.0.0.1:8080'}/v1`;
const client = new OpenAI({ baseURL, apiKey: 'none' });

const stream = await client.chat.completions.create({
  model: 'demo',
  messages: [{ role: 'user', content: 'Tell me a story about a hedgehog.' }],
  max_tokens: 40,
  temperature: 0,
  stream: true,
  stream_options: { include_usage: true },
});
for await (const { choices, usage } of stream) {
  process.stdout.write(choices[0]?.delta.content ?? '');
  if (usage) console.log(`\n${usage.completion_tokens} tokens`);
}
