// The Vercel AI SDK over a model in this process, without a server: node ai-sdk.js [MODEL].
import { createQuern } from '@quern/ai-provider';
import { loadModel } from '@quern/runtime';
import { generateText, Output, streamText } from 'ai';
import { z } from 'zod';

const loaded = await loadModel(process.argv[2] ?? 'demo', { sequences: 2 });
const quern = createQuern({ models: { demo: loaded } });
const settings = { model: quern('demo'), temperature: 0, maxOutputTokens: 40 };

const { textStream, usage } = streamText({ ...settings, prompt: 'Tell me a story about a hedgehog.' });
for await (const text of textStream) process.stdout.write(text);
console.log(`\n${(await usage).outputTokens} tokens`);

const schema = z.object({ animal: z.enum(['fox', 'owl']), age: z.int().min(1).max(9) });
const { output } = await generateText({
  ...settings,
  maxOutputTokens: 100,
  prompt: 'An animal of the wood, as JSON.',
  output: Output.object({ schema }),
});
console.log(output.animal, output.age);
loaded.dispose();
