// A model that calls a function: node tools.js [MODEL].
import { loadModel, tool } from '@quern/runtime';

const path = process.argv[2] ?? 'demo';
// The demo model was not trained to call tools: it gets a template that names them. Leave chatTemplate out for your model.
const model = await loadModel(path, path === 'demo' ? { chatTemplate: 'chatml' } : {});

const weather = tool({
  name: 'weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { enum: ['Linz', 'Oslo'] } },
    required: ['city'],
    additionalProperties: false,
  },
  run: ({ city }) => ({ city, sunny: city === 'Linz' }), // the model gets the result, and goes on
});

const generation = model.chat([{ role: 'user', content: 'Is it sunny in Linz?' }], {
  tools: [weather],
  toolChoice: 'required', // 'auto', the default: the model decides
  parallelCalls: false,
  temperature: 0,
  maxTokens: 60,
});
for await (const { text } of generation) process.stdout.write(text);
const { calls, messages } = await generation.result;
for (const call of calls) console.log(`\ncalled ${call.name}(${call.arguments})`);
for (const { role, content } of messages) if (role === 'tool') console.log(`result ${content}`);
model.dispose();
