import * as z from 'zod';

/** A field that changes nothing here: accepted, whatever it says. */
export const harmless = z.unknown().optional();

const cached = { cache_control: harmless };

export const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  citations: harmless,
  ...cached,
});

const image = z.strictObject({ type: z.literal('image'), source: z.looseObject({}), ...cached });

/** A document as text, or in a form that this model cannot read: PDF, an address, a file of a store. */
const document = z.strictObject({
  type: z.literal('document'),
  source: z.union([
    z.strictObject({ type: z.literal('text'), data: z.string(), media_type: harmless }),
    z.strictObject({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image]))]),
    }),
    z.looseObject({ type: z.enum(['base64', 'url', 'file']) }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: harmless,
  ...cached,
});

const searchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(text),
  citations: harmless,
  ...cached,
});

/** What a search for tools found. All tools of a request are in its prompt from the start. */
const toolReference = z.strictObject({ type: z.literal('tool_reference'), tool_name: z.string(), ...cached });

const readable = [text, image, document, searchResult] as const;

const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  caller: harmless,
  toolset_name: harmless,
  ...cached,
});

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z
    .union([
      z.string(),
      z.array(
        z.discriminatedUnion('type', [...readable, toolReference], {
          error: 'a block of a tool_result must be text, image, document, search_result or tool_reference',
        }),
      ),
    ])
    .nullish(),
  is_error: z.boolean().nullish(),
  toolset_name: harmless,
  ...cached,
});

const thinking = z.strictObject({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: harmless,
  ...cached,
});

/** What `compaction` left of an earlier conversation. */
const compaction = z.strictObject({
  type: z.literal('compaction'),
  content: z.string().nullish(),
  ...cached,
});

const webSearchResult = z.strictObject({
  type: z.literal('web_search_tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.array(z.looseObject({ title: z.string(), url: z.string() })), z.looseObject({})]),
  caller: harmless,
  ...cached,
});

/** Tool calls that Anthropic's servers ran, their results, and reasoning that only those servers can read. */
const foreign = z.looseObject({
  type: z.enum([
    'redacted_thinking',
    'server_tool_use',
    'web_fetch_tool_result',
    'code_execution_tool_result',
    'bash_code_execution_tool_result',
    'text_editor_code_execution_tool_result',
    'tool_search_tool_result',
    'advisor_tool_result',
    'mcp_tool_use',
    'mcp_tool_result',
  ]),
});

export const block = z.discriminatedUnion(
  'type',
  [...readable, toolUse, toolResult, thinking, compaction, webSearchResult, foreign],
  {
    error: ({ input }) => `a block of the type ${typeOf(input)} is not supported`,
  },
);

function typeOf(input: unknown): string {
  const type = (input as { readonly type?: unknown } | null | undefined)?.type;
  return typeof type === 'string' ? `"${type.slice(0, 64)}"` : 'without a type';
}

export type Block = z.output<typeof block>;
export type BlockOf<Type extends Block['type']> = Extract<Block, { readonly type: Type }>;
