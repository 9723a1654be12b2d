// LangChain.js: QUERN_URL=http://127.0.0.1:8080 node client-langchain.js. First start serve-hono.js, or quern serve demo.
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({
  model: 'demo',
  apiKey: 'none',
  temperature: 0,
  maxTokens: 40,
  configuration: { baseURL: `${process.env.QUERN_URL ?? 'http://127.0.0.1:8080'}/v1` },
});
const chain = ChatPromptTemplate.fromTemplate('Tell me a story about a {animal}.').pipe(model);

let tokens = 0;
for await (const { content, usage_metadata } of await chain.stream({ animal: 'hedgehog' })) {
  process.stdout.write(content);
  tokens += usage_metadata?.output_tokens ?? 0;
}
console.log(`\n${tokens} tokens`);
