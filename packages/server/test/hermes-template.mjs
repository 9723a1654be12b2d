/** A template of the family of Hermes and Qwen, with tools. */
export const hermesTemplate = `
{%- for tool in tools or [] %}<tools>{{ tool | tojson }}</tools>
Answer with <tool_call>
{"name": …, "arguments": …}
</tool_call>{% endfor %}
{%- for message in messages %}{{ message.role }}: {{ message.content or '' }}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}`;
