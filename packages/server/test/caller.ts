import { type ChatMessage, loadModel, type Model } from '@quern/runtime';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { type Served, served } from './serving.js';

const pieces = [
  'Let',
  ' me',
  ' see',
  '<tool_call>',
  '{"name": "read_file"',
  ', "arguments": ',
  '{"path": "a.ts"}',
  '}',
  '</tool_call>',
];

/** What the model says, its call, with the arguments as JSON, and the tokens of both. */
export const said = 'Let me see';
export const called = { name: 'read_file', arguments: '{"path": "a.ts"}' };
export const tokens = pieces.length;

/** The parameters of the tool. */
export const parameters = {
  type: 'object' as const,
  properties: { path: { type: 'string', description: 'The file' } },
  required: ['path'],
  additionalProperties: false,
};

type Chats = (readonly ChatMessage[])[];

/** A server, its model, and the messages of each chat of the test. */
export interface Caller extends Served {
  readonly chats: Chats;
}

/** A model that calls `read_file` whatever it is asked, served with the key `secret` for all tests of a file. */
export function servedCaller(): Caller {
  const chats: Chats = [];
  const server = served(() => loadCaller(chats), { apiKeys: ['secret'] });
  beforeEach(() => {
    chats.length = 0;
  });
  return Object.defineProperty(server, 'chats', { value: chats }) as Caller;
}

/** @param chats gets the messages of each chat */
async function loadCaller(chats: Chats): Promise<Model> {
  const path = await writeScriptedModel(pieces, { controls: ['</tool_call>', '<tool_call>'], context: 2048 });
  const model = await loadModel(path, { backend: 'cpu', sequences: 2, context: 2048 });
  const chat = model.chat.bind(model);
  model.chat = ((...args: Parameters<Model['chat']>) => {
    chats.push(args[0]);
    return chat(...args);
  }) as Model['chat'];
  return model;
}
