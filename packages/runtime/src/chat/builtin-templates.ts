/** Templates for models without one. The special tokens only work where the model's vocabulary has them. */
export const BUILTIN_TEMPLATES = {
  chatml: `
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
        {%- set messages = messages[1:] %}
    {%- endif %}
    {{- 'You may call these functions:\\n<tools>\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\\n' }}
    {%- endfor %}
    {{- '</tools>\\nTo call one, write its name and its arguments as JSON:\\n' }}
    {{- '<tool_call>\\n{"name": "function name", "arguments": {"argument name": "value"}}\\n</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>user\\n' if loop.first or loop.previtem.role != 'tool' else '\\n' }}
        {%- set content = message.content if message.content is string else message.content | tojson %}
        {{- '<tool_response>\\n' + content + '\\n</tool_response>' }}
        {{- '<|im_end|>\\n' if loop.last or loop.nextitem.role != 'tool' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content }}
        {%- for call in message.tool_calls or [] %}
            {{- '\\n' if message.content or not loop.first }}
            {{- '<tool_call>\\n{"name": ' + call.function.name | tojson + ', "arguments": ' }}
            {{- call.function.arguments | tojson + '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}`,

  llama2: `
{%- set system = '' %}
{%- if messages[0].role == 'system' %}
    {%- set system = '<<SYS>>\\n' + messages[0].content.strip() + '\\n<</SYS>>\\n\\n' %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('after an optional system message, roles must alternate: user, assistant, user, ...') }}
    {%- endif %}
    {%- if message.role == 'user' %}
        {{- bos_token + '[INST] ' + (system if loop.first else '') + message.content.strip() + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message.content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}`,

  llama3: `
{{- bos_token }}
{%- if tools %}
    {{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content.strip() + '\\n\\n' }}
        {%- set messages = messages[1:] %}
    {%- endif %}
    {{- 'You may call these functions. To call one, answer with JSON alone: ' }}
    {{- '{"name": "function name", "parameters": {"argument name": "value"}}' }}
    {%- for tool in tools %}
        {{- '\\n\\n' + tool | tojson(indent=4) }}
    {%- endfor %}
    {{- '<|eot_id|>' }}
{%- endif %}
{%- for message in messages %}
    {%- set role = 'ipython' if message.role == 'tool' else message.role %}
    {%- set content = message.content.strip() if message.content is string else message.content | tojson %}
    {{- '<|start_header_id|>' + role + '<|end_header_id|>\\n\\n' + content }}
    {%- for call in message.tool_calls or [] %}
        {{- '; ' if not loop.first }}
        {{- '{"name": ' + call.function.name | tojson + ', "parameters": ' }}
        {{- call.function.arguments | tojson + '}' }}
    {%- endfor %}
    {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}`,

  mistral: `
{%- set system = '' %}
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content + '\\n\\n' %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- set question = namespace(last=-1) %}
{%- for message in messages %}
    {%- set question.last = loop.index0 if message.role == 'user' else question.last %}
{%- endfor %}
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '[AVAILABLE_TOOLS] ' + tools | tojson + '[/AVAILABLE_TOOLS]' if tools and loop.index0 == question.last }}
        {{- '[INST] ' + (system if loop.index0 == question.last else '') + message.content + '[/INST]' }}
    {%- elif message.role == 'tool' %}
        {{- '[TOOL_RESULTS] {"content": ' + message.content | tojson }}
        {{- ', "call_id": ' + (message.tool_call_id or '') | tojson + '}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- ' ' + message.content if message.content }}
        {%- for call in message.tool_calls or [] %}
            {{- '[TOOL_CALLS] [' if loop.first else ', ' }}
            {{- '{"name": ' + call.function.name | tojson + ', "arguments": ' + call.function.arguments | tojson }}
            {{- ', "id": ' + call.id | tojson if call.id }}
            {{- '}]' if loop.last else '}' }}
        {%- endfor %}
        {{- eos_token }}
    {%- endif %}
{%- endfor %}`,

  gemma: `
{{- bos_token }}
{%- set system = '' %}
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content + '\\n\\n' %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('after an optional system message, roles must alternate: user, assistant, user, ...') }}
    {%- endif %}
    {%- set role = 'model' if message.role == 'assistant' else message.role %}
    {{- '<start_of_turn>' + role + '\\n' + (system if loop.first else '') + message.content.strip() + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\\n' }}
{%- endif %}`,

  phi3: `
{%- for message in messages %}
    {{- '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\\n' }}
{%- endif %}`,

  'phi4-mini': `
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
{%- endif %}`,
} as const satisfies Record<string, string>;

/** The names of the builtin templates, for `LoadOptions.chatTemplate`. */
export const builtinTemplates = [
  'chatml',
  'llama2',
  'llama3',
  'mistral',
  'gemma',
  'phi3',
  'phi4-mini',
] as const satisfies readonly (keyof typeof BUILTIN_TEMPLATES)[];

/** The name of a builtin template. */
export type BuiltinTemplate = keyof typeof BUILTIN_TEMPLATES;
