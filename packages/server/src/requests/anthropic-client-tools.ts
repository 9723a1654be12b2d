const text = { type: 'string' } as const;
const whole = { type: 'integer' } as const;
const lines = { type: 'array', items: whole, minItems: 2, maxItems: 2 } as const;

const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
});

/** A tool of Anthropic's that the client runs. Its own models are trained on the arguments; others need a schema. */
interface ClientTool {
  readonly description: string;
  readonly parameters: object;
}

const edits = {
  path: text,
  file_text: { ...text, description: 'of create' },
  old_str: { ...text, description: 'of str_replace' },
  new_str: { ...text, description: 'of str_replace; in older versions also of insert' },
  insert_line: { ...whole, description: 'of insert: the line before the new text' },
  insert_text: { ...text, description: 'of insert' },
  view_range: { ...lines, description: 'of view: the first line, the last line or -1' },
} as const;

const bash: ClientTool = {
  description: 'Runs a command in a bash shell that stays open between calls.',
  parameters: object({ command: text, restart: { type: 'boolean', description: 'starts the shell anew' } }),
};

const textEditor: ClientTool = {
  description: 'Views, creates and edits text files.',
  parameters: object({ command: { enum: ['view', 'create', 'str_replace', 'insert'] }, ...edits }, [
    'command',
    'path',
  ]),
};

const memory: ClientTool = {
  description: 'Reads and writes files below /memories, which outlive the conversation.',
  parameters: object(
    {
      command: { enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      ...edits,
      old_path: { ...text, description: 'of rename' },
      new_path: { ...text, description: 'of rename' },
    },
    ['command'],
  ),
};

/** Types end in the date of their version: `bash_20250124`. */
const clientTools: readonly (readonly [type: RegExp, tool: ClientTool])[] = [
  [/^bash_\d+$/, bash],
  [/^text_editor_\d+$/, textEditor],
  [/^memory_\d+$/, memory],
];

/** The tool of a type that a client runs; undefined for those of Anthropic's servers, and for those that need images. */
export const clientTool = (type: string): ClientTool | undefined =>
  clientTools.find(([pattern]) => pattern.test(type))?.[1];
