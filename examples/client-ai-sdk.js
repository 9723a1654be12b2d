// The Vercel AI SDK over HTTP: QUERN_URL=http://127.0.0.1:8080 node client-ai-sdk.js. First start serve-hono.js, or quern serve demo.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const quern = createOpenAICompatible({
  name: 'quern',
  baseURL: `${process.env.QUERN_URL ?? 'http://127.0.0.1:8080'}/v1`,
  includeUsage: true,
  supportsStructuredOutputs: true,
});

const { textStream, usage } = streamText({
  model: quern('demo'),
  prompt: 'Tell me a story about a hedgehog.',
  maxOutputTokens: 40,
  temperature: 0,
});
for await (const text of textStream) process.stdout.write(text);
console.log(`\n${(await usage).outputTokens} tokens`);
