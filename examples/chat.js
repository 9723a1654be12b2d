// A chat in the terminal: node chat.js [MODEL]. Ctrl-C ends an answer, Ctrl-D the chat.
import { createInterface } from 'node:readline';
import { loadModel } from '@quern/runtime';

const model = await loadModel(process.argv[2] ?? 'demo');
const session = model.session(); // computes only what is new since the last answer
const messages = [];

const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
let answer;
terminal.on('SIGINT', () => answer?.abort());
terminal.prompt();
for await (const line of terminal) {
  messages.push({ role: 'user', content: line });
  answer = new AbortController();
  const generation = session.chat(messages, { maxTokens: 200, signal: answer.signal });
  for await (const { text } of generation) process.stdout.write(text);
  const { messages: added, cachedTokens, promptTokens } = await generation.result;
  messages.push(...added);
  console.log(`\n(${cachedTokens} of ${promptTokens} prompt tokens were in the cache)`);
  terminal.prompt();
}
model.dispose();
