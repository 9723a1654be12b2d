import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  SharedV3Warning,
} from '@ai-sdk/provider';
import type { ChatOptions } from '@quern/runtime';

type Tool = NonNullable<LanguageModelV3CallOptions['tools']>[number];

/** The tools of a call, without functions: the SDK calls them. */
export function toolOptions({ tools = [], toolChoice }: LanguageModelV3CallOptions): {
  readonly tools: ChatOptions;
  readonly warnings: SharedV3Warning[];
} {
  const functions = tools.filter((tool) => tool.type === 'function');
  const warnings = tools.flatMap((tool) => warningsOf(tool));
  if (functions.length === 0 && toolChoice?.type !== 'required' && toolChoice?.type !== 'tool')
    return { tools: {}, warnings };
  return { tools: { tools: functions.map(described), toolChoice: choiceOf(toolChoice) }, warnings };
}

const described = ({ name, description, inputSchema, strict }: LanguageModelV3FunctionTool) => ({
  type: 'function' as const,
  function: { name, ...(description !== undefined && { description }), parameters: inputSchema, strict },
});

const choiceOf = (choice: LanguageModelV3CallOptions['toolChoice']): ChatOptions['toolChoice'] =>
  choice?.type === 'tool' ? { name: choice.toolName } : choice?.type;

function warningsOf(tool: Tool): SharedV3Warning[] {
  if (tool.type === 'provider') return [{ type: 'unsupported', feature: `the provider's tool ${tool.id}` }];
  return tool.inputExamples
    ? [
        {
          type: 'unsupported',
          feature: 'inputExamples',
          details: `tool "${tool.name}": write them in its description`,
        },
      ]
    : [];
}
