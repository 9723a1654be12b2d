import { isMixName, type MixName, mixes, optionSchemas } from '@quern/runtime';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { numberOption, positive, precisionOption } from '../options.js';
import { needFree } from '../output-path.js';
import { type CompareFlags, Comparison, type Outcome } from '../quantize/compare.js';
import { showOutcomes, showTensors } from '../quantize/table.js';
import { interruptible } from '../terminal/interrupt.js';
import { notice } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';

interface QuantizeFlags extends CompareFlags {
  readonly report?: boolean;
  readonly formats: readonly MixName[];
  readonly tensors?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

function mixList(text: string): MixName[] {
  return text.split(',').map((name) => {
    if (isMixName(name)) return name;
    throw new InvalidArgumentError(`Allowed choices are ${Object.keys(mixes).join(', ')}.`);
  });
}

/** Formats of a report without --formats. */
const usual: readonly MixName[] = ['q8_0', 'q6_k', 'q5_k_m', 'q4_k_m', 'q4_0', 'q3_k_m', 'q2_k'];

async function quantize(
  model: string,
  output: string | undefined,
  format: MixName | undefined,
  flags: QuantizeFlags,
  command: Command,
): Promise<void> {
  needSense(output, format, flags, command);
  await interruptible(async (signal) => {
    const comparison = new Comparison(model, flags, signal);
    if (flags.report) await comparison.accuracy(); // a missing text fails before the work
    const outcomes: Outcome[] = [];
    if (output !== undefined && format !== undefined) {
      outcomes.push(await comparison.write(output, format, Boolean(flags.report)));
      notice(summary(output, outcomes[0]!));
    }
    if (flags.report) await report(comparison, outcomes, flags, format);
    else if (flags.json) await writeJson(written(output!, outcomes[0]!));
    else if (flags.tensors) await write(showTensors(outcomes[0]!.tensors));
  });
}

function needSense(
  output: string | undefined,
  format: MixName | undefined,
  flags: QuantizeFlags,
  command: Command,
): void {
  if (output !== undefined && format === undefined)
    command.error("error: missing required argument 'format'");
  if (output === undefined && !flags.report)
    command.error("error: missing required arguments 'out' and 'format'; without them only --report works");
  if (output !== undefined) needFree(output, flags.force, command);
}

const summary = (output: string, { format, byteLength, seconds, relativeError }: Outcome): string =>
  `${output}: ${format}, ${(byteLength / 1e6).toFixed(1)} MB in ${seconds.toFixed(1)} s, relative error ${relativeError.toExponential(2)}`;

/** The `--json` object of a written model; scripts depend on it. */
const written = (path: string, { tensors, ...outcome }: Outcome) => ({
  path,
  ...outcome,
  changedTensors: tensors.length,
  tensors,
});

async function report(
  comparison: Comparison,
  outcomes: Outcome[],
  { formats, tensors, json }: QuantizeFlags,
  written: MixName | undefined,
): Promise<void> {
  const wanted = formats.length > 0 || written !== undefined ? formats : usual;
  for (const mix of wanted) if (mix !== written) outcomes.push(await comparison.try(mix));
  const source = await comparison.source();
  if (json) return writeJson({ source, formats: outcomes });
  if (tensors) for (const outcome of outcomes) await write(`${showTensors(outcome.tensors)}\n`);
  await write(showOutcomes(source, outcomes, await comparison.accuracy()));
}

export const quantizeCommand = (): Command =>
  new Command('quantize')
    .description('write a model as a GGUF file in another format, or compare formats')
    .argument('<model>')
    .argument('[out]', 'the GGUF file to write')
    .addArgument(new Argument('[format]', 'of the weights').choices(Object.keys(mixes)))
    .option('--imatrix <file>', "llama.cpp's importance matrix: weights of the columns")
    .option(
      '--report',
      'compare formats: size, error; with --text also perplexity, for encoders the least cosine of embeddings',
    )
    .option('--formats <list>', 'more formats to compare, separated by commas; no file is kept', mixList, [])
    .option('--text <file>', 'a text for perplexity; for encoders, lines to embed')
    .option('--tokens <n>', 'most tokens of the text', positive, 2048)
    .option('--tensors', 'show the error of every tensor')
    .option('--pre <name>', "llama.cpp's name of the pre-tokenizer, if the folder does not tell")
    .addOption(numberOption('--threads <n>', optionSchemas.QuantizeModelOptions.threads))
    .addOption(precisionOption())
    .option('--force', 'overwrite OUT; not needed for a FIFO or a device; a symbolic link is followed')
    .option('--json', 'print one JSON object')
    .action(quantize);
