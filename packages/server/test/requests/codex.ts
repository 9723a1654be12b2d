/** Requests in the form of the Codex CLI, to a provider with `wire_api = "responses"`. */

const shell = {
  type: 'function',
  name: 'shell',
  description: 'Runs a command.',
  strict: false,
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' } },
      workdir: { type: 'string' },
      timeout_ms: { type: 'number' },
    },
    required: ['command'],
    additionalProperties: false,
  },
};

const updatePlan = {
  type: 'function',
  name: 'update_plan',
  description: 'Writes the plan.',
  strict: false,
  parameters: {
    type: 'object',
    properties: {
      explanation: { type: 'string' },
      plan: {
        type: 'array',
        items: {
          type: 'object',
          properties: { step: { type: 'string' }, status: { type: 'string' } },
          required: ['step', 'status'],
          additionalProperties: false,
        },
      },
    },
    required: ['plan'],
    additionalProperties: false,
  },
};

const applyPatch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files. The input is free text, not JSON.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch" LF hunk+ end_patch' },
};

const files = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'Tools of a server.',
  tools: [{ ...shell, name: 'list', description: 'Lists a folder.', defer_loading: true }],
};

const hosted = [
  { type: 'web_search', external_web_access: false, search_content_types: ['text'] },
  { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
];

const message = (role: string, ...texts: string[]) => ({
  type: 'message',
  role,
  content: texts.map((text) => ({ type: role === 'assistant' ? 'output_text' : 'input_text', text })),
});

const begin = [
  message('developer', '<permissions instructions>Work in the folder.</permissions instructions>'),
  message('developer', '<collaboration_mode>Default</collaboration_mode>'),
  message('user', '<environment_context><cwd>/src</cwd></environment_context>', 'Which files are there?'),
];

/** What Codex sends for the first question. */
export const firstRound = {
  model: 'demo',
  instructions: 'You are a coding agent.',
  input: begin,
  tools: [shell, updatePlan, applyPatch, ...hosted, files],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'auto', context: 'all_turns' },
  store: false,
  stream: true,
  stream_options: { include_obfuscation: false },
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0199c0de-0000-7000-8000-000000000000',
  service_tier: 'auto',
  text: { verbosity: 'low' },
  client_metadata: { 'x-codex-installation-id': '7c0e' },
};

/** What Codex has after two calls at a time, a patch, and their results. */
export const history = [
  ...begin,
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'A short thought.' }],
    content: [{ type: 'reasoning_text', text: 'I list them.' }],
    encrypted_content: null,
  },
  { ...message('assistant', 'I look.'), id: 'msg_1', phase: 'commentary' },
  {
    type: 'function_call',
    id: 'fc_1',
    name: 'shell',
    arguments: '{"command":["ls"]}',
    call_id: 'call_1',
  },
  {
    type: 'function_call',
    id: null,
    name: 'list',
    namespace: 'mcp__files',
    arguments: '{}',
    call_id: 'call_2',
    status: 'completed',
  },
  { type: 'function_call_output', call_id: 'call_1', output: 'a.ts\nb.ts' },
  {
    type: 'function_call_output',
    call_id: 'call_2',
    output: [
      { type: 'input_text', text: 'a.ts ' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
    ],
  },
  {
    type: 'custom_tool_call',
    status: 'completed',
    call_id: 'call_3',
    name: 'apply_patch',
    input: '*** Begin Patch\n*** End Patch',
  },
  { type: 'custom_tool_call_output', call_id: 'call_3', output: 'Done.' },
  {
    type: 'local_shell_call',
    call_id: 'call_4',
    status: 'completed',
    action: { type: 'exec', command: ['pwd'] },
  },
  { type: 'local_shell_call_output', id: 'call_4', output: '/src' },
  { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
  { type: 'compaction', encrypted_content: 'AAAA' },
];

export const secondRound = { ...firstRound, input: history };
