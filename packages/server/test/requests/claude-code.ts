// Requests in the form of Claude Code 2: fields, blocks and headers as proxies record them; texts of our own.
import type Anthropic from '@anthropic-ai/sdk';

export const headers = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta':
    'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,effort-2025-11-24',
  'anthropic-dangerous-direct-browser-access': 'true',
  'user-agent': 'claude-cli/2.1.177 (external, cli)',
  'x-app': 'cli',
  authorization: 'Bearer secret',
};

const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const string = (description: string) => ({ type: 'string', description });

const tool = (
  name: string,
  description: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = Object.keys(properties).slice(0, 1),
) => ({
  name,
  description,
  input_schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties,
    required,
    additionalProperties: false,
  },
  eager_input_streaming: true,
});

const path = string('Absolute path of the file');
const todo = {
  type: 'object',
  properties: {
    content: { type: 'string', minLength: 1 },
    status: { type: 'string', enum: ['pending', 'done'] },
  },
  required: ['content', 'status'],
};

export const tools: readonly object[] = [
  tool('Bash', 'Runs a command in a shell.', {
    command: string('The command'),
    timeout: { type: 'number', description: 'Milliseconds' },
    description: string('What the command does'),
    run_in_background: { type: 'boolean' },
  }),
  tool('Read', 'Reads a file.', {
    file_path: path,
    offset: { type: 'integer', minimum: 0 },
    limit: { type: 'integer' },
  }),
  tool('Edit', 'Replaces a text.', { file_path: path, old_string: string('Old'), new_string: string('New') }),
  tool('Write', 'Writes a file.', { file_path: path, content: string('Its text') }, ['file_path', 'content']),
  tool('Glob', 'Finds files.', { pattern: string('As in src/**/*.ts'), path }),
  tool('Grep', 'Finds lines.', {
    pattern: string('A regular expression'),
    output_mode: { type: 'string', enum: ['content', 'files_with_matches', 'count'] },
    '-i': { type: 'boolean' },
    head_limit: { type: 'number' },
  }),
  tool('Agent', 'Gives a task to another agent.', {
    prompt: string('The task'),
    subagent_type: string('Its kind'),
  }),
  tool('WebFetch', 'Reads a page.', {
    url: { type: 'string', format: 'uri' },
    prompt: string('What to find'),
  }),
  tool('TodoWrite', 'Writes the list of steps.', { todos: { type: 'array', items: todo } }),
  tool('NotebookEdit', 'Edits a cell.', { notebook_path: path, cell_id: string('Its id') }),
  tool('TaskOutput', 'Output of a task.', {
    task_id: string('Its id'),
    block: { type: 'boolean', default: true },
  }),
  tool('TaskStop', 'Stops a task.', { task_id: string('Its id') }),
  tool('ExitPlanMode', 'Shows the plan.', {}, []),
  tool('AskUserQuestion', 'Asks the user.', {
    questions: {
      type: 'array',
      items: { type: 'object', properties: { question: string('It') } },
      minItems: 1,
    },
  }),
  { ...tool('Skill', 'Runs a skill.', { skill: string('Its name') }), defer_loading: true },
  { ...tool('mcp__files__list', 'Lists.', { folder: string('A path') }), type: 'custom', ...cached },
];

/** A tool that Anthropic's servers run. */
export const webSearch = { type: 'web_search_20250305', name: 'web_search', max_uses: 8 };

const system = (cch: string) => [
  {
    type: 'text',
    text: `x-anthropic-billing-header: cc_version=2.1.177.${cch.slice(0, 3)}; cc_entrypoint=cli; cch=${cch};`,
  },
  { type: 'text', text: 'You work on a program, from a command line.', ...cached },
  {
    type: 'text',
    text: 'Use the tools. Answer briefly.\n# Environment\nfolder: /home/user/project',
    ...cached,
  },
];

const common = (cch: string) => ({
  model: 'claude-sonnet-4-6',
  system: system(cch),
  tools,
  metadata: { user_id: '{"device_id":"0","session_id":"1"}' },
  max_tokens: 32_000,
  thinking: { type: 'adaptive' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'medium' },
});

const question = {
  role: 'user',
  content: [
    { type: 'text', text: '<system-reminder>\nToday is Monday.\n</system-reminder>' },
    { type: 'text', text: 'Which files are here?', ...cached },
  ],
};

/** The first request of a session. */
export const first = (cch = '36ee5') => ({ ...common(cch), messages: [question] });

/** The next one, with the result of the call in `content`. */
export const second = (content: readonly Anthropic.ContentBlock[], cch = '0aaa9') => {
  const call = content.find((block) => block.type === 'tool_use')!;
  const result = {
    type: 'tool_result',
    tool_use_id: call.id,
    content: 'a.ts\nb.ts',
    is_error: false,
    ...cached,
  };
  return {
    ...common(cch),
    messages: [
      question,
      { role: 'assistant', content },
      { role: 'user', content: [result] },
      { role: 'system', content: [{ type: 'text', text: 'The file a.ts has changed.' }] },
    ],
  };
};

/** A title for the session, by the small model. */
export const title = () => ({
  model: 'claude-haiku-4-5-20251001',
  system: system('1b2c3').slice(0, 2),
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Which files are here?' }] }],
  tools: [],
  max_tokens: 32_000,
  temperature: 1,
  metadata: { user_id: 'x' },
  output_config: {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { title: { type: 'string' } },
        required: ['title'],
        additionalProperties: false,
      },
    },
  },
});

/** Whether the key works. */
export const quota = {
  model: 'claude-haiku-4-5-20251001',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'quota' }],
  metadata: { user_id: 'x' },
};
