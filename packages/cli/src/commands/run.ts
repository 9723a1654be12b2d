import type {
  ChatGeneration,
  ChatResult,
  GenerateOptions,
  Generation,
  GenerationResult,
  Model,
} from '@quern/runtime';
import { Command } from 'commander';
import { type AdapterFlags, adapterChoices, adapterPaths, withAdapters } from '../adapters.js';
import { resolveTemplate, type TemplateFlags, withTemplate } from '../chat/template.js';
import { withModel } from '../load.js';
import {
  generateOptions,
  type LoadFlags,
  type SamplingFlags,
  withLoading,
  withSampling,
  withStoredCache,
} from '../options.js';
import { type PromptFlags, readPrompt, withPrompt } from '../run/prompt.js';
import { readStructure, type StructureFlags, withStructure } from '../run/structure.js';
import {
  needSpeculationFlags,
  type SpeculationFlags,
  withSpeculation,
  withSpeculator,
} from '../speculation.js';
import { count } from '../terminal/count.js';
import { figure } from '../terminal/figure.js';
import { interruptible } from '../terminal/interrupt.js';
import { progressBar } from '../terminal/progress.js';
import { notice } from '../terminal/report.js';
import { Thoughts } from '../terminal/thoughts.js';
import { write, writeJson } from '../terminal/write.js';

interface RunFlags
  extends LoadFlags,
    SamplingFlags,
    SpeculationFlags,
    PromptFlags,
    TemplateFlags,
    AdapterFlags,
    StructureFlags {
  readonly raw?: boolean;
  readonly system?: string;
  readonly json?: boolean;
}

/** The `--json` object; scripts depend on it. */
const jsonResult = (model: Model, result: GenerationResult | ChatResult) => ({
  text: result.text,
  ...('thinking' in result && result.thinking !== '' && { thinking: result.thinking }),
  tokens: result.tokens,
  promptTokens: result.promptTokens,
  cachedTokens: result.cachedTokens,
  prefillTokensPerSecond: result.prefillTokensPerSecond,
  decodeTokensPerSecond: result.decodeTokensPerSecond,
  draftedTokens: result.draftedTokens,
  acceptedTokens: result.acceptedTokens,
  loadMs: model.loadMs,
  backend: model.backend,
  plan: model.plan,
});

/** Speed, as text; empty rates are omitted. */
function summary(model: Model, result: GenerationResult): string {
  const { tokens, prefillTokensPerSecond: prefill, decodeTokensPerSecond: decode } = result;
  const rates = [
    ...(prefill ? [`prefill ${figure(prefill)}`] : []),
    ...(decode ? [`decode ${figure(decode)}`] : []),
  ];
  const drafts = result.draftedTokens
    ? `, ${result.acceptedTokens} of ${result.draftedTokens} drafted accepted`
    : '';
  const measured = tokens.length > 0 && rates.length > 0 ? `: ${rates.join(', ')} tokens/s` : '';
  return `${count(tokens.length, 'token')} on ${model.backend}${measured}${drafts}; loaded in ${figure(model.loadMs)} ms`;
}

/** Streams `goesOnFrom` and the text. `goesOnFrom` is printed with the first piece, so an early error appears alone. */
async function stream(
  goesOnFrom: string,
  generation: Generation | ChatGeneration,
  thoughts: Thoughts,
): Promise<void> {
  let before = goesOnFrom;
  for await (const piece of generation) {
    thoughts.show(piece);
    await write(before + piece.text);
    before = '';
  }
  thoughts.end();
  await write(`${before}\n`);
}

/** Answer the prompt as a chat message: the model has a template or --system is given, and --raw is absent. */
const answers = (model: Model, { raw, system }: RunFlags): boolean =>
  !raw && (model.chatTemplate !== undefined || system !== undefined);

const messages = (prompt: string, { system }: RunFlags) => [
  ...(system === undefined ? [] : [{ role: 'system', content: system }]),
  { role: 'user', content: prompt },
];

function needRunFlags(flags: RunFlags, command: Command): void {
  needSpeculationFlags(flags, command);
  if (!flags.raw) return;
  if (flags.system !== undefined)
    command.error('error: --raw continues a text, which has no system message: leave out --raw or --system');
  if (flags.chatTemplate !== undefined)
    command.error('error: --raw uses no chat template: leave out --raw or --chat-template');
}

async function generate(
  model: Model,
  prompt: string,
  flags: RunFlags,
  given: GenerateOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const bar = progressBar();
  try {
    await answer(model, prompt, flags, { ...given, onProgress: bar.update });
  } finally {
    bar.stop();
  }
}

async function answer(
  model: Model,
  prompt: string,
  flags: RunFlags,
  options: GenerateOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const chats = answers(model, flags);
  const generation = chats ? model.chat(messages(prompt, flags), options) : model.generate(prompt, options);
  if (flags.json) await writeJson(jsonResult(model, await generation.result));
  else {
    await stream(chats ? '' : prompt, generation, new Thoughts(flags.thinking !== false));
    notice(summary(model, await generation.result));
  }
  options.signal.throwIfAborted();
}

async function run(
  path: string,
  argument: string | undefined,
  given: RunFlags,
  command: Command,
): Promise<void> {
  needRunFlags(given, command);
  const flags = await resolveTemplate(given, command);
  const prompt = await readPrompt(argument, flags, command);
  const adapters = adapterChoices(flags);
  const chosen = {
    ...generateOptions(flags),
    ...(adapters && { adapters }),
    ...(await readStructure(flags, command)),
  };
  const more = { adapters: adapterPaths(flags) };
  await interruptible((signal) =>
    withModel(
      path,
      flags,
      signal,
      (model) =>
        withSpeculator(flags, signal, (speculate) =>
          generate(model, prompt, flags, { ...chosen, ...(speculate && { speculate }), signal }),
        ),
      more,
    ),
  );
}

export const runCommand = (): Command =>
  withStructure(
    withAdapters(
      withSpeculation(
        withSampling(withTemplate(withStoredCache(withLoading(withPrompt(new Command('run')))))),
      ),
    ),
  )
    .description('answer a prompt; without a chat template, or with --raw, continue it as a text')
    .argument('<model>')
    .argument('[prompt]', 'or -p, -f, or standard input (a final line break is dropped)')
    .option('--raw', 'continue the prompt as a text, also with a chat model')
    .option('--system <text>', 'the system message of a chat model')
    .option('--json', 'print one JSON object at the end')
    .action(run);
