// Anthropic's client: QUERN_URL=http://127.0.0.1:8080 node client-anthropic.js. First start serve-hono.js, or quern serve demo.
import Anthropic from '@anthropic-ai/sdk';

const baseURL = process.env.QUERN_URL ?? 'http://127.0.0.1:8080';
const client = new Anthropic({ baseURL, apiKey: 'none' });

const stream = client.messages.stream({
  model: 'demo',
  messages: [{ role: 'user', content: 'Tell me a story about a hedgehog.' }],
  max_tokens: 40,
  temperature: 0,
});
stream.on('text', (text) => process.stdout.write(text));
const { usage } = await stream.finalMessage();
console.log(`\n${usage.output_tokens} tokens`);
