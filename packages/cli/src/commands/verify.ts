import { formatCloseness, type OpComparison } from '@quern/conformance';
import { type Backend, type ModelKind, modelKind, type Precision, RuntimeError } from '@quern/runtime';
import { Command } from 'commander';
import { backendOptionOption, positive, positiveNumber, precisionOption } from '../options.js';
import { count } from '../terminal/count.js';
import { exitStatus } from '../terminal/exit-status.js';
import { interruptible } from '../terminal/interrupt.js';
import { write, writeJson } from '../terminal/write.js';
import { verifyEncoder } from '../verify/encoder.js';
import { type Comparison, type LanguageVerdict, verifyLanguage } from '../verify/language.js';
import { type VerifyContext, withBackendNamed, withReference } from '../verify/load.js';
import { verifyOps } from '../verify/ops.js';

interface VerifyFlags {
  readonly backend: string;
  readonly threads?: number;
  readonly precision?: Precision;
  readonly backendOption?: Readonly<Record<string, unknown>>;
  readonly ops?: boolean;
  readonly tokens: number;
  readonly tolerance: number;
  readonly json?: boolean;
}

/** Error of 8-bit weights and 8-bit activations; a wrong kernel errs by about 1. */
const defaultTolerance = 0.05;

const percent = (share: number) => `${(100 * share).toPrecision(3)} %`;

const show = ({ way, rows, error, agree }: Comparison): string =>
  `${way.padEnd(18)} error ${percent(error).padStart(9)}, largest logit agrees in ${agree} of ${rows}\n`;

async function printOps(comparison: OpComparison): Promise<void> {
  const { compared, strayed, first, closeness } = comparison;
  await write(`${formatCloseness(closeness).join('\n')}\n\n`);
  if (first)
    await write(
      `FIRST BEYOND ITS TOLERANCE  ${first.op} at ${first.place}\n  ${first.operands}\n  ${first.message}\n\n`,
    );
  await write(`${count(compared, 'op')} compared, ${strayed} beyond their tolerance\n`);
}

async function compareOps(
  context: VerifyContext,
  kind: ModelKind,
  tested: Backend,
  json: boolean,
): Promise<boolean> {
  const comparison = await verifyOps(context, kind, tested);
  if (json) await writeJson({ backend: tested.name, ...comparison });
  else await printOps(comparison);
  return comparison.strayed === 0;
}

async function compareModel(
  context: VerifyContext,
  kind: ModelKind,
  tested: Backend,
  { tolerance, json }: VerifyFlags,
): Promise<boolean> {
  const verdict: Partial<LanguageVerdict> & Pick<LanguageVerdict, 'comparisons'> = await withReference(
    async (reference) =>
      kind === 'encoder'
        ? { comparisons: await verifyEncoder(context, tested, reference) }
        : verifyLanguage(context, tested, reference),
  );
  const { comparisons, greedy } = verdict;
  const passed = comparisons.every(({ error }) => error <= tolerance);
  if (json) await writeJson({ backend: tested.name, passed, tolerance, ...verdict });
  else {
    for (const comparison of comparisons) await write(show(comparison));
    if (greedy)
      await write(
        `greedy tokens      the same for ${greedy.alone} of ${greedy.tokens} alone, ${greedy.batch} in a batch\n`,
      );
    await write(`${passed ? 'within' : 'BEYOND'} the tolerance of ${percent(tolerance)}\n`);
  }
  return passed;
}

async function verify(path: string, flags: VerifyFlags, signal: AbortSignal): Promise<void> {
  const { backend, threads, precision, backendOption: backendOptions } = flags;
  const { tokens, ops = false, json = false } = flags;
  const kind = await modelKind(path);
  if (kind === 'speech')
    throw new RuntimeError(
      'BAD_OPTION',
      `${path} is a speech model; verify takes language models and encoders`,
    );
  const context: VerifyContext = { path, signal, tokens };
  const passed = await withBackendNamed(backend, { threads, precision, backendOptions }, (tested) =>
    ops ? compareOps(context, kind, tested, json) : compareModel(context, kind, tested, flags),
  );
  if (!passed) process.exitCode = exitStatus.failed;
}

export const verifyCommand = (): Command =>
  new Command('verify')
    .description('compare a backend with the reference on a model; exit code 1 if the error is too large')
    .argument('<model>')
    .requiredOption('--backend <name>', 'the installed backend to verify')
    .option('--threads <n>', 'threads to compute with', positive)
    .addOption(precisionOption())
    .addOption(backendOptionOption())
    .option('--ops', 'op by op: compare each op with its definition on the same operands')
    .option('--tokens <n>', 'prompt tokens, and generated tokens', positive, 24)
    .option(
      '--tolerance <share>',
      'largest error of a row of logits, relative to its norm',
      positiveNumber,
      defaultTolerance,
    )
    .option('--json', 'print the comparison as JSON')
    .action((path: string, flags: VerifyFlags) => interruptible((signal) => verify(path, flags, signal)));
