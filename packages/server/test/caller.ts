import { type ChatMessage, loadModel, type Model } from '@quern/runtime';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';

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

export interface Caller {
  readonly model: Model;
  /** The messages of each chat. */
  readonly chats: (readonly ChatMessage[])[];
}

/** A model that calls `read_file` whatever it is asked. */
export async function loadCaller(): Promise<Caller> {
  const path = await writeScriptedModel(pieces, { controls: ['</tool_call>', '<tool_call>'], context: 2048 });
  const model = await loadModel(path, { backend: 'cpu', cache: 'paged', sequences: 2, context: 2048 });
  const chats: (readonly ChatMessage[])[] = [];
  const chat = model.chat.bind(model);
  model.chat = ((...args: Parameters<Model['chat']>) => {
    chats.push(args[0]);
    return chat(...args);
  }) as Model['chat'];
  return { model, chats };
}
